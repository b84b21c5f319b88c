//! Ollama's `/api/chat`: one message for each element, with images beside the text.

use serde_json::{Map, Value, json};

use super::{
    DataRole, RequestOptions,
    body::Body,
    conversation::{Conversation, Turn},
    dialect::{Dialect, ElementWriter, Piece},
    media::{Kind, Media, unsupported_error},
    openai,
    request::Notes,
};
use crate::{
    CompiledPrompt, Element, Error, Message, Part, Role,
    format::{Sink, write_result},
    json::Writer,
    message::Said,
};

pub(super) fn write_request(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::from_prompt(prompt);
    let element_writer = ElementWriter::new(Dialect::Markdown, &conversation);
    Body::write(writer, options, |body| {
        body.set_model();
        body.try_set("messages", |writer| {
            writer.write_list(|writer| {
                for element in &conversation.rules {
                    writer.write_object(|writer| {
                        write_message(&element_writer, element, Role::System, options, writer)
                    })?;
                }
                conversation
                    .turns
                    .iter()
                    .try_for_each(|turn| write_turn(&element_writer, turn, options, writer))
            })
        })?;
        if let Some(schema) = prompt.schema() {
            body.set("format", |writer| writer.write_value(schema));
        }
        let settings = model_options(options);
        if !settings.is_empty() {
            body.set("options", |writer| writer.write_value(&Value::Object(settings)));
        }
        body.set_some("stream", options.stream);
        openai::write_tools(body, &options.tools);
        Ok(())
    })?;
    for message in conversation.turns.iter().filter_map(Turn::message) {
        if message.name.is_some() && !matches!(message.said, Said::Tool(_)) {
            notes.add("ollama does not support speaker names");
        }
    }
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

fn write_turn(
    element_writer: &ElementWriter,
    turn: &Turn<'_>,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    let role = match (turn.message(), turn.part, options.data_role) {
        (Some(message), ..) => message.role(),
        (None, Part::Data, DataRole::System) => Role::System,
        _ => Role::User,
    };
    writer.write_object(|writer| match turn.message() {
        Some(Message { said: Said::Tool(result), name, .. }) => {
            writer.write_field("role", "tool");
            if let Some(name) = name {
                writer.write_field("tool_name", name);
            }
            writer.write_key("content");
            writer.write_text(|sink| write_result(sink, result));
            Ok(())
        }
        Some(Message { said: Said::Assistant(_, calls), .. }) if !calls.is_empty() => {
            write_message(element_writer, turn.element, role, options, writer)?;
            writer.write_key("tool_calls");
            writer.write_list(|writer| {
                for call in calls {
                    writer.write_value(
                        &json!({"function": {"name": call.name.as_str(), "arguments": *call.arguments}}),
                    );
                }
            });
            Ok(())
        }
        _ => write_message(element_writer, turn.element, role, options, writer),
    })
}

/// Writes the role, the text and the images.
fn write_message(
    element_writer: &ElementWriter,
    element: &Element,
    role: Role,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<(), Error> {
    writer.write_field("role", role.name());
    let mut pieces = Vec::new();
    element_writer.split_pieces(element, options, &mut |piece| pieces.push(piece))?;
    let mut images = Vec::new();
    for piece in &pieces {
        match piece {
            Piece::Media(Media::Data { kind: Kind::Image, base64, .. }) => images.push(base64),
            // Text files are already texts here.
            Piece::Media(Media::Text(_)) | Piece::Element(_) | Piece::Text(_) => {}
            Piece::Media(Media::Url { .. }) => {
                let hint = "attach the image itself as a `data:` URL";
                return Err(unsupported_error("ollama", "the URL of an image or file", hint));
            }
            Piece::Media(Media::Data { kind: Kind::Document, .. }) => {
                return Err(unsupported_error("ollama", "files", "attach its text instead"));
            }
        }
    }
    writer.write_key("content");
    writer.write_text(|sink| {
        let mut before = "\n\n";
        for piece in &pieces {
            match piece {
                Piece::Element(element) => element_writer.write_element(sink, element),
                Piece::Text(text) => {
                    // Other drivers write these texts as separate parts; here a blank line separates them.
                    sink.put_all(&[if before.ends_with("\n\n") { "" } else { "\n\n" }, text]);
                    before = text;
                }
                Piece::Media(_) => {}
            }
        }
    });
    if !images.is_empty() {
        writer.write_key("images");
        writer.write_list(|writer| images.iter().for_each(|image| writer.write_string(image)));
    }
    Ok(())
}
