//! Parses JSON, JSON with comments, YAML, TOML, front matter and Python literals into nodes with places, and reports
//! problems in them.
//!
//! All formats produce the same [`Node`]s, so the same code checks the fields of each. [`Fields`] collects all
//! problems of a document, each with its [`Place`], and combines them into one [`Error`]:
//!
//! ```
//! use hinagata_document::{Fields, json};
//!
//! let text = "{\n  \"name\": 5\n}";
//! let node = json::parse("agent.json", text)?;
//! let mut fields = Fields::new("agent.json", text);
//! let name = node.get("name").and_then(|name| fields.string("name", name));
//! assert_eq!(name, None);
//! let error = fields.finish().expect_err("a name is a string");
//! assert_eq!(error.place().map(ToString::to_string).as_deref(), Some("agent.json:2:11"));
//! # Ok::<(), hinagata_document::Error>(())
//! ```
//!
//! Documents are untrusted. The caller that reads a file limits its size; this crate limits nesting and, in YAML, the
//! number of nodes.

mod code;
mod diagnostic;
mod digest;
mod error;
mod fields;
pub mod front_matter;
mod hint;
pub mod json;
pub mod jsonc;
mod node;
mod number;
mod place;
mod pointer;
pub mod python;
mod reason;
mod text_origin;
pub mod toml;
pub mod yaml;

pub use code::{Code, CodeSpec};
pub use diagnostic::{Diagnostic, Severity, sort_diagnostics};
pub use digest::{Digest, InvalidDigest, Sha256Digester};
pub use error::{Error, Result};
pub use fields::{Fields, truncate_for_display, type_message, unknown_field_message};
pub use hint::{Hint, HintText};
pub use node::{Data, Node};
pub use number::warn_of_long_number;
pub use place::{Cursor, LineColumn, Place, SyntaxProblem};
pub use pointer::{FoundString, find_string};
pub use reason::Reason;
pub use text_origin::TextOrigin;
pub use yaml::yaml_value;
