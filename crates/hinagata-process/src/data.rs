//! What processes work on, as their contexts hold it.

use hinagata::module::tokens::TokenCount;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Answer, Ask};

/// A piece of a longer text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    /// What it says.
    pub content: String,
    /// The text that it is a piece of.
    #[serde(default)]
    pub part_of: String,
    /// Which piece of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// Of how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Its tokens; counted where they are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<u64>,
    /// Whatever else a module reads of it.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Chunk {
    /// A piece of `part_of`.
    #[must_use]
    pub fn new(part_of: impl Into<String>, content: impl Into<String>) -> Self {
        Self { part_of: part_of.into(), content: content.into(), ..Self::default() }
    }

    pub(crate) fn tokens(&self, model: &dyn Ask) -> u64 {
        self.usage.unwrap_or_else(|| model.count(&self.content).tokens as u64)
    }
}

/// Chunks, from the first to before the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The first.
    pub start: usize,
    /// The one behind the last.
    pub end: usize,
}

/// What is carried from answer to answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// What it says.
    pub content: String,
    /// Its tokens.
    #[serde(default)]
    pub usage: u64,
    /// Whether the tokens are only estimated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl State {
    /// The state that an answer leaves.
    pub(crate) fn of(answer: Answer, model: &dyn Ask) -> Self {
        let (usage, estimated) = match answer.tokens {
            Some(tokens) => (tokens, false),
            None => {
                let TokenCount { tokens, estimated } = model.count(&answer.content);
                (tokens as u64, estimated)
            }
        };
        Self { content: answer.content, usage, estimated }
    }
}

/// A note that prepares an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it says.
    pub content: String,
}

/// A message of a conversation, as contexts hold it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// Who says it.
    pub role: String,
    /// A text, or a list of parts.
    #[serde(default)]
    pub content: Value,
    /// Its tokens; counted where they are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<u64>,
    /// Whatever else belongs to it: a name, calls of tools.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Said {
    /// A text that somebody says.
    #[must_use]
    pub fn new(role: impl Into<String>, text: impl Into<String>) -> Self {
        Self { role: role.into(), content: Value::String(text.into()), usage: None, more: Map::new() }
    }

    /// Its tokens: those of its text, and of what it calls.
    pub(crate) fn tokens(&self, model: &dyn Ask) -> u64 {
        let count = |text: &str| model.count(text).tokens as u64;
        self.usage.unwrap_or_else(|| {
            let said = match &self.content {
                Value::String(text) => count(text),
                Value::Null => 0,
                parts => count(&parts.to_string()),
            };
            said + self.more.get("toolCalls").map_or(0, |calls| count(&calls.to_string()))
        })
    }
}
