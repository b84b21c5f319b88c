//! The parts of messages.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    MessageFormat,
    source::{PartPlace, Source},
};
use crate::{Attachment, Text};

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct MessagePart {
    content: PartContent,
    /// Where it was read from.
    source: Option<(Arc<Source>, PartPlace)>,
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum PartContent {
    /// A text, an image, a sound or another file.
    Attachment(Attachment),
    /// A call of a tool.
    ToolCall(ToolCall),
    /// The result of a tool.
    ToolResult(ToolResult),
    /// What the model thought before it answered.
    Reasoning(Reasoning),
    /// The text with which the model refused to answer.
    Refusal(Text),
    /// A part that only its provider understands, by its type.
    Other(Text),
}

/// A tool call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id that its result refers to; empty if the provider uses none.
    pub id: Text,
    /// The tool.
    pub name: Text,
    /// The arguments: an object, or a text that is not JSON.
    pub arguments: Arc<Value>,
}

impl ToolCall {
    /// A call of `name`.
    ///
    /// Arguments that are the JSON text of an object, as many programs store them, become that object.
    #[must_use]
    pub fn new(id: impl Into<Text>, name: impl Into<Text>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments: Arc::new(parse_arguments(arguments)) }
    }

    /// The arguments as an object; others become the member `input` of one.
    pub(crate) fn arguments_object(&self) -> std::borrow::Cow<'_, Value> {
        match &*self.arguments {
            Value::Object(_) => std::borrow::Cow::Borrowed(&self.arguments),
            Value::Null => std::borrow::Cow::Owned(Value::Object(Map::new())),
            other => std::borrow::Cow::Owned(serde_json::json!({"input": other})),
        }
    }
}

fn parse_arguments(arguments: Value) -> Value {
    match &arguments {
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(object @ Value::Object(_)) => object,
            _ => arguments,
        },
        _ => arguments,
    }
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The [`ToolCall::id`] of its call; empty if the provider uses none.
    pub call_id: Text,
    /// The tool, if known.
    pub name: Option<Text>,
    /// The value.
    pub value: ToolValue,
}

/// The value of a tool result.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolValue {
    /// A text.
    Text(Text),
    /// Data.
    Data(Arc<Value>),
    /// An error.
    Error(Arc<Value>),
    /// Texts, images and files, in order.
    Parts {
        /// The parts.
        parts: Vec<Attachment>,
        /// Whether they describe an error.
        is_error: bool,
    },
}

impl ToolValue {
    /// Whether it is an error.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Parts { is_error: true, .. })
    }

    /// The images and files in it.
    pub(crate) fn media(&self) -> impl Iterator<Item = &Attachment> {
        let parts = match self {
            Self::Parts { parts, .. } => parts.as_slice(),
            Self::Text(_) | Self::Data(_) | Self::Error(_) => &[],
        };
        parts.iter().filter(|part| !matches!(part, Attachment::Text(_)))
    }
}

/// What the model thought before it answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasoning {
    /// The text or its summary; empty if it is encrypted.
    pub text: Text,
    /// The signature, or the encrypted text; valid only for the provider and the model that made it.
    pub signature: Option<Text>,
}

impl MessagePart {
    pub(crate) fn with_source(content: PartContent, source: &Arc<Source>, place: PartPlace) -> Self {
        Self { content, source: Some((Arc::clone(source), place)) }
    }

    /// The content.
    #[must_use]
    pub fn content(&self) -> &PartContent {
        &self.content
    }

    /// What the speaker said in it: a text or a refusal.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            PartContent::Attachment(Attachment::Text(text)) | PartContent::Refusal(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn visit_texts(&self, visit: &mut dyn FnMut(&Text)) {
        match &self.content {
            PartContent::Attachment(attachment) => attachment.visit_texts(visit),
            PartContent::ToolCall(call) => [&call.id, &call.name].into_iter().for_each(visit),
            PartContent::ToolResult(result) => {
                [&result.call_id].into_iter().chain(&result.name).for_each(&mut *visit);
                match &result.value {
                    ToolValue::Text(text) => visit(text),
                    ToolValue::Parts { parts, .. } => parts.iter().for_each(|part| part.visit_texts(visit)),
                    ToolValue::Data(_) | ToolValue::Error(_) => {}
                }
            }
            PartContent::Reasoning(reasoning) => visit(&reasoning.text),
            PartContent::Refusal(text) => visit(text),
            PartContent::Other(_) => {}
        }
    }

    /// The tool call.
    #[must_use]
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        match &self.content {
            PartContent::ToolCall(call) => Some(call),
            _ => None,
        }
    }

    /// The result of a tool.
    #[must_use]
    pub fn as_tool_result(&self) -> Option<&ToolResult> {
        match &self.content {
            PartContent::ToolResult(result) => Some(result),
            _ => None,
        }
    }

    /// Sets the id of a call, or of the call of a result. It is not a part of the document that it was read from.
    pub(crate) fn set_call_id(&mut self, id: Text) {
        match &mut self.content {
            PartContent::ToolCall(call) => call.id = id,
            PartContent::ToolResult(result) => result.call_id = id,
            _ => {}
        }
    }

    /// The value that it was read from.
    pub(crate) fn source_value(&self) -> Option<&Value> {
        let (source, place) = self.source.as_ref()?;
        place.value_in(&source.items)
    }

    /// The value that it was read from, if that is a part in `format`.
    pub(crate) fn value_in(&self, format: MessageFormat) -> Option<&Value> {
        self.is_from(format).then(|| self.source_value()).flatten()
    }

    /// Whether it was read from a document in `format`.
    pub(crate) fn is_from(&self, format: MessageFormat) -> bool {
        self.source.as_ref().is_some_and(|(source, _)| source.format == format)
    }
}

macro_rules! parts {
    ($($kind:ident: $type:ty),*) => {$(
        impl From<$type> for MessagePart {
            fn from(content: $type) -> Self {
                Self { content: PartContent::$kind(content), source: None }
            }
        }
    )*};
}

parts!(Attachment: Attachment, ToolCall: ToolCall, ToolResult: ToolResult, Reasoning: Reasoning);

impl From<PartContent> for MessagePart {
    fn from(content: PartContent) -> Self {
        Self { content, source: None }
    }
}
