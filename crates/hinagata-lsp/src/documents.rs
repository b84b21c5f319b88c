//! The open documents, as the client has them.

use std::sync::Arc;

use crate::{
    position::{Encoding, TextLines},
    protocol::{ContentChange, Range},
};

/// A text that is open in an editor.
#[derive(Clone, Debug)]
pub struct Document {
    /// The address that the client uses.
    pub uri: String,
    /// The language that the client names.
    pub language: String,
    /// The version that the client counts.
    pub version: i64,
    /// The text.
    pub text: Arc<str>,
    /// Its lines.
    pub lines: Arc<TextLines>,
}

impl Document {
    /// A document with this text.
    #[must_use]
    pub fn new(uri: &str, language: &str, version: i64, text: &str) -> Self {
        Self {
            uri: uri.to_owned(),
            language: language.to_owned(),
            version,
            text: text.into(),
            lines: Arc::new(TextLines::new(text)),
        }
    }

    /// Applies changes in order.
    pub(crate) fn apply_changes(&mut self, version: i64, changes: &[ContentChange], encoding: Encoding) {
        for change in changes {
            self.replace_range(change.range, &change.text, encoding);
        }
        self.version = version;
    }

    /// Replaces a part of the text, or all of it.
    pub fn replace_range(&mut self, range: Option<Range>, new: &str, encoding: Encoding) {
        let text = match range {
            None => new.to_owned(),
            Some(range) => {
                let start = self.lines.offset_at(range.start, &self.text, encoding);
                let end = self.lines.offset_at(range.end, &self.text, encoding).max(start);
                [&self.text[..start], new, &self.text[end..]].concat()
            }
        };
        self.lines = Arc::new(TextLines::new(&text));
        self.text = text.into();
    }
}
