//! `generateContent` of Gemini; Vertex AI takes the same body.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{
    RequestOptions, Tool,
    body::Body,
    conversation::{Alternating, Conversation, OPENING, Side, is_blank},
    dialect::{Dialect, Piece, Speller},
    media::{Media, not_the_persons},
    request::Notes,
    schema,
};
use crate::{
    CompiledPrompt, Element, Error, Message,
    format::Sink,
    json::Writer,
    message::{Said, ToolResult, ToolValue},
};

pub(super) fn write(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::of(prompt);
    let speller = Speller::new(Dialect::Markdown, &conversation);
    let conversation = Alternating::of(conversation);
    let request = Request { speller: &speller, options, tools: tool_names(&conversation) };
    Body::write(writer, options, |body| {
        if !conversation.rules.is_empty() {
            body.try_set("systemInstruction", |writer| {
                request.refuse_media(&conversation.rules)?;
                writer.object(|writer| request.parts(&conversation.rules, writer))
            })?;
        }
        body.try_set("contents", |writer| request.contents(&conversation, writer))?;
        let config = config(prompt, options);
        if !config.is_empty() {
            body.set("generationConfig", |writer| writer.value(&Value::Object(config)));
        }
        if !options.tools.is_empty() {
            let declared: Vec<Value> = options.tools.iter().map(declaration).collect();
            body.set("tools", |writer| writer.value(&json!([{"functionDeclarations": declared}])));
        }
        Ok(())
    })?;
    for _ in 0..conversation.left_out {
        notes.add("gemini takes no empty text");
    }
    for element in conversation.told.iter().chain(&conversation.rules) {
        if let Element::Message(Message { name: Some(_), said, .. }) = element
            && !matches!(said, Said::Tool(_))
        {
            notes.add("gemini has no names of speakers");
        }
    }
    Ok(notes)
}

fn declaration(tool: &Tool) -> Value {
    let (key, parameters) = match schema::gemini(&tool.parameters) {
        Some(parameters) => ("parameters", parameters),
        None => ("parametersJsonSchema", tool.parameters.clone()),
    };
    json!({"name": tool.name, "description": tool.description, key: parameters})
}

fn config(prompt: &CompiledPrompt, options: &RequestOptions) -> Map<String, Value> {
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
        match schema::gemini(schema) {
            Some(schema) => set("responseSchema", Some(schema)),
            None => set("responseJsonSchema", Some(schema.clone())),
        }
    }
    all
}

/// The tool of each call: results are told apart by it.
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
    speller: &'r Speller,
    options: &'r RequestOptions,
    tools: HashMap<&'p str, &'p str>,
}

impl Request<'_, '_> {
    fn contents(&self, conversation: &Alternating<'_>, writer: &mut Writer) -> Result<(), Error> {
        writer.list(|writer| {
            if conversation.needs_opening() {
                writer.value(&json!({"role": "user", "parts": [{"text": OPENING}]}));
            }
            conversation.turns().try_for_each(|(side, elements)| {
                writer.object(|writer| {
                    writer.field(
                        "role",
                        match side {
                            Side::User => "user",
                            Side::Model => "model",
                        },
                    );
                    self.parts(elements, writer)
                })
            })
        })
    }

    /// Instructions are texts.
    fn refuse_media(&self, rules: &[&Element]) -> Result<(), Error> {
        let mut any = false;
        for element in rules {
            self.speller.pieces(element, self.options, &mut |piece| any |= piece.is_media())?;
        }
        if any { Err(not_the_persons("gemini", "in the instructions")) } else { Ok(()) }
    }

    fn parts(&self, elements: &[&Element], writer: &mut Writer) -> Result<(), Error> {
        writer.key("parts");
        writer.list(|writer| {
            elements
                .iter()
                .enumerate()
                .try_for_each(|(index, element)| self.element(element, index + 1 < elements.len(), writer))
        })
    }

    fn element(&self, element: &Element, more: bool, writer: &mut Writer) -> Result<(), Error> {
        if let Element::Message(message) = element {
            match &message.said {
                Said::Tool(result) => {
                    writer.value(&self.response(message, result));
                    return Ok(());
                }
                Said::Assistant(content, calls) if !calls.is_empty() => {
                    if !is_blank(content) {
                        self.pieces(element, true, writer)?;
                    }
                    for call in calls {
                        writer.value(
                            &json!({"functionCall": {"name": call.name.as_str(), "args": *call.arguments}}),
                        );
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        self.pieces(element, more, writer)
    }

    fn response(&self, message: &Message, result: &ToolResult) -> Value {
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

    fn pieces(&self, element: &Element, more: bool, writer: &mut Writer) -> Result<(), Error> {
        let mut pieces = Vec::new();
        self.speller.pieces(element, self.options, &mut |piece| pieces.push(piece))?;
        let count = pieces.len();
        for (index, piece) in pieces.iter().enumerate() {
            let blank = if more && index + 1 == count { "\n\n" } else { "" };
            writer.object(|writer| match piece {
                Piece::Element(element) => {
                    writer.key("text");
                    writer.text(|sink| {
                        self.speller.write(sink, element);
                        sink.put(blank);
                    });
                }
                Piece::Text(text) => {
                    writer.key("text");
                    writer.text(|sink| sink.put_all(&[text, blank]));
                }
                Piece::Media(media) => media_part(media, writer),
            });
        }
        Ok(())
    }
}

fn media_part(media: &Media<'_>, writer: &mut Writer) {
    match media {
        Media::Text(text) => writer.field("text", text),
        Media::Url { mime, url, .. } => {
            writer.key("fileData");
            writer.object(|writer| {
                if let Some(mime) = mime {
                    writer.field("mimeType", mime);
                }
                writer.field("fileUri", url);
            });
        }
        Media::Data { mime, base64, .. } => {
            writer.key("inlineData");
            writer.object(|writer| {
                writer.field("mimeType", mime);
                writer.field("data", base64);
            });
        }
    }
}
