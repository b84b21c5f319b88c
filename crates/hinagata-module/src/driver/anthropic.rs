//! Messages of Anthropic: the rules apart, turns that alternate, and marks for the prompt cache.

use serde_json::{Value, json};

use super::{
    RequestOptions,
    body::Body,
    conversation::{Alternating, Conversation, OPENING, Side, is_blank},
    dialect::{Dialect, Piece, Speller, has_parts},
    media::{Kind, Media, not_the_persons, unsupported},
    request::Notes,
    schema,
};
use crate::{
    CacheHint, CompiledPrompt, Element, Error,
    format::{Sink, fence, write_result},
    json::{self, Writer},
    message::{Said, ToolResult, ToolValue},
};

/// Most tokens of an answer where the caller does not say: the API wants a number.
const MAX_TOKENS: u64 = 4096;

pub(super) fn write(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::of(prompt);
    let speller = Speller::new(Dialect::Tags, &conversation);
    let conversation = Alternating::of(conversation);
    let schema = prompt.schema();
    let native = schema.filter(|_| has_schemas(options)).and_then(schema::anthropic);
    let request = Request {
        speller: &speller,
        options,
        marks: Marks::of(&conversation, options),
        in_words: schema.filter(|_| native.is_none()).map(in_words),
    };
    Body::write(writer, options, |body| {
        body.model();
        body.set_some("max_tokens", Some(options.max_tokens.unwrap_or(MAX_TOKENS)));
        if !conversation.rules.is_empty() || request.in_words.is_some() {
            body.try_set("system", |writer| request.system(&conversation.rules, writer))?;
        }
        body.try_set("messages", |writer| request.messages(&conversation, writer))?;
        if let Some(schema) = &native {
            body.set("output_config", |writer| output_format(schema, writer));
        }
        body.set_some("temperature", options.temperature);
        body.set_some("top_p", options.top_p);
        body.set_some("top_k", options.top_k);
        body.set_stop("stop_sequences");
        body.set_some("stream", options.stream);
        if !options.tools.is_empty() {
            body.set("tools", |writer| tools(options, writer));
        }
        Ok(())
    })?;
    if options.seed.is_some() {
        notes.add("anthropic has no `seed`");
    }
    for _ in 0..conversation.left_out {
        notes.add("anthropic takes no empty text");
    }
    for element in conversation.told.iter().chain(&conversation.rules) {
        if let Element::Message(message) = element
            && message.name.is_some()
            && !matches!(message.said, Said::Tool(_))
        {
            notes.add("anthropic has no names of speakers");
        }
    }
    Ok(notes)
}

/// Whether the model can be held to a schema; those before could not.
fn has_schemas(options: &RequestOptions) -> bool {
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

/// The schema told in words, for models that cannot be held to it.
fn in_words(schema: &Value) -> String {
    let schema = json::pretty(schema);
    let fence = fence(&schema);
    format!(
        "Answer with JSON alone, without any other text, that follows this JSON Schema:\n\n{fence}json\n{schema}\n{fence}"
    )
}

fn output_format(schema: &Value, writer: &mut Writer) {
    writer.object(|writer| {
        writer.key("format");
        writer.object(|writer| {
            writer.field("type", "json_schema");
            writer.value_field("schema", schema);
        });
    });
}

fn tools(options: &RequestOptions, writer: &mut Writer) {
    writer.list(|writer| {
        for tool in &options.tools {
            writer.object(|writer| {
                writer.field("name", &tool.name);
                writer.field("description", &tool.description);
                writer.value_field("input_schema", &tool.parameters);
            });
        }
    });
}

/// How many elements from the start never change: the last of them carries the mark for the cache.
#[derive(Default)]
struct Marks {
    rules: usize,
    turns: usize,
}

impl Marks {
    fn of(conversation: &Alternating<'_>, options: &RequestOptions) -> Self {
        if options.without_cache_marks {
            return Self::default();
        }
        let stays = |element: &&&Element| element.cache_hint() <= CacheHint::Static;
        let rules = conversation.rules.iter().take_while(stays).count();
        let turns = if rules == conversation.rules.len() {
            conversation.told.iter().take_while(stays).count()
        } else {
            // A cache holds what a request starts with: after a change nothing can be found again.
            0
        };
        Self { rules, turns }
    }
}

struct Request<'r> {
    speller: &'r Speller,
    options: &'r RequestOptions,
    marks: Marks,
    in_words: Option<String>,
}

/// Whose block it is.
#[derive(Clone, Copy)]
enum Speaker {
    Rules,
    User,
    Model,
}

impl Speaker {
    /// Only the person can show pictures and files.
    fn may_show(self) -> Result<(), Error> {
        match self {
            Self::User => Ok(()),
            Self::Rules => Err(not_the_persons("anthropic", "in the instructions")),
            Self::Model => Err(not_the_persons("anthropic", "of the assistant")),
        }
    }
}

/// How a block ends.
#[derive(Clone, Copy)]
struct End {
    /// Whether another block follows, from which a text is kept apart by a blank line.
    more: bool,
    /// Whether the cache may keep everything up to here.
    marked: bool,
}

