//! Anthropic's messages: a separate system text, alternating turns, and marks for the prompt cache.

use serde_json::{Value, json};

use super::{
    RequestOptions,
    body::Body,
    conversation::{Alternating, Conversation, OPENING, Side, is_blank},
    dialect::{Dialect, ElementWriter, Piece, has_parts},
    media::{Kind, Media, media_only_from_user, unsupported_error},
    request::Notes,
    schema,
};
use crate::{
    CacheHint, CompiledPrompt, Element, Error,
    format::{Sink, fence, write_result},
    json::{self, Writer},
    message::{Said, ToolResult, ToolValue},
};

/// Most tokens of an answer by default: the API requires a number.
const MAX_TOKENS: u64 = 4096;

pub(super) fn write_request(
    prompt: &CompiledPrompt,
    options: &RequestOptions,
    writer: &mut Writer,
) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let conversation = Conversation::from_prompt(prompt);
    let element_writer = ElementWriter::new(Dialect::Tags, &conversation);
    let conversation = Alternating::from_conversation(conversation);
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
    for _ in 0..conversation.left_out {
        notes.add("anthropic does not accept empty text");
    }
    for element in conversation.told.iter().chain(&conversation.rules) {
        if let Element::Message(message) = element
            && message.name.is_some()
            && !matches!(message.said, Said::Tool(_))
        {
            notes.add("anthropic does not support speaker names");
        }
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
    fn for_conversation(conversation: &Alternating<'_>, options: &RequestOptions) -> Self {
        if options.without_cache_marks {
            return Self::default();
        }
        let stays = |element: &&&Element| element.cache_hint() <= CacheHint::Static;
        let rules = conversation.rules.iter().take_while(stays).count();
        let turns = if rules == conversation.rules.len() {
            conversation.told.iter().take_while(stays).count()
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

/// The speaker of a block.
#[derive(Clone, Copy)]
enum Speaker {
    Rules,
    User,
    Model,
}

impl Speaker {
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
    /// Whether another block follows; a blank line separates their texts.
    more: bool,
    /// Whether the cache stores everything up to this block.
    marked: bool,
}

impl Request<'_> {
    fn write_system(&self, rules: &[&Element], writer: &mut Writer) -> Result<(), Error> {
        let count = rules.len() + usize::from(self.in_words.is_some());
        writer.write_list(|writer| {
            for (index, element) in rules.iter().enumerate() {
                let end = End { more: index + 1 < count, marked: index + 1 == self.marks.rules };
                self.write_element(element, Speaker::Rules, end, writer)?;
            }
            if let Some(text) = &self.in_words {
                writer.write_object(|writer| {
                    write_text_block(writer, End { more: false, marked: false }, |sink| sink.put(text));
                });
            }
            Ok(())
        })
    }

    fn write_messages(&self, conversation: &Alternating<'_>, writer: &mut Writer) -> Result<(), Error> {
        let mut told = 0;
        writer.write_list(|writer| {
            if conversation.needs_opening() {
                writer.write_object(|writer| {
                    writer.write_field("role", "user");
                    writer.write_field("content", OPENING);
                });
            }
            conversation.turns().try_for_each(|(side, elements)| {
                writer.write_object(|writer| {
                    writer.write_raw_fields(match side {
                        Side::User => r#""role":"user","content":"#,
                        Side::Model => r#""role":"assistant","content":"#,
                    });
                    let first = told;
                    told += elements.len();
                    self.write_turn(elements, side, first, writer)
                })
            })
        })
    }

    fn write_turn(
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
        writer.write_list(|writer| {
            elements.iter().enumerate().try_for_each(|(index, element)| {
                let end =
                    End { more: index + 1 < elements.len(), marked: first + index + 1 == self.marks.turns };
                self.write_element(element, speaker, end, writer)
            })
        })
    }

    /// Writes the blocks of one element.
    fn write_element(
        &self,
        element: &Element,
        speaker: Speaker,
        end: End,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        if let Element::Message(message) = element {
            match &message.said {
                Said::Tool(result) => {
                    writer.write_object(|writer| write_tool_result(result, end, writer));
                    return Ok(());
                }
                Said::Assistant(content, calls) if !calls.is_empty() => {
                    if !is_blank(content) {
                        self.write_blocks(element, speaker, End { more: true, marked: false }, writer)?;
                    }
                    for (index, call) in calls.iter().enumerate() {
                        writer.write_object(|writer| {
                            writer.write_field("type", "tool_use");
                            writer.write_field("id", &call.id);
                            writer.write_field("name", &call.name);
                            writer.write_value_field("input", &call.arguments);
                            write_cache_mark(writer, end.marked && index + 1 == calls.len());
                        });
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        self.write_blocks(element, speaker, end, writer)
    }

    fn write_blocks(
        &self,
        element: &Element,
        speaker: Speaker,
        end: End,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        if !has_parts(element) {
            writer.write_object(|writer| {
                write_text_block(writer, end, |sink| self.element_writer.write_element(sink, element));
            });
            return Ok(());
        }
        let mut pieces = Vec::new();
        self.element_writer.split_pieces(element, self.options, &mut |piece| pieces.push(piece))?;
        if pieces.iter().any(Piece::is_media) {
            speaker.check_media()?;
        }
        let count = pieces.len();
        for (index, piece) in pieces.iter().enumerate() {
            let last = index + 1 == count;
            let end = End { more: end.more && last, marked: end.marked && last };
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

fn write_tool_result(result: &ToolResult, end: End, writer: &mut Writer) {
    writer.write_field("type", "tool_result");
    writer.write_field("tool_use_id", &result.call_id);
    writer.write_key("content");
    writer.write_text(|sink| write_result(sink, result));
    if matches!(result.value, ToolValue::Error(_)) {
        writer.write_value_field("is_error", &Value::Bool(true));
    }
    write_cache_mark(writer, end.marked);
}

fn write_media_block(media: &Media<'_>, end: End, writer: &mut Writer) -> Result<(), Error> {
    let kind = |kind: &Kind| match kind {
        Kind::Image => "image",
        Kind::Document => "document",
    };
    match media {
        Media::Text(text) => {
            write_text_block(writer, end, |sink| sink.put(text));
            return Ok(());
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
