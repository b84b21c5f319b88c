//! Diagnostics: problems that do not stop the rest of a workspace from working.

use crate::Error;

/// How serious a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The source cannot be used.
    Error,
    /// The source can be used, but is probably a mistake.
    Warning,
}

/// A problem, its severity and the source that has it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The prompt directory, pack or file, as a path from the workspace root.
    pub source: String,
    /// The problem, its place and a hint.
    pub error: Error,
}

impl Diagnostic {
    /// A diagnostic of severity [`Severity::Error`].
    #[must_use]
    pub fn error(source: impl Into<String>, error: Error) -> Self {
        Self { severity: Severity::Error, source: source.into(), error }
    }

    /// A diagnostic of severity [`Severity::Warning`].
    #[must_use]
    pub fn warning(source: impl Into<String>, error: Error) -> Self {
        Self { severity: Severity::Warning, source: source.into(), error }
    }
}

/// Sorts diagnostics by source and message, so that their order is stable.
pub fn sort_diagnostics(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by(|a, b| (&a.source, a.error.message()).cmp(&(&b.source, b.error.message())));
    diagnostics
}
