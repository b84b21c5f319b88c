//! What is wrong with a tokenizer file.

use std::{error::Error, io, path::Path};

use crate::TokenizerError;

/// The largest tokenizer file; that of Gemma 3 has 33 MB.
pub(super) const MAX_MIB: u64 = 64;

const NAME_FILE: &str =
    "name the tokenizer.json, tokenizer.model or tekken.json that is published with the model";

#[derive(Debug)]
pub(super) enum Problem {
    Unreadable(io::Error),
    NotAFile,
    TooLarge,
    /// It is not what it seems to be.
    Invalid(&'static str, Box<dyn Error + Send + Sync>),
    /// It is valid, but cannot be used.
    Unsupported(&'static str),
}

impl Problem {
    /// The error about the file at `path`.
    pub(super) fn in_file(self, path: &Path) -> TokenizerError {
        let (problem, hint) = match self {
            Self::Unreadable(error) => (format!("cannot be read: {}", system_message(&error)), NAME_FILE),
            Self::NotAFile => ("is not a file".to_owned(), NAME_FILE),
            Self::TooLarge => (format!("is larger than {MAX_MIB} MiB"), NAME_FILE),
            Self::Invalid(format, why) => (format!("is not a valid {format}: {why}"), NAME_FILE),
            Self::Unsupported(why) => {
                (format!("cannot be used: {why}"), "name the tokenizer.json of the same model")
            }
        };
        TokenizerError::new(path, problem, hint)
    }
}

/// The message of the system without its number.
fn system_message(error: &io::Error) -> String {
    let message = error.to_string();
    message.split(" (os error").next().unwrap_or_default().to_lowercase()
}
