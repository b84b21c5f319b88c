//! What keeps a context from being packed at all; files that cannot be read are told in the report instead.

use std::{fmt, io};

use crate::report::Reason;

/// The result of packing.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a context could not be packed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A pattern that cannot be read.
    Pattern {
        /// The pattern as it is written.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// The file of a template that is not there, or cannot be read.
    TemplateFile {
        /// The file as it is called.
        file: String,
        /// Why it cannot be read.
        message: String,
    },
    /// A file that rules keep out of the template that names it.
    Withheld {
        /// The path of the file.
        path: String,
        /// The rule.
        reason: Reason,
        /// What exactly.
        detail: String,
        /// The failure of the template that names it, which says where.
        template: Option<Box<hinagata_value::Error>>,
    },
    /// A template that fails; it says where.
    Template(Box<hinagata_value::Error>),
    /// The result cannot be written.
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
            Self::Withheld { path, detail, .. } => write!(f, "`{path}` is withheld: {detail}"),
            Self::Template(error) => error.fmt(f),
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

/// The cause of an error of the system, without its number.
pub(crate) fn system_cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
