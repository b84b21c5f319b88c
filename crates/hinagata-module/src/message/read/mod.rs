//! Reads messages of any provider, by their shape.
//!
//! | file | reads |
//! |---|---|
//! | `detect` | which format a message has |
//! | `chat` | messages with `role` and `content`: OpenAI's, Anthropic's, Ollama's, MCP's, our own |
//! | `items` | the items of OpenAI's responses |
//! | `contents` | Gemini's contents |
//! | `part` | parts with `type`, in all formats |

mod chat;
mod contents;
mod detect;
mod items;
mod part;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Body, Message, MessageFormat, MessagePart, PartContent, Role,
    format::FormatSet,
    source::{PartPlace, Source},
};
use crate::{Attachment, Error, Text, element::Meta, json::Reader};

/// Reads messages of any provider, by their shape.
///
/// ```
/// use hinagata_module::{MessageReader, Role};
/// use serde_json::json;
///
/// let history = json!([
///     {"role": "assistant", "content": null, "tool_calls": [
///         {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"lamp\"}"}}]},
///     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "It is on."}]},
///     {"role": "model", "parts": [{"text": "The lamp is on."}]},
/// ]);
/// let messages = MessageReader::new().read_messages(&history)?;
/// assert_eq!(messages[0].tool_calls().next().map(|call| &call.arguments["at"]), Some(&json!("lamp")));
/// assert_eq!(messages[2].role(), Role::Assistant);
/// # Ok::<(), hinagata_module::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct MessageReader {
    format: Option<MessageFormat>,
}

/// The messages of a list, in any format and mixture of formats.
///
/// # Errors
/// Every problem with its index and key.
pub fn read_messages(list: &Value) -> Result<Vec<Message>, Error> {
    MessageReader::new().read_messages(list)
}

impl MessageReader {
    /// A reader that recognizes the format of each message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the format of messages whose shape fits several ones, and of parts that nobody here knows.
    #[must_use]
    pub fn with_format(mut self, format: MessageFormat) -> Self {
        self.format = Some(format);
        self
    }

    fn expected(self) -> Expected {
        Expected { format: self.format, is_certain: self.format.is_some() }
    }

    /// The messages of a list.
    ///
    /// # Errors
    /// Every problem with its index and key.
    pub fn read_messages(self, list: &Value) -> Result<Vec<Message>, Error> {
        let mut reader = Reader::without_functions();
        let messages = reader.read_conversation(list, self.expected());
        Error::from_problems(reader.problems)?;
        Ok(messages)
    }

    /// One message.
    ///
    /// # Errors
    /// Every problem with its key.
    pub fn read_message(self, document: &Value) -> Result<Message, Error> {
        let mut reader = Reader::without_functions();
        let draft = reader.read_draft(document, self.expected());
        Error::from_problems(reader.problems)?;
        Ok(draft.map(|draft| draft.into_message(vec![document.clone()])).unwrap_or_default())
    }
}

impl Attachment {
    /// The attachments of a list in JSON; null is an empty list.
    ///
    /// # Errors
    /// Every problem with its index and key.
    pub fn read_list(list: &Value) -> Result<Vec<Self>, Error> {
        if list.is_null() {
            return Ok(Vec::new());
        }
        let mut reader = Reader::without_functions();
        let attachments = reader.read_list(list, Reader::read_attachment);
        Error::from_problems(reader.problems)?;
        Ok(attachments)
    }
}

impl Default for Message {
    /// An empty message of the user.
    fn default() -> Self {
        Self::user(Text::default())
    }
}

/// The format of messages whose shape fits several ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    format: Option<MessageFormat>,
    /// Whether the caller knows it; else other messages of the list suggest it.
    is_certain: bool,
}

impl Expected {
    /// Whether the caller knows better than the shape shows: many programs write messages like those of OpenAI.
    fn overrides(self, evident: MessageFormat) -> bool {
        let is_apart = matches!(evident, MessageFormat::Gemini | MessageFormat::OpenAiResponses);
        self.is_certain && self.format != Some(MessageFormat::Own) && !is_apart
    }

    /// A format that the caller knows.
    pub(crate) const fn certain(format: MessageFormat) -> Self {
        Self { format: Some(format), is_certain: true }
    }
}

/// A message that is being read.
#[derive(Debug)]
pub(crate) struct Draft {
    format: MessageFormat,
    formats: FormatSet,
    role: Role,
    name: Option<Text>,
    id: Option<Text>,
    parts: Vec<(PartContent, PartPlace)>,
    /// Whether the content is a string, not a list.
    is_text: bool,
    meta: Meta,
}

impl Draft {
    fn new(format: MessageFormat, role: Role) -> Self {
        Self {
            format,
            formats: FormatSet::default().with(format),
            role,
            name: None,
            id: None,
            parts: Vec::new(),
            is_text: false,
            meta: Meta::default(),
        }
    }

    fn push(&mut self, content: PartContent, key: &'static str, index: Option<usize>) {
        self.parts.push((content, PartPlace { item: 0, key: Some(key), index }));
    }

    /// Adds a part that is the whole document.
    fn push_whole(&mut self, content: PartContent) {
        self.parts.push((content, PartPlace { item: 0, key: None, index: None }));
    }

