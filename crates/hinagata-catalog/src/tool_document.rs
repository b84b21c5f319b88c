//! Tools as packs and stores define them: documents that are read, and not yet understood.

use std::sync::Arc;

use serde_json::Value;

/// Definitions of tools from one source, in the order of their keys.
pub type ToolDocuments = Arc<[ToolDocument]>;

/// The definition of a tool as it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolDocument {
    /// The id, such as `files.search`.
    pub id: String,
    /// The file or key that it was read from.
    pub origin: String,
    /// What is written there.
    pub document: Value,
    /// Whether it takes the place of the one that has this id otherwise, as the user decided.
    pub replaces: bool,
}

/// What a failed call of a tool does to the render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnError {
    /// It goes on with a value that the tool has for that, and warns.
    #[default]
    Default,
    /// It fails.
    Fail,
}

impl OnError {
    /// The names.
    pub const NAMES: [&'static str; 2] = ["default", "fail"];

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Fail => "fail",
        }
    }

    /// The one called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::Default),
            "fail" => Some(Self::Fail),
            _ => None,
        }
    }
}
