//! OpenAI's responses: separate instructions, then one item for each element.

use serde_json::{Value, json};

use super::{
    DataRole, RequestOptions,
    body::Body,
    conversation::{Conversation, Turn, is_blank},
    dialect::{Dialect, ElementWriter, Piece},
    media::{Kind, Media, media_only_from_user},
    request::Notes,
    schema,
};
use crate::{
    CompiledPrompt, Element, Error, Part, Role,
    format::{Sink, write_result},
    json::{self, Writer},
    message::{Said, ToolCall},
};

pub(super) fn write_request(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::from_prompt(prompt);
    let element_writer = ElementWriter::new(Dialect::Markdown, &conversation);
    let request = Request { element_writer: &element_writer, options };
    // Instructions that contain data become an item, in which each has its own part.
    let apart = conversation
        .rules
        .iter()
        .all(|element| matches!(element, Element::Section(_) | Element::Subsection(_)));
    Body::write(writer, options, |body| {
        body.set_model();
        if apart && !conversation.rules.is_empty() {
            body.set("instructions", |writer| {
                writer.write_text(|sink| {
                    for (index, element) in conversation.rules.iter().enumerate() {
                        sink.put(if index > 0 { "\n\n" } else { "" });
                        element_writer.write_element(sink, element);
                    }
                });
            });
        }
        body.try_set("input", |writer| {
            writer.write_list(|writer| {
                if !apart {
                    request.write_rules(&conversation.rules, writer)?;
                }
                conversation.turns.iter().try_for_each(|turn| request.write_item(turn, writer))
            })
        })?;
        if let Some(schema) = prompt.schema() {
            body.set("text", |writer| {
                writer.write_object(|writer| {
                    writer.write_key("format");
                    writer.write_object(|writer| {
                        writer.write_field("type", "json_schema");
                        schema::write_named_schema(schema, writer);
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
                    "parameters": tool.parameters, "strict": schema::can_be_strict(&tool.parameters)})
            };
            let tools: Value = options.tools.iter().map(tool).collect();
            body.set("tools", |writer| writer.write_value(&tools));
        }
        Ok(())
    })?;
    add_notes(&conversation, options, &mut notes);
    Ok(notes)
}

fn add_notes(conversation: &Conversation<'_>, options: &RequestOptions, notes: &mut Notes) {
    for (given, what) in [
        (options.top_k.is_some(), "openai-responses does not support `top_k`"),
        (options.seed.is_some(), "openai-responses does not support `seed`"),
        (!options.stop.is_empty(), "openai-responses does not support stop sequences"),
    ] {
        if given {
            notes.add(what);
        }
    }
    for message in conversation.turns.iter().filter_map(Turn::message) {
        if message.name.is_some() && !matches!(message.said, Said::Tool(_)) {
            notes.add("openai-responses does not support speaker names");
        }
    }
}

struct Request<'r> {
    element_writer: &'r ElementWriter,
    options: &'r RequestOptions,
}

impl Request<'_> {
    fn write_rules(&self, rules: &[&Element], writer: &mut Writer) -> Result<(), Error> {
        writer.write_object(|writer| {
            writer.write_field("role", "developer");
            writer.write_key("content");
            writer.write_list(|writer| {
                rules.iter().try_for_each(|element| self.write_parts(element, Role::System, writer))
            })
        })
    }

    fn write_item(&self, turn: &Turn<'_>, writer: &mut Writer) -> Result<(), Error> {
        let role = match (turn.message(), turn.part, self.options.data_role) {
            (Some(message), ..) => message.role(),
            (None, Part::Data, DataRole::System) => Role::System,
            _ => Role::User,
        };
        match turn.message().map(|message| &message.said) {
            Some(Said::Tool(result)) => {
                writer.write_object(|writer| {
                    writer.write_field("type", "function_call_output");
                    writer.write_field("call_id", &result.call_id);
                    writer.write_key("output");
                    writer.write_text(|sink| write_result(sink, result));
                });
                Ok(())
            }
            Some(Said::Assistant(content, calls)) if !calls.is_empty() => {
                if !is_blank(content) {
                    self.write_message(turn.element, role, writer)?;
                }
                calls.iter().for_each(|call| write_function_call(call, writer));
                Ok(())
            }
            _ => self.write_message(turn.element, role, writer),
        }
    }

    fn write_message(&self, element: &Element, role: Role, writer: &mut Writer) -> Result<(), Error> {
        writer.write_object(|writer| {
            writer.write_field("role", role.name());
            writer.write_key("content");
            writer.write_list(|writer| self.write_parts(element, role, writer))
        })
    }

    fn write_parts(&self, element: &Element, role: Role, writer: &mut Writer) -> Result<(), Error> {
        let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
        let mut pieces = Vec::new();
        self.element_writer.split_pieces(element, self.options, &mut |piece| pieces.push(piece))?;
        if pieces.is_empty() {
            // At least one part is required, even if all texts are empty.
            pieces.push(Piece::Text("".into()));
        }
        pieces.iter().try_for_each(|piece| {
            writer.write_object(|writer| match piece {
                Piece::Element(element) => {
                    writer.write_field("type", kind);
                    writer.write_key("text");
                    writer.write_text(|sink| self.element_writer.write_element(sink, element));
                    Ok(())
                }
                Piece::Text(text) => {
                    writer.write_field("type", kind);
                    writer.write_field("text", text);
                    Ok(())
                }
                Piece::Media(_) if role == Role::Assistant => {
                    Err(media_only_from_user("openai-responses", "from the assistant"))
                }
                Piece::Media(media) => {
                    write_media_part(media, writer);
                    Ok(())
                }
            })
        })
    }
}

fn write_function_call(call: &ToolCall, writer: &mut Writer) {
    writer.write_object(|writer| {
        writer.write_field("type", "function_call");
        writer.write_field("call_id", &call.id);
        writer.write_field("name", &call.name);
        writer.write_field("arguments", &json::to_compact_string(&call.arguments));
    });
}

fn write_media_part(media: &Media<'_>, writer: &mut Writer) {
    match media {
        Media::Text(text) => {
            writer.write_field("type", "input_text");
            writer.write_field("text", text);
        }
        Media::Url { kind: Kind::Image, url, .. } => write_image(url, writer),
        Media::Data { kind: Kind::Image, mime, base64, .. } => {
            write_image(&format!("data:{mime};base64,{base64}"), writer);
        }
        Media::Url { kind: Kind::Document, url, .. } => {
            writer.write_field("type", "input_file");
            writer.write_field("file_url", url);
        }
        Media::Data { kind: Kind::Document, mime, base64, name } => {
            writer.write_field("type", "input_file");
            writer.write_field("filename", name);
            writer.write_field("file_data", &format!("data:{mime};base64,{base64}"));
        }
    }
}

fn write_image(url: &str, writer: &mut Writer) {
    writer.write_field("type", "input_image");
    writer.write_field("image_url", url);
    writer.write_field("detail", "auto");
}
