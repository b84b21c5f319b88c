//! Chat completions of OpenAI: one message with the rules, then one message for each element.

use super::{
    DataRole, RequestOptions, Tool,
    body::Body,
    conversation::{Conversation, Turn},
    dialect::{Dialect, Piece, Speller, has_parts},
    media::{Kind, Media, not_the_persons, unsupported},
    request::Notes,
    schema,
};
use crate::{
    CompiledPrompt, Content, Element, Error, Message, Part, Role,
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
    Body::write(writer, options, |body| {
        body.model();
        body.try_set("messages", |writer| messages(prompt, options, writer))?;
        if let Some(schema) = prompt.schema() {
            body.set("response_format", |writer| {
                writer.object(|writer| {
                    writer.field("type", "json_schema");
                    writer.key("json_schema");
                    writer.object(|writer| schema::named(schema, writer));
                });
            });
        }
        body.set_some("max_completion_tokens", options.max_tokens);
        body.set_some("temperature", options.temperature);
        body.set_some("top_p", options.top_p);
        body.set_stop("stop");
        body.set_some("seed", options.seed);
        body.set_some("stream", options.stream);
        tools(body, &options.tools);
        if options.top_k.is_some() {
            notes.add("openai has no `top_k`");
        }
        Ok(())
    })?;
    Ok(notes)
}

/// Tools as OpenAI and Ollama take them.
pub(super) fn tools(body: &mut Body<'_>, tools: &[Tool]) {
    if tools.is_empty() {
        return;
    }
    let one = |writer: &mut Writer, tool: &Tool| {
        writer.object(|writer| {
            writer.field("type", "function");
            writer.key("function");
            writer.object(|writer| {
                writer.field("name", &tool.name);
                writer.field("description", &tool.description);
                writer.value_field("parameters", &tool.parameters);
            });
        });
    };
    body.set("tools", |writer| writer.list(|writer| tools.iter().for_each(|tool| one(writer, tool))));
}

fn messages(prompt: &CompiledPrompt, options: &RequestOptions, writer: &mut Writer) -> Result<(), Error> {
    let conversation = Conversation::of(prompt);
    let speller = Speller::new(Dialect::Markdown, &conversation);
    writer.list(|writer| {
        if !conversation.rules.is_empty() {
            writer.object(|writer| {
                writer.field("role", "system");
                writer.key("content");
                rules(&speller, &conversation.rules, options, writer)
            })?;
        }
        conversation.turns.iter().try_for_each(|turn| {
            writer.object(|writer| match turn.message() {
                Some(message) => one_message(&speller, turn.element, message, options, writer),
                None => told(&speller, turn, options, writer),
            })
        })
    })
}

/// One text where all rules are texts; else a part for each, so that no data among them can pass for a rule.
fn rules(
    speller: &Speller,
    rules: &[&Element],
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    let is_text = |element: &&Element| {
        matches!(element, Element::Section(_) | Element::Subsection(_) | Element::Json(_))
            || matches!(element, Element::Text(text) if text.content.as_text().is_some())
    };
    if rules.iter().all(is_text) {
        writer.text(|sink| {
            for (index, element) in rules.iter().enumerate() {
                if index > 0 {
                    sink.put("\n\n");
                }
                speller.write(sink, element);
            }
        });
        return Ok(());
    }
    writer.list(|writer| {
        rules.iter().try_for_each(|element| parts(speller, element, Role::System, options, writer))
    })
}

/// Data or output, said by the person.
fn told(
    speller: &Speller,
    turn: &Turn<'_>,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    let role = match (turn.part, options.data_role) {
        (Part::Data, DataRole::System) => Role::System,
        _ => Role::User,
    };
    writer.field("role", role.name());
    writer.key("content");
    content(speller, turn.element, role, options, writer)
}

