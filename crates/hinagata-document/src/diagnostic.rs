//! Findings about things that do not stop other things from working.

use crate::Error;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// What it is about does not work.
    Error,
    /// It works, but hardly as it was meant.
    Warning,
}

/// A finding: what it is about, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// How serious it is.
    pub severity: Severity,
    /// The prompt directory, pack or file, as a path from the workspace root.
    pub source: String,
    /// What is wrong, where, and what to do.
    pub error: Error,
}

impl Diagnostic {
    /// Something that does not work.
    #[must_use]
    pub fn error(source: impl Into<String>, error: Error) -> Self {
        Self { severity: Severity::Error, source: source.into(), error }
    }

    /// Something that is hardly meant.
    #[must_use]
    pub fn warning(source: impl Into<String>, error: Error) -> Self {
        Self { severity: Severity::Warning, source: source.into(), error }
    }
}

/// Sorted by what they are about, so that the same workspace gives the same list.
pub fn sort_diagnostics(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by(|a, b| (&a.source, a.error.message()).cmp(&(&b.source, b.error.message())));
    diagnostics
}
