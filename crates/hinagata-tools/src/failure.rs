//! Why a call failed, as errors of code `tool`.

use hinagata::{Code, Error};

/// Characters of an answer that an error shows.
const MAX_DISPLAYED: usize = 200;

/// A failed call, with its reason for machines.
pub(crate) fn tool_error(reason: &str, message: impl Into<String>) -> Error {
    Error::new(Code::Tool, message).with("reason", reason)
}

/// The beginning of a text of a stranger, on one line.
pub(crate) fn truncate_for_display(text: &str) -> String {
    hinagata_http::truncate_for_display(text, MAX_DISPLAYED)
}

/// The sentence of an error together with the sentences of what caused it.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    truncate_for_display(&hinagata_http::with_causes(error))
}
