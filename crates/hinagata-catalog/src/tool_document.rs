//! Definitions of tools in packs and stores: documents that are read but not interpreted here.

use std::sync::Arc;

use serde_json::Value;

/// Definitions of tools from one source, in the order of their keys.
pub type ToolDocuments = Arc<[ToolDocument]>;

/// The definition of a tool, as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolDocument {
    /// The id, such as `files.search`.
    pub id: String,
    /// The file or key that it was read from.
    pub origin: String,
    /// The document.
    pub document: Value,
    /// Whether the user chose it to replace the tool with this id.
    pub replaces: bool,
}

/// What a failed call of a tool does to the render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnError {
    /// The render continues with the default value of the tool, and warns.
    #[default]
    Default,
    /// The render fails.
    Fail,
}

impl OnError {
    /// All names.
    pub const NAMES: [&'static str; 2] = ["default", "fail"];

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Fail => "fail",
        }
    }

    /// The value with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::Default),
            "fail" => Some(Self::Fail),
            _ => None,
        }
    }
}
