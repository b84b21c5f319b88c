//! Anthropic's messages: a separate system text, alternating turns, and marks for the prompt cache.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{
    RequestOptions, TurnRule,
    body::Body,
    conversation::{
        Conversation, Grouping, Speaker, Turn, Turns, is_blank_text, starts_with_text, unchanged_items,
    },
    dialect::{Dialect, ElementWriter, Piece, is_text},
    media::{Kind, Media, media_only_from_user, unsupported_error},
    parts::{check_results, has_place, note_messages},
    request::Notes,
    schema,
};
use crate::{
    Attachment, CacheHint, CompiledPrompt, Element, Error, Message, MessageFormat, MessagePart, PartContent,
    Role,
    format::{Sink, fence},
    json::{self, Writer},
    message::{ToolResult, ToolValue},
};

/// The format of the messages.
const FORMAT: MessageFormat = MessageFormat::Anthropic;

/// Most tokens of an answer by default: the API requires a number.
const MAX_TOKENS: u64 = 4096;

pub(super) fn write_request(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::from_prompt(prompt);
    check_results(conversation.messages(), FORMAT)?;
    note_messages(conversation.messages(), FORMAT, &mut notes);
    let element_writer = ElementWriter::new(Dialect::Tags, &conversation);
    let grouping = Grouping::new(options, TurnRule::Alternate, FORMAT).with_two_sides();
    let conversation = Turns::from_conversation(conversation, grouping);
    let schema = prompt.schema();
    let native = schema.filter(|_| supports_schemas(options)).and_then(schema::to_anthropic);
    let request = Request {
        element_writer: &element_writer,
        options,
        marks: Marks::for_conversation(&conversation, options),
        in_words: schema.filter(|_| native.is_none()).map(schema_in_words),
    };
    Body::write(writer, options, |body| {
        body.set_model();
        body.set_some("max_tokens", Some(options.max_tokens.unwrap_or(MAX_TOKENS)));
        if !conversation.rules.is_empty() || request.in_words.is_some() {
            body.try_set("system", |writer| request.write_system(&conversation.rules, writer))?;
        }
        body.try_set("messages", |writer| request.write_messages(&conversation, writer))?;
        if let Some(schema) = &native {
            body.set("output_config", |writer| write_output_format(schema, writer));
        }
        body.set_some("temperature", options.temperature);
        body.set_some("top_p", options.top_p);
        body.set_some("top_k", options.top_k);
        body.set_stop("stop_sequences");
        body.set_some("stream", options.stream);
        if !options.tools.is_empty() {
            body.set("tools", |writer| write_tools(options, writer));
        }
        Ok(())
    })?;
    if options.seed.is_some() {
        notes.add("anthropic does not support `seed`");
    }
    conversation.add_notes("anthropic", &mut notes);
    if conversation.ends_in_white_space() {
        notes.add("anthropic does not accept white space at the end of the last answer; it is removed");
    }
    Ok(notes)
}

/// Whether the model supports output schemas; older models do not.
fn supports_schemas(options: &RequestOptions) -> bool {
    const WITHOUT: [&str; 7] = [
        "claude-instant",
        "claude-2",
        "claude-3",
        "claude-opus-4-2025",
        "claude-opus-4-0",
        "claude-sonnet-4-2025",
        "claude-sonnet-4-0",
    ];
    let model = options.model.as_deref().unwrap_or_default();
    !WITHOUT.iter().any(|name| model.contains(name))
}

/// The schema as an instruction, for models without output schemas.
fn schema_in_words(schema: &Value) -> String {
    let schema = json::to_pretty_string(schema);
    let fence = fence(&schema);
    format!(
        "Answer with JSON alone, without any other text, that follows this JSON Schema:\n\n{fence}json\n{schema}\n{fence}"
    )
}

fn write_output_format(schema: &Value, writer: &mut Writer) {
    writer.write_object(|writer| {
        writer.write_key("format");
        writer.write_object(|writer| {
            writer.write_field("type", "json_schema");
            writer.write_value_field("schema", schema);
        });
    });
}