impl Request<'_> {
    fn system(&self, rules: &[&Element], writer: &mut Writer) -> Result<(), Error> {
        let count = rules.len() + usize::from(self.in_words.is_some());
        writer.list(|writer| {
            for (index, element) in rules.iter().enumerate() {
                let end = End { more: index + 1 < count, marked: index + 1 == self.marks.rules };
                self.element(element, Speaker::Rules, end, writer)?;
            }
            if let Some(text) = &self.in_words {
                writer.object(|writer| {
                    text_block(writer, End { more: false, marked: false }, |sink| sink.put(text));
                });
            }
            Ok(())
        })
    }

    fn messages(&self, conversation: &Alternating<'_>, writer: &mut Writer) -> Result<(), Error> {
        let mut told = 0;
        writer.list(|writer| {
            if conversation.needs_opening() {
                writer.object(|writer| {
                    writer.field("role", "user");
                    writer.field("content", OPENING);
                });
            }
            conversation.turns().try_for_each(|(side, elements)| {
                writer.object(|writer| {
                    writer.fields(match side {
                        Side::User => r#""role":"user","content":"#,
                        Side::Model => r#""role":"assistant","content":"#,
                    });
                    let first = told;
                    told += elements.len();
                    self.turn(elements, side, first, writer)
                })
            })
        })
    }

    fn turn(
        &self,
        elements: &[&Element],
        side: Side,
        first: usize,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let speaker = match side {
            Side::User => Speaker::User,
            Side::Model => Speaker::Model,
        };
        writer.list(|writer| {
            elements.iter().enumerate().try_for_each(|(index, element)| {
                let end =
                    End { more: index + 1 < elements.len(), marked: first + index + 1 == self.marks.turns };
                self.element(element, speaker, end, writer)
            })
        })
    }

    /// The blocks of one element.
    fn element(
        &self,
        element: &Element,
        speaker: Speaker,
        end: End,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        if let Element::Message(message) = element {
            match &message.said {
                Said::Tool(result) => {
                    writer.object(|writer| tool_result(result, end, writer));
                    return Ok(());
                }
                Said::Assistant(content, calls) if !calls.is_empty() => {
                    if !is_blank(content) {
                        self.blocks(element, speaker, End { more: true, marked: false }, writer)?;
                    }
                    for (index, call) in calls.iter().enumerate() {
                        writer.object(|writer| {
                            writer.field("type", "tool_use");
                            writer.field("id", &call.id);
                            writer.field("name", &call.name);
                            writer.value_field("input", &call.arguments);
                            mark(writer, end.marked && index + 1 == calls.len());
                        });
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        self.blocks(element, speaker, end, writer)
    }

    fn blocks(
        &self,
        element: &Element,
        speaker: Speaker,
        end: End,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        if !has_parts(element) {
            writer.object(|writer| text_block(writer, end, |sink| self.speller.write(sink, element)));
            return Ok(());
        }
        let mut pieces = Vec::new();
        self.speller.pieces(element, self.options, &mut |piece| pieces.push(piece))?;
        if pieces.iter().any(Piece::is_media) {
            speaker.may_show()?;
        }
        let count = pieces.len();
        for (index, piece) in pieces.iter().enumerate() {
            let last = index + 1 == count;
            let end = End { more: end.more && last, marked: end.marked && last };
            writer.object(|writer| match piece {
                Piece::Element(element) => {
                    text_block(writer, end, |sink| self.speller.write(sink, element));
                    Ok(())
                }
                Piece::Text(text) => {
                    text_block(writer, end, |sink| sink.put(text));
                    Ok(())
                }
                Piece::Media(media) => media_block(media, end, writer),
            })?;
        }
        Ok(())
    }
}

fn text_block<S>(writer: &mut Writer, end: End, text: S)
where
    S: FnOnce(&mut json::Escaped<'_>),
{
    writer.fields(r#""type":"text","text":"#);
    writer.text(|sink| {
        text(sink);
        if end.more {
            sink.put_known("\n\n", "\\n\\n");
        }
    });
    mark(writer, end.marked);
}

fn mark(writer: &mut Writer, marked: bool) {
    if marked {
        writer.key("cache_control");
        writer.object(|writer| writer.field("type", "ephemeral"));
    }
}

fn tool_result(result: &ToolResult, end: End, writer: &mut Writer) {
    writer.field("type", "tool_result");
    writer.field("tool_use_id", &result.call_id);
    writer.key("content");
    writer.text(|sink| write_result(sink, result));
    if matches!(result.value, ToolValue::Error(_)) {
        writer.value_field("is_error", &Value::Bool(true));
    }
    mark(writer, end.marked);
}

fn media_block(media: &Media<'_>, end: End, writer: &mut Writer) -> Result<(), Error> {
    let kind = |kind: &Kind| match kind {
        Kind::Image => "image",
        Kind::Document => "document",
    };
    match media {
        Media::Text(text) => {
            text_block(writer, end, |sink| sink.put(text));
            return Ok(());
        }
        Media::Url { kind: of, url, .. } => {
            writer.field("type", kind(of));
            writer.value_field("source", &json!({"type": "url", "url": url}));
        }
        Media::Data { kind: Kind::Document, mime, .. } if mime != "application/pdf" => {
            let hint = "attach it as PDF or as text";
            return Err(unsupported("anthropic", &format!("file of type {mime}"), hint));
        }
        Media::Data { kind: of, mime, base64, name } => {
            writer.field("type", kind(of));
            writer.key("source");
            writer.object(|writer| {
                writer.field("type", "base64");
                writer.field("media_type", mime);
                writer.field("data", base64);
            });
            if *of == Kind::Document {
                writer.field("title", name);
            }
        }
    }
    mark(writer, end.marked);
    Ok(())
}
