//! Modules and prompts as JSON documents.

mod elements;
mod messages;
mod number;
mod read;
mod to_value;
mod write;

pub use messages::{MessageReader, read_messages};
pub use read::Functions;
pub(crate) use read::Reader;
pub use to_value::messages_to_json;
pub use write::escape_text;
pub(crate) use write::{Escaped, Writer};

use serde_json::Value;

/// `value` on one line, as JavaScript writes it.
#[must_use]
pub fn to_compact_string(value: &Value) -> String {
    let mut writer = Writer::new();
    writer.write_value(value);
    writer.into_string()
}

/// `value` on several lines with an indent of two spaces, as JavaScript writes it.
#[must_use]
pub fn to_pretty_string(value: &Value) -> String {
    let mut text = String::new();
    write::write_pretty(value, 0, &mut text);
    text
}
