//! Gemini's `generateContent`; Vertex AI accepts the same body.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{
    RequestOptions, Tool, TurnRule,
    body::Body,
    conversation::{
        Conversation, Grouping, OPENING, Speaker, Turn, Turns, starts_with_text, unchanged_items,
    },
    dialect::{Dialect, ElementWriter, Piece, is_text},
    media::{Media, media_only_from_user},
    parts::{has_place, note_messages},
    request::Notes,
    schema,
};
use crate::{
    Attachment, CompiledPrompt, Element, Error, Message, MessageFormat, MessagePart, PartContent,
    format::Sink,
    json::Writer,
    message::{ToolResult, ToolValue},
};

/// The format of the contents.
const FORMAT: MessageFormat = MessageFormat::Gemini;

pub(super) fn write_request(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::from_prompt(prompt);
    note_messages(conversation.messages(), FORMAT, &mut notes);
    let element_writer = ElementWriter::new(Dialect::Markdown, &conversation);
    let grouping = Grouping::new(options, TurnRule::Alternate, FORMAT).with_two_sides();
    let conversation = Turns::from_conversation(conversation, grouping);
    let request = Request { element_writer: &element_writer, options, tools: tool_names(&conversation) };
    Body::write(writer, options, |body| {
        if !conversation.rules.is_empty() {
            body.try_set("systemInstruction", |writer| {
                request.refuse_media(&conversation.rules)?;
                writer.write_object(|writer| request.write_parts(conversation.rules.iter().copied(), writer))
            })?;
        }
        body.try_set("contents", |writer| request.write_contents(&conversation, writer))?;
        let config = generation_config(prompt, options);
        if !config.is_empty() {
            body.set("generationConfig", |writer| writer.write_value(&Value::Object(config)));
        }
        if !options.tools.is_empty() {
            let declared: Vec<Value> = options.tools.iter().map(tool_declaration).collect();
            body.set("tools", |writer| writer.write_value(&json!([{"functionDeclarations": declared}])));
        }
        Ok(())
    })?;
    conversation.add_notes("gemini", &mut notes);
    Ok(notes)
}

fn tool_declaration(tool: &Tool) -> Value {
    let (key, parameters) = match schema::to_gemini(&tool.parameters) {
        Some(parameters) => ("parameters", parameters),
        None => ("parametersJsonSchema", tool.parameters.clone()),
    };
    json!({"name": tool.name, "description": tool.description, key: parameters})
}

fn generation_config(prompt: &CompiledPrompt, options: &RequestOptions) -> Map<String, Value> {
    let mut all = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            all.insert(key.to_owned(), value);
        }
    };
    set("maxOutputTokens", options.max_tokens.map(Value::from));
    set("temperature", options.temperature.map(Value::from));
    set("topP", options.top_p.map(Value::from));
    set("topK", options.top_k.map(Value::from));
    set("stopSequences", (!options.stop.is_empty()).then(|| json!(options.stop)));
    set("seed", options.seed.map(Value::from));
    if let Some(schema) = prompt.schema() {
        set("responseMimeType", Some("application/json".into()));
        match schema::to_gemini(schema) {
            _ if schema::has_no_keywords(schema) => {}
            Some(schema) => set("responseSchema", Some(schema)),
            None => set("responseJsonSchema", Some(schema.clone())),
        }
    }
    all
}

/// The tool of each call: results refer to a tool by its name.
fn tool_names<'p>(conversation: &Turns<'p>) -> HashMap<&'p str, &'p str> {
    let messages = conversation.elements.iter().filter_map(Turn::message);
    messages.flat_map(Message::tool_calls).map(|call| (call.id.as_str(), call.name.as_str())).collect()
}

struct Request<'r, 'p> {
    element_writer: &'r ElementWriter,
    options: &'r RequestOptions,
    tools: HashMap<&'p str, &'p str>,
}

impl Request<'_, '_> {
    fn write_contents(&self, turns: &Turns<'_>, writer: &mut Writer) -> Result<(), Error> {
        writer.write_list(|writer| {
            if turns.needs_opening {
                writer.write_value(&json!({"role": "user", "parts": [{"text": OPENING}]}));
            }
            turns.iter().try_for_each(|(speaker, elements)| {
                if let Some(items) = unchanged_items(elements, FORMAT) {
                    items.iter().for_each(|item| writer.write_source(item));
                    return Ok(());
                }
                writer.write_object(|writer| {
                    writer.write_field("role", if speaker == Speaker::Model { "model" } else { "user" });
                    self.write_parts(elements.iter().map(|turn| turn.element), writer)
                })
            })
        })
    }

