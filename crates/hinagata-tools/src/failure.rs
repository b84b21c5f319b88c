//! Why a call failed, as errors of code `tool`.

use hinagata::{Code, Error};

/// Characters of an answer that an error shows.
const SHOWN: usize = 200;

/// A failed call, with its reason for machines.
pub(crate) fn failed(reason: &str, message: impl Into<String>) -> Error {
    Error::new(Code::Tool, message).with("reason", reason)
}

/// The beginning of a text of a stranger, on one line.
pub(crate) fn shown(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.retain(|found| !found.is_control());
    if words.chars().count() <= SHOWN {
        return words;
    }
    words.chars().take(SHOWN).chain("…".chars()).collect()
}

/// The sentence of an error together with the sentences of what caused it.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let sentence = cause.to_string();
        // Some repeat their cause in their own sentence.
        if !text.contains(&sentence) {
            text = format!("{text}: {sentence}");
        }
        next = cause.source();
    }
    shown(&text)
}
