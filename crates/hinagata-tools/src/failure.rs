//! Errors of tool calls, with the code `tool`.

use hinagata::{Code, Error, Reason};

/// Maximum characters of foreign text in an error.
const MAX_DISPLAYED: usize = 200;

/// An error with a reason.
pub(crate) fn tool_error(reason: Reason, message: impl Into<String>) -> Error {
    Error::new(Code::Tool, message).with_reason(reason)
}

/// Truncates foreign text to one line.
pub(crate) fn truncate_for_display(text: &str) -> String {
    hinagata_http::truncate_for_display(text, MAX_DISPLAYED)
}

/// The message of an error, followed by those of its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    truncate_for_display(&hinagata_http::with_causes(error))
}