fn write_tools(options: &RequestOptions, writer: &mut Writer) {
    writer.write_list(|writer| {
        for tool in &options.tools {
            writer.write_object(|writer| {
                writer.write_field("name", &tool.name);
                writer.write_field("description", &tool.description);
                writer.write_value_field("input_schema", &tool.parameters);
            });
        }
    });
}

/// The number of leading elements that never change: the last of them gets the cache mark.
#[derive(Default)]
struct Marks {
    rules: usize,
    turns: usize,
}

impl Marks {
    fn for_conversation(conversation: &Turns<'_>, options: &RequestOptions) -> Self {
        if options.without_cache_marks {
            return Self::default();
        }
        let stays = |element: &Element| element.cache_hint() <= CacheHint::Static;
        let rules = conversation.rules.iter().take_while(|element| stays(element)).count();
        let turns = if rules == conversation.rules.len() {
            conversation.elements.iter().take_while(|turn| stays(turn.element)).count()
        } else {
            // A cache stores the start of a request: nothing after a change can be reused.
            0
        };
        Self { rules, turns }
    }
}

struct Request<'r> {
    element_writer: &'r ElementWriter,
    options: &'r RequestOptions,
    marks: Marks,
    in_words: Option<String>,
}

/// The author of a block.
#[derive(Clone, Copy)]
enum Author {
    Rules,
    User,
    Model,
}

impl Author {
    /// Only the user can attach images and files.
    fn check_media(self) -> Result<(), Error> {
        match self {
            Self::User => Ok(()),
            Self::Rules => Err(media_only_from_user("anthropic", "in the instructions")),
            Self::Model => Err(media_only_from_user("anthropic", "from the assistant")),
        }
    }
}

/// How a block ends.
#[derive(Clone, Copy)]
struct End {
    /// Whether another text follows; a blank line separates them.
    more: bool,
    /// Whether the cache stores everything up to this block.
    marked: bool,
    /// Whether white space at the end is removed.
    trimmed: bool,
}

impl End {
    const PLAIN: Self = Self { more: false, marked: false, trimmed: false };

    /// The end of a block that is the last one of its element, or not.
    fn for_block(self, is_last: bool) -> Self {
        if is_last { self } else { Self::PLAIN }
    }
}

