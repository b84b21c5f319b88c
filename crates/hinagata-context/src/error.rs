//! Errors that end packing; the report lists unreadable files instead.

use std::{fmt, io};

use hinagata_tokens::TokenizerError;

use crate::state::LeftOutReason;

/// The result of packing.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a context could not be packed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An invalid pattern.
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why it is invalid.
        message: String,
    },
    /// A template file that is missing or unreadable.
    TemplateFile {
        /// The name of the file.
        file: String,
        /// Why it cannot be read.
        message: String,
    },
    /// A file with instructions that is missing or unreadable.
    InstructionFile {
        /// The name of the file.
        file: String,
        /// Why it cannot be read.
        message: String,
    },
    /// Revisions to compare that are invalid or unknown.
    Revisions {
        /// The revisions, as written.
        text: String,
        /// What is wrong.
        message: String,
    },
    /// The text has more tokens than allowed, and nothing may be left out.
    Budget {
        /// The tokens of the whole text.
        needed: usize,
        /// The allowed tokens.
        allowed: usize,
    },
    /// A file that the rules withhold from the template that names it.
    Withheld {
        /// The path of the file.
        path: String,
        /// The rule.
        reason: LeftOutReason,
        /// The details.
        detail: String,
        /// The error of the template that names it, with its place.
        template: Option<Box<hinagata_value::Error>>,
    },
    /// A template that fails; the error has its place.
    Template(Box<hinagata_value::Error>),
    /// A tokenizer file that cannot be used.
    Tokenizer(TokenizerError),
    /// The output cannot be written.
    Output(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern { pattern, message } => {
                write!(f, "invalid pattern `{pattern}`: {message}")
            }
            Self::TemplateFile { file, message } => {
                write!(f, "cannot read the template `{file}`: {message}")
            }
            Self::InstructionFile { file, message } => {
                write!(f, "cannot read the instructions in `{file}`: {message}")
            }
            Self::Revisions { text, message } => write!(f, "cannot compare `{text}`: {message}"),
            Self::Budget { needed, allowed } => {
                write!(f, "the text has {needed} tokens, but only {allowed} are allowed")
            }
            Self::Withheld { path, detail, .. } => write!(f, "`{path}` is withheld: {detail}"),
            Self::Template(error) => error.fmt(f),
            Self::Tokenizer(error) => error.fmt(f),
            Self::Output(_) => f.write_str("cannot write the packed context"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Template(error) => error.source(),
            Self::Output(error) => Some(error),
            Self::Withheld { template: Some(error), .. } => Some(&**error),
            _ => None,
        }
    }
}

impl From<hinagata_value::Error> for Error {
    fn from(error: hinagata_value::Error) -> Self {
        Self::Template(Box::new(error))
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The text of a system error in lower case, without its number.
pub(crate) fn system_cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
