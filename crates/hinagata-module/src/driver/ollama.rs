//! Ollama's `/api/chat`: one message for each element, with images beside the text.

use serde_json::{Map, Value, json};

use super::{
    RequestOptions, TurnRule,
    body::Body,
    conversation::{Conversation, Grouping, Speaker, Turn, Turns, unchanged_items},
    dialect::{Dialect, ElementWriter, Piece},
    media::{Kind, Media, unsupported_error},
    openai,
    parts::note_messages,
    request::Notes,
    schema::has_no_keywords,
};
use crate::{
    Attachment, CompiledPrompt, Element, Error, Message, MessageFormat, MessagePart, PartContent, Role,
    format::Sink, json::Writer,
};

/// The format of the messages.
const FORMAT: MessageFormat = MessageFormat::Ollama;

pub(super) fn write_request(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::from_prompt(prompt);
    note_messages(conversation.messages(), FORMAT, &mut notes);
    let element_writer = ElementWriter::new(Dialect::Markdown, &conversation);
    let turns = Turns::from_conversation(conversation, Grouping::new(options, TurnRule::AsIs, FORMAT));
    let request = Request { element_writer: &element_writer, options };
    Body::write(writer, options, |body| {
        body.set_model();
        body.try_set("messages", |writer| request.write_messages(&turns, writer))?;
        if let Some(schema) = prompt.schema() {
            body.set("format", |writer| match has_no_keywords(schema) {
                true => writer.write_string("json"),
                false => writer.write_value(schema),
            });
        }
        let settings = model_options(options);
        if !settings.is_empty() {
            body.set("options", |writer| writer.write_value(&Value::Object(settings)));
        }
        body.set_some("stream", options.stream);
        openai::write_tools(body, &options.tools);
        Ok(())
    })?;
    turns.add_notes("ollama", &mut notes);
    Ok(notes)
}

fn model_options(options: &RequestOptions) -> Map<String, Value> {
    let stop = (!options.stop.is_empty()).then(|| json!(options.stop));
    [
        ("num_predict", options.max_tokens.map(Value::from)),
        ("temperature", options.temperature.map(Value::from)),
        ("top_p", options.top_p.map(Value::from)),
        ("top_k", options.top_k.map(Value::from)),
        ("stop", stop),
        ("seed", options.seed.map(Value::from)),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.to_owned(), value?)))
    .collect()
}

struct Request<'r> {
    element_writer: &'r ElementWriter,
    options: &'r RequestOptions,
}