impl Request<'_> {
    fn write_system(&self, rules: &[&Element], writer: &mut Writer) -> Result<(), Error> {
        let count = rules.len() + usize::from(self.in_words.is_some());
        writer.write_list(|writer| {
            for (index, element) in rules.iter().enumerate() {
                let end =
                    End { more: index + 1 < count, marked: index + 1 == self.marks.rules, ..End::PLAIN };
                self.write_element(element, Author::Rules, end, writer)?;
            }
            if let Some(text) = &self.in_words {
                writer.write_object(|writer| write_text_block(writer, End::PLAIN, |sink| sink.put(text)));
            }
            Ok(())
        })
    }

    fn write_messages(&self, turns: &Turns<'_>, writer: &mut Writer) -> Result<(), Error> {
        let (mut first, count) = (0, turns.elements.len());
        let trims = turns.ends_in_white_space();
        writer.write_list(|writer| {
            turns.write_opening(writer);
            turns.iter().try_for_each(|(speaker, elements)| {
                let start = first;
                first += elements.len();
                let trimmed = trims && first == count;
                if let Some(items) = unchanged_items(elements, FORMAT).filter(|_| !trimmed) {
                    items.iter().for_each(|item| writer.write_source(item));
                    return Ok(());
                }
                writer.write_object(|writer| {
                    writer.write_raw_fields(match speaker {
                        Speaker::Model => r#""role":"assistant","content":"#,
                        Speaker::System => r#""role":"system","content":"#,
                        Speaker::User | Speaker::Tool => r#""role":"user","content":"#,
                    });
                    self.write_turn(speaker, elements, (start, trimmed), writer)
                })
            })
        })
    }

    /// Writes the blocks of a turn; `start` is the index of its first element.
    fn write_turn(
        &self,
        speaker: Speaker,
        elements: &[Turn<'_>],
        (start, trimmed): (usize, bool),
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let author = match speaker {
            Speaker::Model => Author::Model,
            Speaker::User | Speaker::Tool => Author::User,
            Speaker::System => Author::Rules,
        };
        writer.write_list(|writer| {
            elements.iter().enumerate().try_for_each(|(index, turn)| {
                let next = elements.get(index + 1);
                let end = End {
                    more: next.is_some_and(|next| starts_with_text(next.element)),
                    marked: start + index + 1 == self.marks.turns,
                    trimmed: trimmed && next.is_none(),
                };
                self.write_element(turn.element, author, end, writer)
            })
        })
    }

    /// Writes the blocks of one element.
    fn write_element(
        &self,
        element: &Element,
        author: Author,
        end: End,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        if is_text(element) {
            writer.write_object(|writer| self.write_text_element(element, end, writer));
            return Ok(());
        }
        match element {
            Element::Message(message) => self.write_parts(message, author, end, writer),
            element => {
                let mut pieces = Vec::new();
                self.element_writer.split_pieces(element, self.options, &mut |piece| pieces.push(piece))?;
                self.write_pieces(&pieces, author, end, writer)
            }
        }
    }

    fn write_text_element(&self, element: &Element, end: End, writer: &mut Writer) {
        match element {
            Element::Message(message) if end.trimmed => {
                let text = message.as_text().unwrap_or_default();
                write_text_block(writer, end, |sink| sink.put(trim_answer(text)));
            }
            element => {
                write_text_block(writer, end, |sink| self.element_writer.write_element(sink, element));
            }
        }
    }

    /// Writes a block for each part of a message.
    fn write_parts(
        &self,
        message: &Message,
        author: Author,
        end: End,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let parts: Vec<&MessagePart> = message.parts().iter().filter(|part| is_written(part)).collect();
        for (index, part) in parts.iter().enumerate() {
            let end = end.for_block(index + 1 == parts.len());
            if let Some(value) = part.value_in(FORMAT).filter(|value| value.is_object()) {
                writer.write_source(&edit_text(value, end));
                continue;
            }
            match part.content() {
                PartContent::Attachment(Attachment::Text(text)) | PartContent::Refusal(text) => {
                    let text = if end.trimmed { trim_answer(text) } else { text };
                    writer.write_object(|writer| write_text_block(writer, end, |sink| sink.put(text)));
                }
                PartContent::Attachment(attachment) => {
                    let pieces = self.element_writer.attachment_pieces([attachment], self.options)?;
                    self.write_pieces(&pieces, author, end, writer)?;
                }
                PartContent::ToolCall(call) => writer.write_object(|writer| {
                    writer.write_field("type", "tool_use");
                    writer.write_field("id", &allowed_id(&call.id));
                    writer.write_field("name", &call.name);
                    writer.write_value_field("input", &call.arguments_object());
                    write_cache_mark(writer, end.marked);
                }),
                PartContent::ToolResult(result) => {
                    writer.write_object(|writer| self.write_tool_result(result, end, writer))?;
                }
                // These are written above, or have no place here.
                PartContent::Reasoning(_) | PartContent::Other(_) => {}
            }
        }
        Ok(())
    }

    fn write_pieces(
        &self,
        pieces: &[Piece<'_>],
        author: Author,
        end: End,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        if pieces.iter().any(Piece::is_media) {
            author.check_media()?;
        }
        for (index, piece) in pieces.iter().enumerate() {
            let end = end.for_block(index + 1 == pieces.len());
            writer.write_object(|writer| match piece {
                Piece::Element(element) => {
                    write_text_block(writer, end, |sink| self.element_writer.write_element(sink, element));
                    Ok(())
                }
                Piece::Text(text) => {
                    write_text_block(writer, end, |sink| sink.put(text));
                    Ok(())
                }
                Piece::Media(media) => write_media_block(media, end, writer),
            })?;
        }
        Ok(())
    }

    fn write_tool_result(&self, result: &ToolResult, end: End, writer: &mut Writer) -> Result<(), Error> {
        writer.write_field("type", "tool_result");
        writer.write_field("tool_use_id", &allowed_id(&result.call_id));
        writer.write_key("content");
        match &result.value {
            ToolValue::Parts { parts, .. } => writer.write_list(|writer| {
                let pieces = self.element_writer.attachment_pieces(parts, self.options)?;
                self.write_pieces(&pieces, Author::User, End::PLAIN, writer)
            })?,
            value => writer.write_string(&value.to_text()),
        }
        if result.value.is_error() {
            writer.write_value_field("is_error", &Value::Bool(true));
        }
        write_cache_mark(writer, end.marked);
        Ok(())
    }
}

impl Turns<'_> {
    /// Whether the last turn is an answer that ends in white space, which Anthropic rejects.
    fn ends_in_white_space(&self) -> bool {
        let Some(message) = self.elements.last().and_then(Turn::message) else { return false };
        let last = match message.as_text() {
            Some(text) => Some(text),
            None => message.parts().iter().rfind(|part| is_written(part)).and_then(MessagePart::as_text),
        };
        message.role() == Role::Assistant && last.is_some_and(|text| trim_answer(text) != text)
    }
}

