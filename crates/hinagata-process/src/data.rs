//! The data of processes, as their contexts hold it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Answer, Ask};

/// A piece of a longer text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    /// The text.
    pub content: String,
    /// The text that it is a part of.
    #[serde(default)]
    pub part_of: String,
    /// Its index in that text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The number of chunks of that text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The tokens that it takes of a limit, with the error of an estimate; counted if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<u64>,
    /// Other members, for modules.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Chunk {
    /// A piece of `part_of`.
    #[must_use]
    pub fn new(part_of: impl Into<String>, content: impl Into<String>) -> Self {
        Self { part_of: part_of.into(), content: content.into(), ..Self::default() }
    }

    pub(crate) fn count_tokens(&self, model: &dyn Ask) -> u64 {
        self.usage.unwrap_or_else(|| model.count_tokens(&self.content).upper_bound() as u64)
    }
}

/// A range of chunks; `end` is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The first chunk.
    pub start: usize,
    /// The chunk after the last one.
    pub end: usize,
}

/// The state that is passed from one call to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The text.
    pub content: String,
    /// Its tokens.
    #[serde(default)]
    pub usage: u64,
    /// Whether the number of tokens is an estimate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// How far the estimate may be off, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_percent: Option<u8>,
}

impl State {
    /// The state after an answer.
    pub(crate) fn from_answer(answer: Answer, model: &dyn Ask) -> Self {
        let (usage, error_percent) = match answer.tokens {
            Some(tokens) => (tokens, None),
            None => {
                let count = model.count_tokens(&answer.content);
                (count.tokens as u64, count.error_percent)
            }
        };
        Self { content: answer.content, usage, estimated: error_percent.is_some(), error_percent }
    }
}

/// A note that prepares an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The text.
    pub content: String,
}

/// A message of a conversation, as contexts hold it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DialogueMessage {
    /// The role of the speaker.
    pub role: String,
    /// A string, or a list of parts.
    #[serde(default)]
    pub content: Value,
    /// The tokens that it takes of a limit, with the error of an estimate; counted if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<u64>,
    /// Other members: a name, tool calls.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl DialogueMessage {
    /// A message with a text.
    #[must_use]
    pub fn new(role: impl Into<String>, text: impl Into<String>) -> Self {
        Self { role: role.into(), content: Value::String(text.into()), usage: None, more: Map::new() }
    }

    /// The tokens of its content and its tool calls.
    pub(crate) fn count_tokens(&self, model: &dyn Ask) -> u64 {
        let count = |text: &str| model.count_tokens(text).upper_bound() as u64;
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
