//! Responses of OpenAI: instructions apart, then one item for each element.

use serde_json::{Value, json};

use super::{
    DataRole, RequestOptions,
    body::Body,
    conversation::{Conversation, Turn, is_blank},
    dialect::{Dialect, Piece, Speller},
    media::{Kind, Media, not_the_persons},
    request::Notes,
    schema,
};
use crate::{
    CompiledPrompt, Element, Error, Part, Role,
    format::{Sink, write_result},
    json::{self, Writer},
    message::{Said, ToolCall},
};

pub(super) fn write(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::of(prompt);
    let speller = Speller::new(Dialect::Markdown, &conversation);
    let request = Request { speller: &speller, options };
    // Rules that hold data stand among the items, where each has a part of its own.
    let apart = conversation
        .rules
        .iter()
        .all(|element| matches!(element, Element::Section(_) | Element::Subsection(_)));
    Body::write(writer, options, |body| {
        body.model();
        if apart && !conversation.rules.is_empty() {
            body.set("instructions", |writer| {
                writer.text(|sink| {
                    for (index, element) in conversation.rules.iter().enumerate() {
                        sink.put(if index > 0 { "\n\n" } else { "" });
                        speller.write(sink, element);
                    }
                });
            });
        }
        body.try_set("input", |writer| {
            writer.list(|writer| {
                if !apart {
                    request.rules(&conversation.rules, writer)?;
                }
                conversation.turns.iter().try_for_each(|turn| request.item(turn, writer))
            })
        })?;
        if let Some(schema) = prompt.schema() {
            body.set("text", |writer| {
                writer.object(|writer| {
                    writer.key("format");
                    writer.object(|writer| {
                        writer.field("type", "json_schema");
                        schema::named(schema, writer);
                    });
                });
            });
        }
        body.set_some("max_output_tokens", options.max_tokens);
        body.set_some("temperature", options.temperature);
        body.set_some("top_p", options.top_p);
        body.set_some("stream", options.stream);
        if !options.tools.is_empty() {
            let tool = |tool: &super::Tool| {
                json!({"type": "function", "name": tool.name, "description": tool.description,
                    "parameters": tool.parameters, "strict": schema::promised(&tool.parameters)})
            };
            let tools: Value = options.tools.iter().map(tool).collect();
            body.set("tools", |writer| writer.value(&tools));
        }
        Ok(())
    })?;
    note(&conversation, options, &mut notes);
    Ok(notes)
}

fn note(conversation: &Conversation<'_>, options: &RequestOptions, notes: &mut Notes) {
    for (given, what) in [
        (options.top_k.is_some(), "openai-responses has no `top_k`"),
        (options.seed.is_some(), "openai-responses has no `seed`"),
        (!options.stop.is_empty(), "openai-responses has no texts that end the answer"),
    ] {
        if given {
            notes.add(what);
        }
    }
    for message in conversation.turns.iter().filter_map(Turn::message) {
        if message.name.is_some() && !matches!(message.said, Said::Tool(_)) {
            notes.add("openai-responses has no names of speakers");
        }
    }
}

struct Request<'r> {
    speller: &'r Speller,
    options: &'r RequestOptions,
}

impl Request<'_> {
    fn rules(&self, rules: &[&Element], writer: &mut Writer) -> Result<(), Error> {
        writer.object(|writer| {
            writer.field("role", "developer");
            writer.key("content");
            writer
                .list(|writer| rules.iter().try_for_each(|element| self.parts(element, Role::System, writer)))
        })
    }

    fn item(&self, turn: &Turn<'_>, writer: &mut Writer) -> Result<(), Error> {
        let role = match (turn.message(), turn.part, self.options.data_role) {
            (Some(message), ..) => message.role(),
            (None, Part::Data, DataRole::System) => Role::System,
            _ => Role::User,
        };
        match turn.message().map(|message| &message.said) {
            Some(Said::Tool(result)) => {
                writer.object(|writer| {
                    writer.field("type", "function_call_output");
                    writer.field("call_id", &result.call_id);
                    writer.key("output");
                    writer.text(|sink| write_result(sink, result));
                });
                Ok(())
            }
            Some(Said::Assistant(content, calls)) if !calls.is_empty() => {
                if !is_blank(content) {
                    self.message(turn.element, role, writer)?;
                }
                calls.iter().for_each(|call| function_call(call, writer));
                Ok(())
            }
            _ => self.message(turn.element, role, writer),
        }
    }

    fn message(&self, element: &Element, role: Role, writer: &mut Writer) -> Result<(), Error> {
        writer.object(|writer| {
            writer.field("role", role.name());
            writer.key("content");
            writer.list(|writer| self.parts(element, role, writer))
        })
    }

    fn parts(&self, element: &Element, role: Role, writer: &mut Writer) -> Result<(), Error> {
        let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
        let mut pieces = Vec::new();
        self.speller.pieces(element, self.options, &mut |piece| pieces.push(piece))?;
        if pieces.is_empty() {
            // There has to be one, even where all texts are empty.
            pieces.push(Piece::Text("".into()));
        }
        pieces.iter().try_for_each(|piece| {
            writer.object(|writer| match piece {
                Piece::Element(element) => {
                    writer.field("type", kind);
                    writer.key("text");
                    writer.text(|sink| self.speller.write(sink, element));
                    Ok(())
                }
                Piece::Text(text) => {
                    writer.field("type", kind);
                    writer.field("text", text);
                    Ok(())
                }
                Piece::Media(_) if role == Role::Assistant => {
                    Err(not_the_persons("openai-responses", "of the assistant"))
                }
                Piece::Media(media) => {
                    media_part(media, writer);
                    Ok(())
                }
            })
        })
    }
}

fn function_call(call: &ToolCall, writer: &mut Writer) {
    writer.object(|writer| {
        writer.field("type", "function_call");
        writer.field("call_id", &call.id);
        writer.field("name", &call.name);
        writer.field("arguments", &json::compact(&call.arguments));
    });
}

fn media_part(media: &Media<'_>, writer: &mut Writer) {
    match media {
        Media::Text(text) => {
            writer.field("type", "input_text");
            writer.field("text", text);
        }
        Media::Url { kind: Kind::Image, url, .. } => image(url, writer),
        Media::Data { kind: Kind::Image, mime, base64, .. } => {
            image(&format!("data:{mime};base64,{base64}"), writer);
        }
        Media::Url { kind: Kind::Document, url, .. } => {
            writer.field("type", "input_file");
            writer.field("file_url", url);
        }
        Media::Data { kind: Kind::Document, mime, base64, name } => {
            writer.field("type", "input_file");
            writer.field("filename", name);
            writer.field("file_data", &format!("data:{mime};base64,{base64}"));
        }
    }
}

fn image(url: &str, writer: &mut Writer) {
    writer.field("type", "input_image");
    writer.field("image_url", url);
    writer.field("detail", "auto");
}
