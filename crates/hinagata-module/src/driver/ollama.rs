//! `/api/chat` of Ollama: one message for each element, pictures beside the text.

use serde_json::{Map, Value, json};

use super::{
    DataRole, RequestOptions,
    body::Body,
    conversation::{Conversation, Turn},
    dialect::{Dialect, Piece, Speller},
    media::{Kind, Media, unsupported},
    openai,
    request::Notes,
};
use crate::{
    CompiledPrompt, Element, Error, Message, Part, Role,
    format::{Sink, write_result},
    json::Writer,
    message::Said,
};

pub(super) fn write(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::of(prompt);
    let speller = Speller::new(Dialect::Markdown, &conversation);
    Body::write(writer, options, |body| {
        body.model();
        body.try_set("messages", |writer| {
            writer.list(|writer| {
                for element in &conversation.rules {
                    writer.object(|writer| said(&speller, element, Role::System, options, writer))?;
                }
                conversation.turns.iter().try_for_each(|turn| one(&speller, turn, options, writer))
            })
        })?;
        if let Some(schema) = prompt.schema() {
            body.set("format", |writer| writer.value(schema));
        }
        let settings = settings(options);
        if !settings.is_empty() {
            body.set("options", |writer| writer.value(&Value::Object(settings)));
        }
        body.set_some("stream", options.stream);
        openai::tools(body, &options.tools);
        Ok(())
    })?;
    for message in conversation.turns.iter().filter_map(Turn::message) {
        if message.name.is_some() && !matches!(message.said, Said::Tool(_)) {
            notes.add("ollama has no names of speakers");
        }
    }
    Ok(notes)
}

fn settings(options: &RequestOptions) -> Map<String, Value> {
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

fn one(
    speller: &Speller,
    turn: &Turn<'_>,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    let role = match (turn.message(), turn.part, options.data_role) {
        (Some(message), ..) => message.role(),
        (None, Part::Data, DataRole::System) => Role::System,
        _ => Role::User,
    };
    writer.object(|writer| match turn.message() {
        Some(Message { said: Said::Tool(result), name, .. }) => {
            writer.field("role", "tool");
            if let Some(name) = name {
                writer.field("tool_name", name);
            }
            writer.key("content");
            writer.text(|sink| write_result(sink, result));
            Ok(())
        }
        Some(Message { said: Said::Assistant(_, calls), .. }) if !calls.is_empty() => {
            said(speller, turn.element, role, options, writer)?;
            writer.key("tool_calls");
            writer.list(|writer| {
                for call in calls {
                    writer.value(
                        &json!({"function": {"name": call.name.as_str(), "arguments": *call.arguments}}),
                    );
                }
            });
            Ok(())
        }
        _ => said(speller, turn.element, role, options, writer),
    })
}

/// Role and text, and the pictures beside it.
fn said(
    speller: &Speller,
    element: &Element,
    role: Role,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    writer.field("role", role.name());
    let mut pieces = Vec::new();
    speller.pieces(element, options, &mut |piece| pieces.push(piece))?;
    let mut images = Vec::new();
    for piece in &pieces {
        match piece {
            Piece::Media(Media::Data { kind: Kind::Image, base64, .. }) => images.push(base64),
            // A file of text is a text by now.
            Piece::Media(Media::Text(_)) | Piece::Element(_) | Piece::Text(_) => {}
            Piece::Media(Media::Url { .. }) => {
                let hint = "attach the picture itself, as a `data:` address";
                return Err(unsupported("ollama", "address of a picture or file", hint));
            }
            Piece::Media(Media::Data { kind: Kind::Document, .. }) => {
                return Err(unsupported("ollama", "file", "attach its text instead"));
            }
        }
    }
    writer.key("content");
    writer.text(|sink| {
        let mut before = "\n\n";
        for piece in &pieces {
            match piece {
                Piece::Element(element) => speller.write(sink, element),
                Piece::Text(text) => {
                    // Texts that are parts of their own for others have a blank line between them here.
                    sink.put_all(&[if before.ends_with("\n\n") { "" } else { "\n\n" }, text]);
                    before = text;
                }
                Piece::Media(_) => {}
            }
        }
    });
    if !images.is_empty() {
        writer.key("images");
        writer.list(|writer| images.iter().for_each(|image| writer.string(image)));
    }
    Ok(())
}
