//! The documents that messages were read from.

use serde_json::Value;

use super::{MessageFormat, format::FormatSet};

/// The document that a message was read from.
#[derive(Debug, PartialEq)]
pub(crate) struct Source {
    /// Its format.
    pub(crate) format: MessageFormat,
    /// All formats in which the same document is valid: plain messages look alike in most of them.
    pub(crate) formats: FormatSet,
    /// One document; OpenAI's responses have an item for each part.
    pub(crate) items: Vec<Value>,
}

impl Source {
    /// The items, if they are messages in `format`.
    pub(crate) fn items_in(&self, format: MessageFormat) -> Option<&[Value]> {
        self.formats.contains(format).then_some(&self.items)
    }
}

/// The place of a part in the document of its message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PartPlace {
    /// The item.
    pub(crate) item: usize,
    /// The member of the item; `None` if the part is the whole item.
    pub(crate) key: Option<&'static str>,
    /// The index, if the member is a list.
    pub(crate) index: Option<usize>,
}

impl PartPlace {
    pub(crate) fn value_in(self, items: &[Value]) -> Option<&Value> {
        let item = items.get(self.item)?;
        let member = match self.key {
            None => item,
            Some(key) => item.get(key)?,
        };
        match self.index {
            None => Some(member),
            Some(index) => member.get(index),
        }
    }
}