/// A block in Anthropic's format, with the end that its text needs here.
fn edit_text(block: &Value, end: End) -> Cow<'_, Value> {
    match block.get("text").and_then(Value::as_str) {
        Some(text) if end.more || end.trimmed => {
            let text = if end.trimmed { trim_answer(text).to_owned() } else { format!("{text}\n\n") };
            let mut block = block.clone();
            block["text"] = text.into();
            Cow::Owned(block)
        }
        _ => Cow::Borrowed(block),
    }
}

fn trim_answer(text: &str) -> &str {
    text.trim_end_matches(|character: char| character.is_whitespace() || character == '\u{feff}')
}

/// Whether a part of a message becomes a block; empty texts are refused.
fn is_written(part: &MessagePart) -> bool {
    match part.content() {
        PartContent::Attachment(Attachment::Text(text)) | PartContent::Refusal(text) => {
            !is_blank_text(text) || part.value_in(FORMAT).is_some()
        }
        _ => has_place(part, FORMAT),
    }
}

/// An id of a tool call with only the characters that Anthropic accepts.
fn allowed_id(id: &str) -> String {
    let allowed = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
        _ => '_',
    };
    id.chars().map(allowed).collect()
}

fn write_text_block<S>(writer: &mut Writer, end: End, text: S)
where
    S: FnOnce(&mut json::Escaped<'_>),
{
    writer.write_raw_fields(r#""type":"text","text":"#);
    writer.write_text(|sink| {
        text(sink);
        if end.more {
            sink.put_known("\n\n", "\\n\\n");
        }
    });
    write_cache_mark(writer, end.marked);
}

fn write_cache_mark(writer: &mut Writer, marked: bool) {
    if marked {
        writer.write_key("cache_control");
        writer.write_object(|writer| writer.write_field("type", "ephemeral"));
    }
}

fn write_media_block(media: &Media<'_>, end: End, writer: &mut Writer) -> Result<(), Error> {
    let kind = |kind: &Kind| match kind {
        Kind::Image => "image",
        Kind::Audio | Kind::Document => "document",
    };
    match media {
        Media::Text(text) => {
            write_text_block(writer, end, |sink| sink.put(text));
            return Ok(());
        }
        Media::Url { kind: Kind::Audio, .. } | Media::Data { kind: Kind::Audio, .. } => {
            return Err(unsupported_error("anthropic", "sounds", "attach a transcript instead"));
        }
        Media::Url { kind: of, url, .. } => {
            writer.write_field("type", kind(of));
            writer.write_value_field("source", &json!({"type": "url", "url": url}));
        }
        Media::Data { kind: Kind::Document, mime, .. } if mime != "application/pdf" => {
            let hint = "attach it as PDF or as text";
            return Err(unsupported_error("anthropic", &format!("a file of type {mime}"), hint));
        }
        Media::Data { kind: of, mime, base64, name } => {
            writer.write_field("type", kind(of));
            writer.write_key("source");
            writer.write_object(|writer| {
                writer.write_field("type", "base64");
                writer.write_field("media_type", mime);
                writer.write_field("data", base64);
            });
            if *of == Kind::Document {
                writer.write_field("title", name);
            }
        }
    }
    write_cache_mark(writer, end.marked);
    Ok(())
}
