//! OpenAI's responses: separate instructions, then one item for each element.

use serde_json::{Value, json};

use super::{
    RequestOptions, TurnRule,
    body::Body,
    conversation::{Conversation, Grouping, Speaker, Turn, Turns, is_blank_text},
    dialect::{Dialect, ElementWriter, Piece},
    media::{Kind, Media, media_only_from_user, unsupported_error},
    openai::arguments_text,
    parts::{check_results, note_messages},
    request::Notes,
    schema::{self, OpenAiSchema},
};
use crate::{
    Attachment, CompiledPrompt, Element, Error, Message, MessageFormat, MessagePart, PartContent, Role,
    format::Sink,
    json::Writer,
    message::{ToolCall, ToolResult, ToolValue},
};

/// The format of the items.
const FORMAT: MessageFormat = MessageFormat::OpenAiResponses;

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
    let conversation = Turns::from_conversation(conversation, Grouping::new(options, TurnRule::AsIs, FORMAT));
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
                conversation.write_opening(writer);
                conversation
                    .iter()
                    .try_for_each(|(speaker, elements)| request.write_turn(speaker, elements, writer))
            })
        })?;
        let schema =
            prompt.schema().and_then(|schema| OpenAiSchema::new(schema, "openai-responses", &mut notes));
        if let Some(schema) = schema {
            body.set("text", |writer| {
                writer.write_object(|writer| {
                    writer.write_key("format");
                    writer.write_object(|writer| schema.write(false, writer));
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
    conversation.add_notes("openai-responses", &mut notes);
    add_option_notes(options, &mut notes);
    Ok(notes)
}

fn add_option_notes(options: &RequestOptions, notes: &mut Notes) {
    for (given, what) in [
        (options.top_k.is_some(), "openai-responses does not support `top_k`"),
        (options.seed.is_some(), "openai-responses does not support `seed`"),
        (!options.stop.is_empty(), "openai-responses does not support stop sequences"),
    ] {
        if given {
            notes.add(what);
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
                rules.iter().try_for_each(|element| {
                    if self.write_element_parts(element, writer)? == 0 {
                        write_text_part("", writer);
                    }
                    Ok(())
                })
            })
        })
    }

    /// Writes the items of one turn: reasoning and results of tools, what the speaker says, then calls.
    fn write_turn(&self, speaker: Speaker, elements: &[Turn<'_>], writer: &mut Writer) -> Result<(), Error> {
        if let [turn] = elements
            && let Some(items) = turn.message().and_then(|message| message.items_in(FORMAT))
        {
            items.iter().for_each(|item| writer.write_source(item));
            return Ok(());
        }
        let parts = || elements.iter().filter_map(Turn::message).flat_map(Message::parts);
        let (before, after): (Vec<&MessagePart>, Vec<&MessagePart>) =
            parts().filter(|part| is_item(part)).partition(|part| comes_first(part));
        before.iter().try_for_each(|part| self.write_item(part, writer))?;
        if elements.iter().any(|turn| says_something(turn.element)) || (before.is_empty() && after.is_empty())
        {
            self.write_message(speaker.role(), elements, writer)?;
        }
        after.iter().try_for_each(|part| self.write_item(part, writer))
    }

    fn write_message(&self, role: Role, elements: &[Turn<'_>], writer: &mut Writer) -> Result<(), Error> {
        if role == Role::Assistant {
            return elements.iter().try_for_each(|turn| self.write_answer(turn.element, writer));
        }
        writer.write_object(|writer| {
            writer.write_field("role", role.name());
            writer.write_key("content");
            writer.write_list(|writer| {
                let mut count = 0;
                for turn in elements {
                    count += self.write_element_parts(turn.element, writer)?;
                }
                if count == 0 {
                    // At least one part is required, even if all texts are empty.
                    write_text_part("", writer);
                }
                Ok(())
            })
        })
    }

    /// Writes what the model said as one message for each text: only OpenAI's own answers, which have ids, can have parts.
    fn write_answer(&self, element: &Element, writer: &mut Writer) -> Result<(), Error> {
        let mut write_text = |text: &str| {
            writer.write_object(|writer| {
                writer.write_field("role", "assistant");
                writer.write_field("content", text);
            });
        };
        let Element::Message(message) = element else { return Ok(()) };
        if let Some(text) = message.as_text() {
            write_text(text);
            return Ok(());
        }
        for part in message.parts().iter().filter(|part| !is_item(part)) {
            match part.content() {
                PartContent::Attachment(Attachment::Text(text)) | PartContent::Refusal(text)
                    if !is_blank_text(text) =>
                {
                    write_text(text);
                }
                PartContent::Attachment(Attachment::Text(_)) => {}
                PartContent::Attachment(_) => {
                    return Err(media_only_from_user("openai-responses", "from the assistant"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes a part that is an item of its own.
    fn write_item(&self, part: &MessagePart, writer: &mut Writer) -> Result<(), Error> {
        if let Some(item) = part.value_in(FORMAT) {
            writer.write_source(item);
            return Ok(());
        }
        match part.content() {
            PartContent::ToolCall(call) => write_function_call(call, writer),
            PartContent::ToolResult(result) => {
                writer.write_object(|writer| self.write_output(result, writer))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn write_output(&self, result: &ToolResult, writer: &mut Writer) -> Result<(), Error> {
        writer.write_field("type", "function_call_output");
        writer.write_field("call_id", &result.call_id);
        writer.write_key("output");
        match &result.value {
            ToolValue::Parts { parts, .. } => writer.write_list(|writer| {
                let pieces = self.element_writer.attachment_pieces(parts, self.options)?;
                self.write_pieces(&pieces, writer).map(drop)
            }),
            value => {
                writer.write_string(&value.to_text());
                Ok(())
            }
        }
    }

    /// Writes the content of an element as parts; returns their number.
    fn write_element_parts(&self, element: &Element, writer: &mut Writer) -> Result<usize, Error> {
        let mut pieces = Vec::new();
        let Element::Message(message) = element else {
            self.element_writer.split_pieces(element, self.options, &mut |piece| pieces.push(piece))?;
            return self.write_pieces(&pieces, writer);
        };
        if message.as_text().is_some() {
            return self.write_pieces(&[Piece::Element(element)], writer);
        }
        let mut count = 0;
        for part in message.parts().iter().filter(|part| !is_item(part)) {
            if let Some(value) = part.value_in(FORMAT).filter(|value| value.is_object()) {
                writer.write_source(value);
                count += 1;
                continue;
            }
            if let PartContent::Attachment(attachment) = part.content() {
                pieces.clear();
                let mut take = |piece| pieces.push(piece);
                self.element_writer.push_attachment(attachment, self.options, &mut take)?;
                count += self.write_pieces(&pieces, writer)?;
            }
        }
        Ok(count)
    }

    fn write_pieces(&self, pieces: &[Piece<'_>], writer: &mut Writer) -> Result<usize, Error> {
        pieces.iter().try_for_each(|piece| {
            writer.write_object(|writer| match piece {
                Piece::Element(element) => {
                    writer.write_field("type", "input_text");
                    writer.write_key("text");
                    writer.write_text(|sink| self.element_writer.write_element(sink, element));
                    Ok(())
                }
                Piece::Text(text) => {
                    writer.write_field("type", "input_text");
                    writer.write_field("text", text);
                    Ok(())
                }
                Piece::Media(media) => write_media_part(media, writer),
            })
        })?;
        Ok(pieces.len())
    }
}

fn write_text_part(text: &str, writer: &mut Writer) {
    writer.write_object(|writer| {
        writer.write_field("type", "input_text");
        writer.write_field("text", text);
    });
}

/// Whether a part is an item of its own, beside messages.
fn is_item(part: &MessagePart) -> bool {
    match part.content() {
        PartContent::ToolCall(_) | PartContent::ToolResult(_) => true,
        PartContent::Reasoning(_) => part.is_from(FORMAT),
        PartContent::Other(_) => part.value_in(FORMAT).is_some_and(|item| !is_content_part(item)),
        PartContent::Attachment(_) | PartContent::Refusal(_) => false,
    }
}

/// Whether a value of a document is a part of a message, not an item.
fn is_content_part(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str).is_some_and(|kind| kind.starts_with("input_"))
}

/// Whether an item precedes what its speaker says.
fn comes_first(part: &MessagePart) -> bool {
    matches!(part.content(), PartContent::Reasoning(_) | PartContent::ToolResult(_))
}

/// Whether an element has text, images or files.
fn says_something(element: &Element) -> bool {
    let Element::Message(message) = element else { return true };
    message.as_text().is_some()
        || message.parts().iter().filter(|part| !is_item(part)).any(|part| match part.content() {
            PartContent::Attachment(Attachment::Text(text)) => !is_blank_text(text),
            PartContent::Attachment(_) | PartContent::Refusal(_) => true,
            _ => part.is_from(FORMAT),
        })
}

fn write_function_call(call: &ToolCall, writer: &mut Writer) {
    writer.write_object(|writer| {
        writer.write_field("type", "function_call");
        writer.write_field("call_id", &call.id);
        writer.write_field("name", &call.name);
        writer.write_field("arguments", &arguments_text(call));
    });
}

fn write_media_part(media: &Media<'_>, writer: &mut Writer) -> Result<(), Error> {
    match media {
        Media::Data { kind: Kind::Audio, .. } | Media::Url { kind: Kind::Audio, .. } => {
            let hint = "attach a transcript instead, or use the driver `openai`";
            return Err(unsupported_error("openai-responses", "sounds", hint));
        }
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
    Ok(())
}

fn write_image(url: &str, writer: &mut Writer) {
    writer.write_field("type", "input_image");
    writer.write_field("image_url", url);
    writer.write_field("detail", "auto");
}
