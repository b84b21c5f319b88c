//! OpenAI's chat completions: one message with the instructions, then one message for each element.

use super::{
    DataRole, RequestOptions, Tool,
    body::Body,
    conversation::{Conversation, Turn},
    dialect::{Dialect, ElementWriter, Piece, has_parts},
    media::{Kind, Media, media_only_from_user, unsupported_error},
    request::Notes,
    schema,
};
use crate::{
    CompiledPrompt, Content, Element, Error, Message, Part, Role,
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
    Body::write(writer, options, |body| {
        body.set_model();
        body.try_set("messages", |writer| write_messages(prompt, options, writer))?;
        if let Some(schema) = prompt.schema() {
            body.set("response_format", |writer| {
                writer.write_object(|writer| {
                    writer.write_field("type", "json_schema");
                    writer.write_key("json_schema");
                    writer.write_object(|writer| schema::write_named_schema(schema, writer));
                });
            });
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

fn write_messages(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    let conversation = Conversation::from_prompt(prompt);
    let element_writer = ElementWriter::new(Dialect::Markdown, &conversation);
    writer.write_list(|writer| {
        if !conversation.rules.is_empty() {
            writer.write_object(|writer| {
                writer.write_field("role", "system");
                writer.write_key("content");
                write_rules(&element_writer, &conversation.rules, options, writer)
            })?;
        }
        conversation.turns.iter().try_for_each(|turn| {
            writer.write_object(|writer| match turn.message() {
                Some(message) => write_message(&element_writer, turn.element, message, options, writer),
                None => data_turn(&element_writer, turn, options, writer),
            })
        })
    })
}

/// Writes one text if all instructions are texts, else a part for each, so that data cannot imitate an instruction.
fn write_rules(
    element_writer: &ElementWriter,
    rules: &[&Element],
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    let is_text = |element: &&Element| {
        matches!(element, Element::Section(_) | Element::Subsection(_) | Element::Json(_))
            || matches!(element, Element::Text(text) if text.content.as_text().is_some())
    };
    if rules.iter().all(is_text) {
        writer.write_text(|sink| {
            for (index, element) in rules.iter().enumerate() {
                if index > 0 {
                    sink.put("\n\n");
                }
                element_writer.write_element(sink, element);
            }
        });
        return Ok(());
    }
    writer.write_list(|writer| {
        rules
            .iter()
            .try_for_each(|element| write_parts(element_writer, element, Role::System, options, writer))
    })
}

/// Writes data or output as a user turn.
fn data_turn(
    element_writer: &ElementWriter,
    turn: &Turn<'_>,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    let role = match (turn.part, options.data_role) {
        (Part::Data, DataRole::System) => Role::System,
        _ => Role::User,
    };
    writer.write_field("role", role.name());
    writer.write_key("content");
    write_content(element_writer, turn.element, role, options, writer)
}

fn write_message(
    element_writer: &ElementWriter,
    element: &Element,
    message: &Message,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    writer.write_field("role", message.role().name());
    match &message.said {
        Said::Tool(result) => {
            writer.write_field("tool_call_id", &result.call_id);
            writer.write_key("content");
            writer.write_text(|sink| write_result(sink, result));
            return Ok(());
        }
        Said::Assistant(said, calls) if !calls.is_empty() => {
            if *said != Content::default() {
                writer.write_key("content");
                write_content(element_writer, element, Role::Assistant, options, writer)?;
            }
            writer.write_key("tool_calls");
            writer.write_list(|writer| calls.iter().for_each(|call| write_tool_call(call, writer)));
        }
        _ => {
            writer.write_key("content");
            write_content(element_writer, element, message.role(), options, writer)?;
        }
    }
    if let Some(name) = message.name.as_ref().filter(|name| !name.is_empty()) {
        writer.write_field("name", &allowed_name(name));
    }
    Ok(())
}

fn write_tool_call(call: &ToolCall, writer: &mut Writer) {
    writer.write_object(|writer| {
        writer.write_field("id", &call.id);
        writer.write_field("type", "function");
        writer.write_key("function");
        writer.write_object(|writer| {
            writer.write_field("name", &call.name);
            writer.write_field("arguments", &json::to_compact_string(&call.arguments));
        });
    });
}

/// Writes a string, or a list of parts.
fn write_content(
    element_writer: &ElementWriter,
    element: &Element,
    role: Role,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    if !has_parts(element) {
        writer.write_text(|sink| element_writer.write_element(sink, element));
        return Ok(());
    }
    writer.write_list(|writer| write_parts(element_writer, element, role, options, writer))
}

fn write_parts(
    element_writer: &ElementWriter,
    element: &Element,
    role: Role,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    let mut pieces = Vec::new();
    element_writer.split_pieces(element, options, &mut |piece| pieces.push(piece))?;
    if pieces.is_empty() {
        // At least one part is required, even if all texts are empty.
        pieces.push(Piece::Text("".into()));
    }
    if role != Role::User && pieces.iter().any(Piece::is_media) {
        return Err(media_only_from_user("openai", &format!("from the {role}")));
    }
    pieces
        .iter()
        .try_for_each(|piece| writer.write_object(|writer| write_part(element_writer, piece, writer)))
}

fn write_part(element_writer: &ElementWriter, piece: &Piece<'_>, writer: &mut Writer) -> Result<(), Error> {
    match piece {
        Piece::Element(element) => {
            writer.write_field("type", "text");
            writer.write_key("text");
            writer.write_text(|sink| element_writer.write_element(sink, element));
        }
        Piece::Text(text) => {
            writer.write_field("type", "text");
            writer.write_field("text", text);
        }
        Piece::Media(Media::Text(text)) => {
            writer.write_field("type", "text");
            writer.write_field("text", text);
        }
        Piece::Media(Media::Url { kind: Kind::Image, url, .. }) => write_image(url, writer),
        Piece::Media(Media::Data { kind: Kind::Image, mime, base64, .. }) => {
            write_image(&format!("data:{mime};base64,{base64}"), writer);
        }
        Piece::Media(Media::Data { kind: Kind::Document, mime, base64, name }) => {
            writer.write_field("type", "file");
            writer.write_key("file");
            writer.write_object(|writer| {
                writer.write_field("filename", name);
                writer.write_field("file_data", &format!("data:{mime};base64,{base64}"));
            });
        }
        Piece::Media(Media::Url { kind: Kind::Document, .. }) => {
            return Err(unsupported_error(
                "openai",
                "the URL of a file",
                "attach the file itself, or use the driver `openai-responses`",
            ));
        }
    }
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
