//! OpenAI's chat completions: one message with the instructions, then one message for each element.

use std::cell::Cell;

use serde_json::Value;

use super::{
    RequestOptions, Tool, TurnRule,
    body::Body,
    conversation::{Conversation, Grouping, Speaker, Turn, Turns, unchanged_items},
    dialect::{Dialect, ElementWriter, Piece, is_text},
    media::{Kind, Media, media_only_from_user, unsupported_error},
    parts::{check_results, note_messages},
    request::Notes,
    schema::OpenAiSchema,
};
use crate::{
    Attachment, CompiledPrompt, Element, Error, Message, MessageFormat, MessagePart, PartContent, Role,
    format::Sink,
    json::{self, Writer},
    message::{ToolCall, ToolResult, ToolValue},
};

/// The format of the messages.
const FORMAT: MessageFormat = MessageFormat::OpenAi;

pub(super) fn write_request(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::from_prompt(prompt);
    check_results(conversation.messages(), FORMAT)?;
    note_messages(conversation.messages(), FORMAT, &mut notes);
    let element_writer = ElementWriter::new(Dialect::Markdown, &conversation);
    let turns = Turns::from_conversation(conversation, Grouping::new(options, TurnRule::AsIs, FORMAT));
    let request = Request { element_writer: &element_writer, options, bridges: Cell::new(0) };
    Body::write(writer, options, |body| {
        body.set_model();
        body.try_set("messages", |writer| request.write_messages(&turns, writer))?;
        let schema = prompt.schema().and_then(|schema| OpenAiSchema::new(schema, "openai", &mut notes));
        if let Some(schema) = schema {
            body.set("response_format", |writer| writer.write_object(|writer| schema.write(true, writer)));
        }
        body.set_some("max_completion_tokens", options.max_tokens);
        body.set_some("temperature", options.temperature);
        body.set_some("top_p", options.top_p);
        body.set_stop("stop");
        body.set_some("seed", options.seed);
        body.set_some("stream", options.stream);
        write_tools(body, &options.tools);
        if options.top_k.is_some() {
            notes.add("openai does not support `top_k`");
        }
        Ok(())
    })?;
    turns.add_notes("openai", &mut notes);
    for _ in 0..request.bridges.get() {
        notes.add(format!(
            "the assistant says `{BRIDGE}` between results of tools and the user, so that turns alternate"
        ));
    }
    Ok(notes)
}

/// Writes tools in the format of OpenAI and Ollama.
pub(super) fn write_tools(body: &mut Body<'_>, tools: &[Tool]) {
    if tools.is_empty() {
        return;
    }
    let one = |writer: &mut Writer, tool: &Tool| {
        writer.write_object(|writer| {
            writer.write_field("type", "function");
            writer.write_key("function");
            writer.write_object(|writer| {
                writer.write_field("name", &tool.name);
                writer.write_field("description", &tool.description);
                writer.write_value_field("parameters", &tool.parameters);
            });
        });
    };
    body.set("tools", |writer| writer.write_list(|writer| tools.iter().for_each(|tool| one(writer, tool))));
}

/// The text of the assistant between results of tools and the user. Chat templates that demand alternating turns do not
/// count calls and their results, and refuse the second user turn in a row.
const BRIDGE: &str = "Understood.";

struct Request<'r> {
    element_writer: &'r ElementWriter,
    options: &'r RequestOptions,
    /// How often [`BRIDGE`] was written.
    bridges: Cell<u32>,
}

