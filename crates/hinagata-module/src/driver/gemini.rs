//! Gemini's `generateContent`; Vertex AI accepts the same body.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{
    RequestOptions, Tool,
    body::Body,
    conversation::{Alternating, Conversation, OPENING, Side, is_blank},
    dialect::{Dialect, ElementWriter, Piece},
    media::{Media, media_only_from_user},
    request::Notes,
    schema,
};
use crate::{
    CompiledPrompt, Element, Error, Message,
    format::Sink,
    json::Writer,
    message::{Said, ToolResult, ToolValue},
};

pub(super) fn write_request(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::from_prompt(prompt);
    let element_writer = ElementWriter::new(Dialect::Markdown, &conversation);
    let conversation = Alternating::from_conversation(conversation);
    let request = Request { element_writer: &element_writer, options, tools: tool_names(&conversation) };
    Body::write(writer, options, |body| {
        if !conversation.rules.is_empty() {
            body.try_set("systemInstruction", |writer| {
                request.refuse_media(&conversation.rules)?;
                writer.write_object(|writer| request.write_parts(&conversation.rules, writer))
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
    for _ in 0..conversation.left_out {
        notes.add("gemini does not accept empty text");
    }
    for element in conversation.told.iter().chain(&conversation.rules) {
        if let Element::Message(Message { name: Some(_), said, .. }) = element
            && !matches!(said, Said::Tool(_))
        {
            notes.add("gemini does not support speaker names");
        }
    }
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
            Some(schema) => set("responseSchema", Some(schema)),
            None => set("responseJsonSchema", Some(schema.clone())),
        }
    }
    all
}

/// The tool of each call: results refer to a tool by its name.
fn tool_names<'p>(conversation: &Alternating<'p>) -> HashMap<&'p str, &'p str> {
    let mut names = HashMap::new();
    for element in &conversation.told {
        if let Element::Message(Message { said: Said::Assistant(_, calls), .. }) = element {
            names.extend(calls.iter().map(|call| (call.id.as_str(), call.name.as_str())));
        }
    }
    names
}

struct Request<'r, 'p> {
    element_writer: &'r ElementWriter,
    options: &'r RequestOptions,
    tools: HashMap<&'p str, &'p str>,
}

impl Request<'_, '_> {
    fn write_contents(&self, conversation: &Alternating<'_>, writer: &mut Writer) -> Result<(), Error> {
        writer.write_list(|writer| {
            if conversation.needs_opening() {
                writer.write_value(&json!({"role": "user", "parts": [{"text": OPENING}]}));
            }
            conversation.turns().try_for_each(|(side, elements)| {
                writer.write_object(|writer| {
                    writer.write_field(
                        "role",
                        match side {
                            Side::User => "user",
                            Side::Model => "model",
                        },
                    );
                    self.write_parts(elements, writer)
                })
            })
        })
    }

    /// Instructions can contain only text.
    fn refuse_media(&self, rules: &[&Element]) -> Result<(), Error> {
        let mut any = false;
        for element in rules {
            self.element_writer.split_pieces(element, self.options, &mut |piece| any |= piece.is_media())?;
        }
        if any { Err(media_only_from_user("gemini", "in the instructions")) } else { Ok(()) }
    }

    fn write_parts(&self, elements: &[&Element], writer: &mut Writer) -> Result<(), Error> {
        writer.write_key("parts");
        writer.write_list(|writer| {
            elements.iter().enumerate().try_for_each(|(index, element)| {
                self.write_element(element, index + 1 < elements.len(), writer)
            })
        })
    }

    fn write_element(&self, element: &Element, more: bool, writer: &mut Writer) -> Result<(), Error> {
        if let Element::Message(message) = element {
            match &message.said {
                Said::Tool(result) => {
                    writer.write_value(&self.function_response(message, result));
                    return Ok(());
                }
                Said::Assistant(content, calls) if !calls.is_empty() => {
                    if !is_blank(content) {
                        self.write_pieces(element, true, writer)?;
                    }
                    for call in calls {
                        writer.write_value(
                            &json!({"functionCall": {"name": call.name.as_str(), "args": *call.arguments}}),
                        );
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        self.write_pieces(element, more, writer)
    }

    fn function_response(&self, message: &Message, result: &ToolResult) -> Value {
        let name = message
            .name
            .as_deref()
            .or_else(|| self.tools.get(result.call_id.as_str()).copied())
            .unwrap_or(&result.call_id);
        let response = match &result.value {
            ToolValue::Text(text) => json!({"output": text.as_str()}),
            ToolValue::Data(value) => json!({"output": **value}),
            ToolValue::Error(value) => json!({"error": **value}),
        };
        json!({"functionResponse": {"name": name, "response": response}})
    }

    fn write_pieces(&self, element: &Element, more: bool, writer: &mut Writer) -> Result<(), Error> {
        let mut pieces = Vec::new();
        self.element_writer.split_pieces(element, self.options, &mut |piece| pieces.push(piece))?;
        let count = pieces.len();
        for (index, piece) in pieces.iter().enumerate() {
            let blank = if more && index + 1 == count { "\n\n" } else { "" };
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
        Ok(())
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