fn one_message(
    speller: &Speller,
    element: &Element,
    message: &Message,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    writer.field("role", message.role().name());
    match &message.said {
        Said::Tool(result) => {
            writer.field("tool_call_id", &result.call_id);
            writer.key("content");
            writer.text(|sink| write_result(sink, result));
            return Ok(());
        }
        Said::Assistant(said, calls) if !calls.is_empty() => {
            if *said != Content::default() {
                writer.key("content");
                content(speller, element, Role::Assistant, options, writer)?;
            }
            writer.key("tool_calls");
            writer.list(|writer| calls.iter().for_each(|call| tool_call(call, writer)));
        }
        _ => {
            writer.key("content");
            content(speller, element, message.role(), options, writer)?;
        }
    }
    if let Some(name) = message.name.as_ref().filter(|name| !name.is_empty()) {
        writer.field("name", &allowed_name(name));
    }
    Ok(())
}

fn tool_call(call: &ToolCall, writer: &mut Writer) {
    writer.object(|writer| {
        writer.field("id", &call.id);
        writer.field("type", "function");
        writer.key("function");
        writer.object(|writer| {
            writer.field("name", &call.name);
            writer.field("arguments", &json::compact(&call.arguments));
        });
    });
}

/// A text, or the parts of content that holds more.
fn content(
    speller: &Speller,
    element: &Element,
    role: Role,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    if !has_parts(element) {
        writer.text(|sink| speller.write(sink, element));
        return Ok(());
    }
    writer.list(|writer| parts(speller, element, role, options, writer))
}

fn parts(
    speller: &Speller,
    element: &Element,
    role: Role,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    let mut pieces = Vec::new();
    speller.pieces(element, options, &mut |piece| pieces.push(piece))?;
    if pieces.is_empty() {
        // There has to be one, even where all texts are empty.
        pieces.push(Piece::Text("".into()));
    }
    if role != Role::User && pieces.iter().any(Piece::is_media) {
        return Err(not_the_persons("openai", &format!("of the {role}")));
    }
    pieces.iter().try_for_each(|piece| writer.object(|writer| part(speller, piece, writer)))
}

fn part(speller: &Speller, piece: &Piece<'_>, writer: &mut Writer) -> Result<(), Error> {
    match piece {
        Piece::Element(element) => {
            writer.field("type", "text");
            writer.key("text");
            writer.text(|sink| speller.write(sink, element));
        }
        Piece::Text(text) => {
            writer.field("type", "text");
            writer.field("text", text);
        }
        Piece::Media(Media::Text(text)) => {
            writer.field("type", "text");
            writer.field("text", text);
        }
        Piece::Media(Media::Url { kind: Kind::Image, url, .. }) => image(url, writer),
        Piece::Media(Media::Data { kind: Kind::Image, mime, base64, .. }) => {
            image(&format!("data:{mime};base64,{base64}"), writer);
        }
        Piece::Media(Media::Data { kind: Kind::Document, mime, base64, name }) => {
            writer.field("type", "file");
            writer.key("file");
            writer.object(|writer| {
                writer.field("filename", name);
                writer.field("file_data", &format!("data:{mime};base64,{base64}"));
            });
        }
        Piece::Media(Media::Url { kind: Kind::Document, .. }) => {
            return Err(unsupported(
                "openai",
                "address of a file",
                "attach the file itself, or use the driver `openai-responses`",
            ));
        }
    }
    Ok(())
}

fn image(url: &str, writer: &mut Writer) {
    writer.field("type", "image_url");
    writer.key("image_url");
    writer.object(|writer| writer.field("url", url));
}

/// A name as OpenAI allows it: up to 64 characters without spaces and some others.
fn allowed_name(name: &str) -> String {
    let allowed = |character: char| {
        // A byte order mark is white space for who checks it.
        let refused =
            character.is_whitespace() || character.is_control() || "<>|\\/\u{feff}".contains(character);
        if refused { '_' } else { character }
    };
    name.chars().take(64).map(allowed).collect()
}
