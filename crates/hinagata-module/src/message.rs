//! Messages of a conversation.

use std::{fmt, sync::Arc};

use serde_json::Value;

use crate::{Content, Text, element::Meta};

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
    /// The role and the content.
    pub said: Said,
    /// The name of the speaker.
    pub name: Option<Text>,
    pub(crate) meta: Meta,
}

/// Role and content: only the model calls tools, and only tools return results.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Instructions.
    System(Content),
    /// The user.
    User(Content),
    /// The model, with its tool calls.
    Assistant(Content, Vec<ToolCall>),
    /// A tool.
    Tool(ToolResult),
}

/// A tool call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id that its result refers to.
    pub id: Text,
    /// The tool.
    pub name: Text,
    /// The arguments.
    pub arguments: Arc<Value>,
}

impl ToolCall {
    /// A call of `name`.
    #[must_use]
    pub fn new(id: impl Into<Text>, name: impl Into<Text>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments: Arc::new(arguments) }
    }
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The [`ToolCall::id`] of its call.
    pub call_id: Text,
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
}

impl Message {
    fn new(said: Said) -> Self {
        Self { said, name: None, meta: Meta::default() }
    }

    /// A message with instructions.
    #[must_use]
    pub fn system(content: impl Into<Content>) -> Self {
        Self::new(Said::System(content.into()))
    }

    /// A message of the user.
    #[must_use]
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Said::User(content.into()))
    }

    /// A message of the model.
    #[must_use]
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Said::Assistant(content.into(), Vec::new()))
    }

    /// A message of the model with tool calls.
    #[must_use]
    pub fn assistant_with_calls(
        content: impl Into<Content>,
        calls: impl IntoIterator<Item = ToolCall>,
    ) -> Self {
        Self::new(Said::Assistant(content.into(), calls.into_iter().collect()))
    }

    /// The result of a tool call.
    #[must_use]
    pub fn tool(call_id: impl Into<Text>, name: impl Into<Text>, value: ToolValue) -> Self {
        let said = Said::Tool(ToolResult { call_id: call_id.into(), value });
        Self { name: Some(name.into()), ..Self::new(said) }
    }

    /// Sets the name of the speaker.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Text>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The role of the speaker.
    #[must_use]
    pub fn role(&self) -> Role {
        match &self.said {
            Said::System(_) => Role::System,
            Said::User(_) => Role::User,
            Said::Assistant(..) => Role::Assistant,
            Said::Tool(_) => Role::Tool,
        }
    }

    /// The content; tools have a [`ToolResult`] instead.
    #[must_use]
    pub fn content(&self) -> Option<&Content> {
        match &self.said {
            Said::System(content) | Said::User(content) | Said::Assistant(content, _) => Some(content),
            Said::Tool(_) => None,
        }
    }
}