impl Request<'_> {
    fn write_messages(&self, turns: &Turns<'_>, writer: &mut Writer) -> Result<(), Error> {
        writer.write_list(|writer| {
            for element in &turns.rules {
                self.write_message(Role::System, &[element], &[], writer)?;
            }
            turns.write_opening(writer);
            // Images of tool results, which only a user message can have.
            let mut media: Vec<&Attachment> = Vec::new();
            for (speaker, elements) in turns.iter() {
                if speaker != Speaker::Tool && speaker != Speaker::User && !media.is_empty() {
                    self.write_message(Role::User, &[], &std::mem::take(&mut media), writer)?;
                }
                self.write_turn(speaker, elements, &mut media, writer)?;
            }
            if !media.is_empty() {
                self.write_message(Role::User, &[], &media, writer)?;
            }
            Ok(())
        })
    }

    /// Writes the messages of one turn: the results of tools first, then what the speaker says.
    fn write_turn<'p>(
        &self,
        speaker: Speaker,
        elements: &[Turn<'p>],
        media: &mut Vec<&'p Attachment>,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        if let Some(items) = unchanged_items(elements, FORMAT) {
            items.iter().for_each(|item| writer.write_source(item));
            return Ok(());
        }
        for message in elements.iter().filter_map(Turn::message) {
            for part in message.parts() {
                if let Some(result) = part.as_tool_result() {
                    write_result(message, part, writer);
                    media.extend(result.value.media());
                }
            }
        }
        if elements.iter().all(|turn| turn.message().is_some_and(openai::is_only_results)) {
            return Ok(());
        }
        let media = if speaker == Speaker::User { std::mem::take(media) } else { Vec::new() };
        let elements: Vec<&Element> = elements.iter().map(|turn| turn.element).collect();
        self.write_message(speaker.role(), &elements, &media, writer)
    }

    /// Writes the role, the text, the images, the reasoning and the tool calls.
    fn write_message(
        &self,
        role: Role,
        elements: &[&Element],
        media: &[&Attachment],
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let mut pieces = self.element_writer.attachment_pieces(media.iter().copied(), self.options)?;
        for element in elements {
            self.push_pieces(element, &mut pieces)?;
        }
        let images = pieces.iter().filter_map(image_data).collect::<Result<Vec<_>, Error>>()?;
        writer.write_object(|writer| {
            writer.write_field("role", role.name());
            writer.write_key("content");
            self.write_texts(&pieces, writer);
            if !images.is_empty() {
                writer.write_key("images");
                writer.write_list(|writer| images.iter().for_each(|image| writer.write_string(image)));
            }
            write_reasoning(elements, writer);
            write_calls(elements, writer);
        });
        Ok(())
    }

    fn push_pieces<'p>(&self, element: &'p Element, pieces: &mut Vec<Piece<'p>>) -> Result<(), Error> {
        let Element::Message(message) = element else {
            return self.element_writer.split_pieces(element, self.options, &mut |piece| pieces.push(piece));
        };
        if message.as_text().is_some() {
            pieces.push(Piece::Element(element));
        }
        for part in message.parts() {
            match part.content() {
                PartContent::Attachment(attachment) => {
                    let mut take = |piece| pieces.push(piece);
                    self.element_writer.push_attachment(attachment, self.options, &mut take)?;
                }
                PartContent::Refusal(text) => pieces.push(Piece::Text(text.as_str().into())),
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes all texts as one string: other drivers write them as separate parts, here a blank line separates them.
    fn write_texts(&self, pieces: &[Piece<'_>], writer: &mut Writer) {
        writer.write_text(|sink| {
            let mut is_first = true;
            let mut before = "\n\n";
            for piece in pieces {
                match piece {
                    Piece::Element(element) => {
                        sink.put(if is_first { "" } else { "\n\n" });
                        self.element_writer.write_element(sink, element);
                        before = "";
                    }
                    Piece::Text(text) => {
                        sink.put_all(&[if before.ends_with("\n\n") { "" } else { "\n\n" }, text]);
                        before = text;
                    }
                    Piece::Media(_) => continue,
                }
                is_first = false;
            }
        });
    }
}

/// The data of an image; `None` for text.
fn image_data<'p>(piece: &'p Piece<'p>) -> Option<Result<&'p str, Error>> {
    match piece {
        Piece::Media(Media::Data { kind: Kind::Image, base64, .. }) => Some(Ok(base64)),
        // Text files are already texts here.
        Piece::Media(Media::Text(_)) | Piece::Element(_) | Piece::Text(_) => None,
        Piece::Media(Media::Url { .. }) => {
            let hint = "attach the image itself as a `data:` URL";
            Some(Err(unsupported_error("ollama", "the URL of an image or file", hint)))
        }
        Piece::Media(Media::Data { kind: Kind::Audio | Kind::Document, .. }) => {
            Some(Err(unsupported_error("ollama", "files", "attach its text instead")))
        }
    }
}

fn write_result(message: &Message, part: &MessagePart, writer: &mut Writer) {
    let Some(result) = part.as_tool_result() else { return };
    if let Some(value) = part.value_in(FORMAT) {
        return writer.write_source(value);
    }
    writer.write_object(|writer| {
        writer.write_field("role", "tool");
        if let Some(name) = result.name.as_deref().or(message.name()) {
            writer.write_field("tool_name", name);
        }
        writer.write_key("content");
        writer.write_string(&result.value.to_text());
    });
}

fn message_parts<'e>(elements: &'e [&Element]) -> impl Iterator<Item = &'e MessagePart> {
    elements.iter().flat_map(|element| match element {
        Element::Message(message) => message.parts(),
        _ => &[],
    })
}

fn write_reasoning(elements: &[&Element], writer: &mut Writer) {
    let texts = message_parts(elements).filter_map(|part| match part.content() {
        PartContent::Reasoning(reasoning) if !reasoning.text.is_empty() => Some(reasoning.text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    if !texts.is_empty() {
        writer.write_field("thinking", &texts.join("\n\n"));
    }
}

fn write_calls(elements: &[&Element], writer: &mut Writer) {
    let calls = || message_parts(elements).filter(|part| part.as_tool_call().is_some());
    if calls().next().is_none() {
        return;
    }
    writer.write_key("tool_calls");
    writer.write_list(|writer| {
        for part in calls() {
            match (part.value_in(FORMAT), part.as_tool_call()) {
                (Some(value), _) => writer.write_source(value),
                (None, Some(call)) => writer.write_value(&json!({
                    "function": {"name": call.name.as_str(), "arguments": *call.arguments_object()},
                })),
                (None, None) => {}
            }
        }
    });
}
