//! Messages of a conversation.
//!
//! One type for the conversations of every provider. A message that was read from a document keeps it, so that writing it
//! back to the provider that it came from loses nothing, not even members that nobody here knows.

mod format;
mod part;
mod source;

use std::{fmt, sync::Arc};

use crate::{Attachment, Content, Text, element::Meta};

pub(crate) use format::FormatSet;
pub use format::MessageFormat;
pub use part::{MessagePart, PartContent, Reasoning, ToolCall, ToolResult, ToolValue};
pub(crate) use source::{PartPlace, Source};

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The instructions of the conversation.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::System, Self::User, Self::Assistant, Self::Tool];

    /// The name that providers use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// The role with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub(crate) role: Role,
    pub(crate) name: Option<Text>,
    pub(crate) id: Option<Text>,
    pub(crate) body: Body,
    /// The document that it was read from, unless it was changed afterwards.
    pub(crate) source: Option<Arc<Source>>,
    pub(crate) meta: Meta,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// One text, which most messages are.
    Text(Text),
    /// Parts, in order.
    Parts(Vec<MessagePart>),
}

impl From<Content> for Body {
    fn from(content: Content) -> Self {
        match content {
            Content::Text(text) => Self::Text(text),
            Content::Parts(parts) => Self::Parts(parts.into_iter().map(MessagePart::from).collect()),
        }
    }
}

impl Default for Message {
    /// An empty message of the user.
    fn default() -> Self {
        Self::user(Text::default())
    }
}

impl Message {
    fn new(role: Role, body: Body) -> Self {
        Self { role, name: None, id: None, body, source: None, meta: Meta::default() }
    }

    /// A message with instructions.
    #[must_use]
    pub fn system(content: impl Into<Content>) -> Self {
        Self::from_content(Role::System, content)
    }

    /// A message of the user.
    #[must_use]
    pub fn user(content: impl Into<Content>) -> Self {
        Self::from_content(Role::User, content)
    }

    /// A message of the model.
    #[must_use]
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::from_content(Role::Assistant, content)
    }

    /// A message of any speaker.
    #[must_use]
    pub fn from_content(role: Role, content: impl Into<Content>) -> Self {
        Self::new(role, content.into().into())
    }

    /// A message with parts of any kind, in order.
    #[must_use]
    pub fn from_parts(role: Role, parts: impl IntoIterator<Item = MessagePart>) -> Self {
        Self::new(role, Body::Parts(parts.into_iter().collect()))
    }

    /// A message of the model with tool calls.
    #[must_use]
    pub fn assistant_with_calls(
        content: impl Into<Content>,
        calls: impl IntoIterator<Item = ToolCall>,
    ) -> Self {
        let mut message = Self::assistant(content);
        calls.into_iter().for_each(|call| message.push_part(call));
        message
    }

    /// The result of a tool call.
    #[must_use]
    pub fn tool(call_id: impl Into<Text>, name: impl Into<Text>, value: ToolValue) -> Self {
        let name = name.into();
        let result = ToolResult { call_id: call_id.into(), name: Some(name.clone()), value };
        Self::from_parts(Role::Tool, [MessagePart::from(result)]).with_name(name)
    }

    /// Sets the name of the speaker.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Text>) -> Self {
        self.name = Some(name.into());
        self.source = None;
        self
    }

    /// Appends a part.
    pub fn push_part(&mut self, part: impl Into<MessagePart>) {
        if let Body::Text(text) = &self.body {
            let text = text.clone();
            let first = (!text.is_empty()).then(|| MessagePart::from(Attachment::Text(text)));
            self.body = Body::Parts(first.into_iter().collect());
        }
        if let Body::Parts(parts) = &mut self.body {
            parts.push(part.into());
        }
        self.source = None;
    }

    /// The role of the speaker.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The name of the speaker; of a tool, the tool.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The id that a provider gave it.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Its declared number of tokens.
    #[must_use]
    pub fn usage(&self) -> Option<u64> {
        self.meta.usage
    }

    /// The text, if the message is only one text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.body {
            Body::Text(text) => Some(text),
            Body::Parts(_) => None,
        }
    }

    /// The parts, unless the message is only one text.
    #[must_use]
    pub fn parts(&self) -> &[MessagePart] {
        match &self.body {
            Body::Text(_) => &[],
            Body::Parts(parts) => parts,
        }
    }

    /// The texts that the speaker said, in order; refusals are texts, but reasoning and the results of tools are not.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.as_text().into_iter().chain(self.parts().iter().filter_map(MessagePart::as_text))
    }

    /// Calls `visit` with every text in it: what is said, names, ids, reasoning, texts and files of tool results.
    pub fn visit_texts(&self, visit: &mut dyn FnMut(&Text)) {
        self.name.iter().chain(&self.id).for_each(&mut *visit);
        match &self.body {
            Body::Text(text) => visit(text),
            Body::Parts(parts) => parts.iter().for_each(|part| part.visit_texts(visit)),
        }
    }

    /// The tool calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts().iter().filter_map(MessagePart::as_tool_call)
    }

    /// The results of tools.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts().iter().filter_map(MessagePart::as_tool_result)
    }

    /// The format of the document that it was read from, unless it was changed afterwards.
    #[must_use]
    pub fn source_format(&self) -> Option<MessageFormat> {
        self.source.as_ref().map(|source| source.format)
    }

    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    pub(crate) fn parts_mut(&mut self) -> Option<&mut Vec<MessagePart>> {
        match &mut self.body {
            Body::Text(_) => None,
            Body::Parts(parts) => Some(parts),
        }
    }

    pub(crate) fn source(&self) -> Option<&Source> {
        self.source.as_deref()
    }

    /// The items that it was read from, if they are messages in `format`.
    pub(crate) fn items_in(&self, format: MessageFormat) -> Option<&[serde_json::Value]> {
        self.source().and_then(|source| source.items_in(format))
    }
}
