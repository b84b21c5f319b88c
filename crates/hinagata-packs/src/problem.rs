//! Problems of packs, as doors print them.

use hinagata_document::{Diagnostic, Error, Hint, Severity};
use serde::Serialize;

/// A problem of a pack, as doors print it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// `error` or `warning`.
    pub severity: &'static str,
    /// The file or directory, as a path from the workspace root.
    pub source: String,
    /// The code of the error.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// The file, if known.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column in characters, from 1.
    pub column: Option<u32>,
    /// The next step.
    pub hint: Option<Hint>,
}

impl Problem {
    pub(super) fn from_error(source: impl Into<String>, error: &Error) -> Self {
        let place = error.place();
        Self {
            severity: "error",
            source: source.into(),
            code: error.code().as_str(),
            message: error.message().to_owned(),
            file: place.map(|place| place.file.clone()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column).filter(|column| *column > 0),
            hint: error.hint().cloned(),
        }
    }
}

impl From<&Diagnostic> for Problem {
    fn from(diagnostic: &Diagnostic) -> Self {
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        Self { severity, ..Self::from_error(diagnostic.source.clone(), &diagnostic.error) }
    }
}