    /// Adds the parts of the next item of the same turn.
    fn append(&mut self, next: Self, item: usize) {
        let parts = next.parts.into_iter();
        self.parts.extend(parts.map(|(content, place)| (content, PartPlace { item, ..place })));
        self.id = self.id.take().or(next.id);
    }

    fn into_message(self, items: Vec<Value>) -> Message {
        let Self { format, formats, role, name, id, parts, is_text, meta } = self;
        let source = Arc::new(Source { format, formats, items });
        let body = match parts.as_slice() {
            [] => Body::Text(Text::default()),
            [(PartContent::Attachment(Attachment::Text(text)), _)] if is_text => Body::Text(text.clone()),
            _ => Body::Parts(
                parts
                    .into_iter()
                    .map(|(content, place)| MessagePart::with_source(content, &source, place))
                    .collect(),
            ),
        };
        Message { role, name, id, body, source: Some(source), meta }
    }

    /// The message without its document, which its other fields describe completely.
    fn into_plain_message(self) -> Message {
        let Self { role, name, id, parts, is_text, meta, .. } = self;
        let body = match parts.as_slice() {
            [] if is_text => Body::Text(Text::default()),
            [(PartContent::Attachment(Attachment::Text(text)), _)] if is_text => Body::Text(text.clone()),
            _ => Body::Parts(parts.into_iter().map(|(content, _)| MessagePart::from(content)).collect()),
        };
        Message { role, name, id, body, source: None, meta }
    }
}

impl Draft {
    /// The message of an element in JSON. A message in our own format is described completely by its fields, unless a
    /// list of texts has tool calls beside it.
    pub(crate) fn into_element(self, document: Value) -> Message {
        let is_call = |(part, _): &(PartContent, _)| matches!(part, PartContent::ToolCall(_));
        let is_own = self.format == MessageFormat::Own;
        if is_own && (self.is_text || !self.parts.iter().any(is_call)) {
            return self.into_plain_message();
        }
        self.into_message(vec![document])
    }
}

impl Reader<'_> {
    /// The message of neighbouring items of OpenAI's responses.
    pub(crate) fn read_turn(&mut self, items: &Value) -> Option<Message> {
        let before = self.problems.len();
        let mut messages =
            self.read_conversation(items, Expected::certain(MessageFormat::OpenAiResponses)).into_iter();
        match (messages.next(), messages.next()) {
            (Some(message), None) => Some(message),
            _ if self.problems.len() > before => None,
            _ => {
                self.add_problem("must be the items of one turn");
                None
            }
        }
    }

    /// The messages of a list. Neighbouring items of OpenAI's responses that the model wrote are one message.
    fn read_conversation(&mut self, list: &Value, expected: Expected) -> Vec<Message> {
        let Value::Array(items) = list else {
            self.add_type_error("a list of messages", list);
            return Vec::new();
        };
        let format = expected.format.or_else(|| detect::common_format(items));
        let expected = Expected { format, ..expected };
        let mut messages: Vec<Message> = Vec::with_capacity(items.len());
        let mut open: Option<(Draft, Vec<Value>)> = None;
        for (index, item) in items.iter().enumerate() {
            let draft = self.read_under(&format!("[{index}]"), |reader| reader.read_draft(item, expected));
            let Some(draft) = draft else { continue };
            match &mut open {
                Some((first, documents)) if items::continues_turn(first, &draft) => {
                    first.append(draft, documents.len());
                    documents.push(item.clone());
                }
                _ => {
                    messages.extend(open.take().map(|(draft, documents)| draft.into_message(documents)));
                    open = Some((draft, vec![item.clone()]));
                }
            }
        }
        messages.extend(open.map(|(draft, documents)| draft.into_message(documents)));
        messages
    }

    /// One message.
    pub(crate) fn read_draft(&mut self, document: &Value, expected: Expected) -> Option<Draft> {
        let fields = self.read_object(document)?;
        let evident = detect::evident_format(fields).filter(|evident| !expected.overrides(*evident));
        let format = evident.or(expected.format);
        let draft = match format {
            Some(MessageFormat::Gemini) if fields.contains_key("parts") => self.read_content_object(fields),
            Some(MessageFormat::OpenAiResponses) => self.read_item(fields),
            _ => self.read_chat_message(fields, format),
        };
        let mut draft = draft?;
        if evident.is_none() {
            let formats = chat::plain_formats(fields, &draft);
            draft.formats = if expected.is_certain { formats.with(draft.format) } else { formats };
        }
        Some(draft)
    }

    /// A role by any of its names.
    fn read_role(&mut self, fields: &Map<String, Value>) -> Option<Role> {
        const NAMES: [&str; 7] = ["system", "developer", "user", "assistant", "model", "tool", "function"];
        let name = self.read_text(fields, "role")?;
        let role = |name: &str| {
            Some(match name {
                "developer" => Role::System,
                "model" => Role::Assistant,
                "function" => Role::Tool,
                other => Role::from_name(other)?,
            })
        };
        self.read_known_name(&name, "role", role, &NAMES)
    }

    /// A string that may be missing or null.
    fn read_optional_text(&mut self, fields: &Map<String, Value>, key: &str) -> Option<Option<Text>> {
        match fields.get(key) {
            None | Some(Value::Null) => Some(None),
            Some(_) => self.read_text(fields, key).map(Some),
        }
    }
}

fn text_part(text: impl Into<Text>) -> PartContent {
    PartContent::Attachment(Attachment::text(text))
}