impl Request<'_> {
    fn write_messages(&self, turns: &Turns<'_>, writer: &mut Writer) -> Result<(), Error> {
        writer.write_list(|writer| {
            if !turns.rules.is_empty() {
                writer.write_object(|writer| {
                    writer.write_field("role", "system");
                    writer.write_key("content");
                    self.write_rules(&turns.rules, writer)
                })?;
            }
            turns.write_opening(writer);
            // Images of tool results, which only a user message can have.
            let mut media: Vec<&Attachment> = Vec::new();
            let mut last = None;
            for (speaker, elements) in turns.iter() {
                if speaker != Speaker::Tool && speaker != Speaker::User {
                    self.write_media_message(&std::mem::take(&mut media), writer)?;
                }
                if speaker == Speaker::User && last == Some(Speaker::Tool) {
                    self.write_bridge(writer);
                }
                self.write_turn(speaker, elements, &mut media, writer)?;
                last = Some(speaker);
            }
            self.write_media_message(&media, writer)
        })
    }

    /// Whether turns alternate, as the chat templates of many models demand.
    fn alternates(&self) -> bool {
        self.options.turns == Some(TurnRule::Alternate)
    }

    fn write_bridge(&self, writer: &mut Writer) {
        if self.alternates() {
            self.bridges.set(self.bridges.get() + 1);
            writer.write_object(|writer| {
                writer.write_field("role", "assistant");
                writer.write_field("content", BRIDGE);
            });
        }
    }

    /// Writes a message as it was read. Chat templates take an empty text where many fail at null.
    fn write_item(&self, item: &Value, writer: &mut Writer) {
        match item {
            Value::Object(fields)
                if self.alternates() && fields.get("content").is_none_or(Value::is_null) =>
            {
                let mut fields = fields.clone();
                fields.insert("content".to_owned(), "".into());
                writer.write_source(&Value::Object(fields));
            }
            _ => writer.write_source(item),
        }
    }

    /// Writes one text if all instructions are texts, else a part for each, so that data cannot imitate an instruction.
    fn write_rules(&self, rules: &[&Element], writer: &mut Writer) -> Result<(), Error> {
        let is_rule = |element: &&Element| match element {
            Element::Section(_) | Element::Subsection(_) | Element::Json(_) => true,
            Element::Text(_) | Element::Message(_) => is_text(element),
            Element::Material(_) | Element::Chunk(_) => false,
        };
        if rules.iter().all(is_rule) {
            self.write_joined_texts(rules.iter().copied(), writer);
            return Ok(());
        }
        writer.write_list(|writer| {
            rules
                .iter()
                .try_for_each(|element| self.write_element_parts(element, Role::System, writer).map(drop))
        })
    }

    /// Writes the texts of elements as one string, with blank lines between them.
    fn write_joined_texts<'e>(&self, elements: impl Iterator<Item = &'e Element>, writer: &mut Writer) {
        writer.write_text(|sink| {
            for (index, element) in elements.enumerate() {
                if index > 0 {
                    sink.put("\n\n");
                }
                self.element_writer.write_element(sink, element);
            }
        });
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
            items.iter().for_each(|item| self.write_item(item, writer));
            return Ok(());
        }
        for result in elements.iter().filter_map(Turn::message).flat_map(Message::parts) {
            if let Some(found) = result.as_tool_result() {
                self.write_result(result, found, writer);
                media.extend(found.value.media());
            }
        }
        if elements.iter().all(|turn| turn.message().is_some_and(is_only_results)) {
            return Ok(());
        }
        let media = if speaker == Speaker::User { std::mem::take(media) } else { Vec::new() };
        writer.write_object(|writer| self.write_message(speaker.role(), elements, &media, writer))
    }

    fn write_message(
        &self,
        role: Role,
        elements: &[Turn<'_>],
        media: &[&Attachment],
        writer: &mut Writer,
    ) -> Result<(), Error> {
        writer.write_field("role", role.name());
        let calls = || elements.iter().filter_map(Turn::message).flat_map(Message::parts);
        let has_calls = calls().any(|part| part.as_tool_call().is_some());
        if media.is_empty() && elements.iter().all(|turn| has_one_text(turn.element)) {
            writer.write_key("content");
            self.write_joined_texts(elements.iter().map(|turn| turn.element), writer);
        } else if !has_calls || !media.is_empty() || elements.iter().any(|turn| has_content(turn.element)) {
            writer.write_key("content");
            writer.write_list(|writer| {
                self.write_media_parts(media, writer)?;
                let mut count = media.len();
                for turn in elements {
                    count += self.write_element_parts(turn.element, role, writer)?;
                }
                if count == 0 {
                    // At least one part is required, even if all texts are empty.
                    write_text_part("", writer);
                }
                Ok::<(), Error>(())
            })?;
        } else if self.alternates() {
            writer.write_field("content", "");
        }
        if has_calls {
            writer.write_key("tool_calls");
            writer.write_list(|writer| calls().for_each(|part| write_tool_call(part, writer)));
        }
        let mut names = elements.iter().filter_map(Turn::message).filter_map(Message::name);
        if let ([_], Some(name)) = (elements, names.find(|name| !name.is_empty())) {
            writer.write_field("name", &allowed_name(name));
        }
        Ok(())
    }

    /// Writes the result of a tool as a message.
    fn write_result(&self, part: &MessagePart, result: &ToolResult, writer: &mut Writer) {
        if let Some(value) = part.value_in(FORMAT) {
            return writer.write_source(value);
        }
        writer.write_object(|writer| {
            writer.write_field("role", "tool");
            writer.write_field("tool_call_id", &result.call_id);
            writer.write_key("content");
            match &result.value {
                ToolValue::Parts { parts, .. } if parts.len() > 1 => writer.write_list(|writer| {
                    for part in parts {
                        if let Attachment::Text(text) = part {
                            write_text_part(text, writer);
                        }
                    }
                }),
                value => writer.write_string(&value.to_text()),
            }
        });
    }

    /// Writes images and files of tool results as a message of the user.
    fn write_media_message(&self, media: &[&Attachment], writer: &mut Writer) -> Result<(), Error> {
        if media.is_empty() {
            return Ok(());
        }
        self.write_bridge(writer);
        writer.write_object(|writer| {
            writer.write_field("role", "user");
            writer.write_key("content");
            writer.write_list(|writer| self.write_media_parts(media, writer))
        })
    }

    fn write_media_parts(&self, media: &[&Attachment], writer: &mut Writer) -> Result<(), Error> {
        media.iter().try_for_each(|attachment| {
            let mut pieces = Vec::new();
            self.element_writer.push_attachment(attachment, self.options, &mut |piece| pieces.push(piece))?;
            pieces.iter().try_for_each(|piece| self.write_piece(piece, writer))
        })
    }

    /// Writes the content of an element as parts; returns their number.
    fn write_element_parts(
        &self,
        element: &Element,
        role: Role,
        writer: &mut Writer,
    ) -> Result<usize, Error> {
        let mut pieces = Vec::new();
        let Element::Message(message) = element else {
            self.element_writer.split_pieces(element, self.options, &mut |piece| pieces.push(piece))?;
            return self.write_pieces(&pieces, role, writer);
        };
        if message.as_text().is_some() {
            self.write_piece(&Piece::Element(element), writer)?;
            return Ok(1);
        }
        let mut count = 0;
        for part in message.parts() {
            match part.content() {
                PartContent::ToolCall(_) | PartContent::ToolResult(_) => {}
                _ if is_object(part) => {
                    part.value_in(FORMAT).into_iter().for_each(|value| writer.write_source(value));
                    count += 1;
                }
                PartContent::Refusal(text) => {
                    writer.write_object(|writer| {
                        writer.write_field("type", "refusal");
                        writer.write_field("refusal", text);
                    });
                    count += 1;
                }
                PartContent::Attachment(attachment) => {
                    pieces.clear();
                    let mut take = |piece| pieces.push(piece);
                    self.element_writer.push_attachment(attachment, self.options, &mut take)?;
                    count += self.write_pieces(&pieces, role, writer)?;
                }
                PartContent::Reasoning(_) | PartContent::Other(_) => {}
            }
        }
        Ok(count)
    }

    fn write_pieces(&self, pieces: &[Piece<'_>], role: Role, writer: &mut Writer) -> Result<usize, Error> {
        if role != Role::User && pieces.iter().any(Piece::is_media) {
            return Err(media_only_from_user("openai", &format!("from the {role}")));
        }
        pieces.iter().try_for_each(|piece| self.write_piece(piece, writer))?;
        Ok(pieces.len())
    }

    fn write_piece(&self, piece: &Piece<'_>, writer: &mut Writer) -> Result<(), Error> {
        writer.write_object(|writer| {
            match piece {
                Piece::Element(element) => {
                    writer.write_field("type", "text");
                    writer.write_key("text");
                    writer.write_text(|sink| self.element_writer.write_element(sink, element));
                }
                Piece::Text(text) => {
                    writer.write_field("type", "text");
                    writer.write_field("text", text);
                }
                Piece::Media(media) => write_media_fields(media, writer)?,
            }
            Ok(())
        })
    }
}

/// Whether a message has nothing but results of tools.
pub(super) fn is_only_results(message: &Message) -> bool {
    !message.parts().is_empty() && message.parts().iter().all(|part| part.as_tool_result().is_some())
}

/// Whether what an element says is one text, which is written as a string. A message without text but with tool calls has
/// no content at all.
fn has_one_text(element: &Element) -> bool {
    let Element::Message(message) = element else { return is_text(element) };
    let mut texts = 0;
    for part in message.parts() {
        match part.content() {
            PartContent::Attachment(Attachment::Text(_)) if !is_object(part) => texts += 1,
            PartContent::ToolCall(_) | PartContent::ToolResult(_) => {}
            PartContent::Reasoning(_) | PartContent::Other(_) if !part.is_from(FORMAT) => {}
            _ => return false,
        }
    }
    // A list of one text stays a list, unless the other parts have their own place.
    message.as_text().is_some() || (texts == 1 && message.parts().len() > 1)
}

fn is_object(part: &MessagePart) -> bool {
    part.value_in(FORMAT).is_some_and(serde_json::Value::is_object)
}

/// Whether an element says something.
fn has_content(element: &Element) -> bool {
    let Element::Message(message) = element else { return true };
    message.as_text().is_some()
        || message.parts().iter().any(|part| match part.content() {
            PartContent::Attachment(Attachment::Text(text)) => !text.is_empty(),
            PartContent::Attachment(_) | PartContent::Refusal(_) => true,
            PartContent::ToolCall(_) | PartContent::ToolResult(_) => false,
            PartContent::Reasoning(_) | PartContent::Other(_) => is_object(part),
        })
}

fn write_tool_call(part: &MessagePart, writer: &mut Writer) {
    match (part.as_tool_call(), part.value_in(FORMAT)) {
        (None, _) => {}
        (Some(_), Some(value)) if value.get("type").is_some() => writer.write_source(value),
        (Some(call), _) => writer.write_object(|writer| {
            writer.write_field("id", &call.id);
            writer.write_field("type", "function");
            writer.write_key("function");
            writer.write_object(|writer| {
                writer.write_field("name", &call.name);
                writer.write_field("arguments", &arguments_text(call));
            });
        }),
    }
}

/// The arguments of a call as JSON; text that is not an object is written unchanged.
pub(super) fn arguments_text(call: &ToolCall) -> String {
    match &*call.arguments {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "{}".to_owned(),
        arguments => json::to_compact_string(arguments),
    }
}

fn write_text_part(text: &str, writer: &mut Writer) {
    writer.write_object(|writer| {
        writer.write_field("type", "text");
        writer.write_field("text", text);
    });
}

fn write_media_fields(media: &Media<'_>, writer: &mut Writer) -> Result<(), Error> {
    match media {
        Media::Text(text) => {
            writer.write_field("type", "text");
            writer.write_field("text", text);
        }
        Media::Url { kind: Kind::Image, url, .. } => write_image(url, writer),
        Media::Data { kind: Kind::Image, mime, base64, .. } => {
            write_image(&format!("data:{mime};base64,{base64}"), writer);
        }
        Media::Data { kind: Kind::Audio, mime, base64, .. } => write_audio(mime, base64, writer)?,
        Media::Data { kind: Kind::Document, mime, base64, name } => {
            writer.write_field("type", "file");
            writer.write_key("file");
            writer.write_object(|writer| {
                writer.write_field("filename", name);
                writer.write_field("file_data", &format!("data:{mime};base64,{base64}"));
            });
        }
        Media::Url { kind: Kind::Audio | Kind::Document, .. } => {
            return Err(unsupported_error(
                "openai",
                "the URL of a file",
                "attach the file itself, or use the driver `openai-responses`",
            ));
        }
    }
    Ok(())
}

/// Writes a sound, in one of the two formats that OpenAI accepts.
fn write_audio(mime: &str, base64: &str, writer: &mut Writer) -> Result<(), Error> {
    let format = match mime {
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        other => {
            let what = format!("a sound of type {other}");
            return Err(unsupported_error("openai", &what, "attach it as WAV or MP3"));
        }
    };
    writer.write_field("type", "input_audio");
    writer.write_key("input_audio");
    writer.write_object(|writer| {
        writer.write_field("data", base64);
        writer.write_field("format", format);
    });
    Ok(())
}

fn write_image(url: &str, writer: &mut Writer) {
    writer.write_field("type", "image_url");
    writer.write_key("image_url");
    writer.write_object(|writer| writer.write_field("url", url));
}

/// A name that OpenAI accepts: up to 64 characters without spaces and some others.
fn allowed_name(name: &str) -> String {
    let allowed = |character: char| {
        // OpenAI's check treats a byte order mark as white space.
        let refused =
            character.is_whitespace() || character.is_control() || "<>|\\/\u{feff}".contains(character);
        if refused { '_' } else { character }
    };
    name.chars().take(64).map(allowed).collect()
}
