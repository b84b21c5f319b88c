//! The details of an entry of the report.

use std::fmt;

use serde::{Serialize, Serializer};

/// The details of an entry. Most are sizes of files that do not fit; they become text only where they are shown, because
/// a project can have very many such files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The rule, the limit or the error.
    Text(Box<str>),
    /// The size of a file, and the bytes that are left of the budget.
    Bytes {
        /// The size of the file.
        size: u64,
        /// What is left.
        left: u64,
    },
    /// The size of a file, and the tokens that are left of the budget.
    Tokens {
        /// The size of the file.
        size: u64,
        /// What is left.
        left: usize,
    },
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Bytes { size, left } => write!(f, "{size} bytes, {left} are left"),
            Self::Tokens { size, left } => write!(f, "{size} bytes, {left} tokens are left"),
        }
    }
}

impl From<String> for Detail {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl Serialize for Detail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
