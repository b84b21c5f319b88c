//! The data of processes, as their contexts hold it.

use hinagata::module::Message;
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

/// The tokens of a message: its texts, calls, results and everything else that it was read from.
pub(crate) fn message_tokens(message: &Message, model: &dyn Ask) -> u64 {
    let count = |text: &str| model.count_tokens(text).upper_bound() as u64;
    message.usage().unwrap_or_else(|| match message.as_text() {
        Some(text) => count(text),
        None => message.to_documents().iter().map(|document| count(&document.to_string())).sum(),
    })
}

/// Messages in files: as they were read, in the format of any provider.
pub(crate) mod conversation {
    use hinagata::module::{Message, json::messages_to_json, read_messages};
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};
    use serde_json::Value;

    pub(crate) fn serialize<S: Serializer>(messages: &[Message], serializer: S) -> Result<S::Ok, S::Error> {
        messages_to_json(messages).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Message>, D::Error> {
        read_messages(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