    /// Instructions can contain only text.
    fn refuse_media(&self, rules: &[&Element]) -> Result<(), Error> {
        let mut any = false;
        for element in rules {
            match element {
                Element::Message(message) => any |= message.parts().iter().any(is_media),
                element => {
                    let mut check = |piece: Piece<'_>| any |= piece.is_media();
                    self.element_writer.split_pieces(element, self.options, &mut check)?;
                }
            }
        }
        if any { Err(media_only_from_user("gemini", "in the instructions")) } else { Ok(()) }
    }

    fn write_parts<'e>(
        &self,
        elements: impl Iterator<Item = &'e Element>,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let mut elements = elements.peekable();
        writer.write_key("parts");
        writer.write_list(|writer| {
            while let Some(element) = elements.next() {
                let more = elements.peek().is_some_and(|next| starts_with_text(next));
                self.write_element(element, more, writer)?;
            }
            Ok(())
        })
    }

    fn write_element(&self, element: &Element, more: bool, writer: &mut Writer) -> Result<(), Error> {
        let mut pieces = Vec::new();
        let message = match element {
            Element::Message(message) if !is_text(element) => message,
            Element::Message(_) => {
                self.write_pieces(&[Piece::Element(element)], more, writer);
                return Ok(());
            }
            element => {
                self.element_writer.split_pieces(element, self.options, &mut |piece| pieces.push(piece))?;
                self.write_pieces(&pieces, more, writer);
                return Ok(());
            }
        };
        let parts: Vec<&MessagePart> =
            message.parts().iter().filter(|part| has_place(part, FORMAT)).collect();
        for (index, part) in parts.iter().enumerate() {
            let more = more && index + 1 == parts.len();
            if let Some(value) = part.value_in(FORMAT) {
                writer.write_source(value);
                continue;
            }
            match part.content() {
                PartContent::Attachment(attachment) => {
                    pieces.clear();
                    let mut take = |piece| pieces.push(piece);
                    self.element_writer.push_attachment(attachment, self.options, &mut take)?;
                    self.write_pieces(&pieces, more, writer);
                }
                PartContent::Refusal(text) => {
                    self.write_pieces(&[Piece::Text(text.as_str().into())], more, writer);
                }
                PartContent::ToolCall(call) => writer.write_value(&json!({
                    "functionCall": {"name": call.name.as_str(), "args": *call.arguments_object()},
                })),
                PartContent::ToolResult(result) => {
                    writer.write_value(&self.function_response(message, result));
                    let media = self.element_writer.attachment_pieces(result.value.media(), self.options)?;
                    self.write_pieces(&media, false, writer);
                }
                // These are written above.
                PartContent::Reasoning(_) | PartContent::Other(_) => {}
            }
        }
        Ok(())
    }

    fn function_response(&self, message: &Message, result: &ToolResult) -> Value {
        let name = [result.name.as_deref(), message.name(), self.tools.get(result.call_id.as_str()).copied()];
        let name = name.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or(&result.call_id);
        let response = match &result.value {
            ToolValue::Text(text) => json!({"output": text.as_str()}),
            ToolValue::Data(value) => json!({"output": **value}),
            ToolValue::Error(value) => json!({"error": **value}),
            value @ ToolValue::Parts { is_error, .. } => {
                let text = value.to_text();
                json!({if *is_error { "error" } else { "output" }: text})
            }
        };
        json!({"functionResponse": {"name": name, "response": response}})
    }

    fn write_pieces(&self, pieces: &[Piece<'_>], more: bool, writer: &mut Writer) {
        for (index, piece) in pieces.iter().enumerate() {
            let blank = if more && index + 1 == pieces.len() { "\n\n" } else { "" };
            writer.write_object(|writer| match piece {
                Piece::Element(element) => {
                    writer.write_key("text");
                    writer.write_text(|sink| {
                        self.element_writer.write_element(sink, element);
                        sink.put(blank);
                    });
                }
                Piece::Text(text) => {
                    writer.write_key("text");
                    writer.write_text(|sink| sink.put_all(&[text, blank]));
                }
                Piece::Media(media) => write_media_part(media, writer),
            });
        }
    }
}

fn is_media(part: &MessagePart) -> bool {
    match part.content() {
        PartContent::Attachment(attachment) => !matches!(attachment, Attachment::Text(_)),
        _ => false,
    }
}

fn write_media_part(media: &Media<'_>, writer: &mut Writer) {
    match media {
        Media::Text(text) => writer.write_field("text", text),
        Media::Url { mime, url, .. } => {
            writer.write_key("fileData");
            writer.write_object(|writer| {
                if let Some(mime) = mime {
                    writer.write_field("mimeType", mime);
                }
                writer.write_field("fileUri", url);
            });
        }
        Media::Data { mime, base64, .. } => {
            writer.write_key("inlineData");
            writer.write_object(|writer| {
                writer.write_field("mimeType", mime);
                writer.write_field("data", base64);
            });
        }
    }
}
