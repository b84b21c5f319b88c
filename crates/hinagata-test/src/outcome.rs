//! What came out of cases.

use std::time::Duration;

use hinagata::{Code, Error, Place};

use crate::checks::{Assertion, Verdict};

/// What became of a case.
#[derive(Clone, Debug)]
pub enum Status {
    /// Everything held.
    Passed,
    /// Something did not hold.
    Failed(Vec<Failure>),
    /// It did not run, for this reason.
    Skipped(String),
}

/// Something that did not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Where it is in the test file.
    pub place: Place,
    /// What was asserted.
    pub title: String,
    /// What was found instead.
    pub message: String,
    /// The difference.
    pub difference: Option<String>,
    /// The error of the render or the call, if there was one.
    pub error: Option<Error>,
}

impl Failure {
    /// The failure of an assertion.
    #[must_use]
    pub(crate) fn from_verdict(assertion: &Assertion, verdict: &Verdict) -> Self {
        let parts = verdict.parts.iter().filter(|(_, part)| !part.passed);
        let lines = parts.map(|(part, found)| format!("{}: {}", part.describe(), found.message));
        let all: Vec<String> = std::iter::once(verdict.message.clone()).chain(lines).collect();
        Self {
            place: assertion.place.clone(),
            title: assertion.describe(),
            message: all.join("\n"),
            difference: verdict.difference.clone(),
            error: None,
        }
    }

    /// The failure of a render or a call.
    #[must_use]
    pub(crate) fn from_error(place: Place, title: &str, error: Error) -> Self {
        let mut message = match error.place() {
            Some(at) => format!("{at}: {}", error.message()),
            None => error.message().to_owned(),
        };
        if let Some(hint) = error.hint() {
            message.push_str(&format!("\n{hint}"));
        }
        Self { place, title: title.to_owned(), message, difference: None, error: Some(error) }
    }
}

/// A case that was handled.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// The test file, as a path from the workspace root.
    pub file: String,
    /// The prompt.
    pub prompt: String,
    /// The name of the case.
    pub name: String,
    /// Where the case is.
    pub place: Place,
    /// What became of it.
    pub status: Status,
    /// The weighted share of assertions that hold.
    pub score: f64,
    /// The number of assertions.
    pub assertions: usize,
    /// How long it took.
    pub time: Duration,
    /// What happened beside it: warnings of the render.
    pub notes: Vec<String>,
}

impl CaseResult {
    /// Whether it failed.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        matches!(self.status, Status::Failed(_))
    }

    /// Whether a provider was down, so that nothing is known about the prompt.
    #[must_use]
    pub fn is_provider_down(&self) -> bool {
        match &self.status {
            Status::Failed(failures) => failures.iter().any(|failure| {
                failure.error.as_ref().is_some_and(|error| {
                    error.code() == Code::Model && error.details().contains_key("called")
                })
            }),
            _ => false,
        }
    }
}

/// Everything that a run found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The cases in the order of their files.
    pub results: Vec<CaseResult>,
    /// The time of the whole run.
    pub time: Duration,
    /// Snapshots that were written.
    pub snapshots_written: usize,
    /// Snapshots that were removed.
    pub snapshots_removed: usize,
    /// Snapshots that belong to no case.
    pub orphans: Vec<String>,
    /// Calls of models.
    pub calls: u64,
    /// What the calls cost, as far as the settings have prices.
    pub cost: f64,
}

impl Report {
    /// The numbers of cases that passed, failed and were skipped.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        let count =
            |wanted: fn(&Status) -> bool| self.results.iter().filter(|result| wanted(&result.status)).count();
        (
            count(|status| matches!(status, Status::Passed)),
            count(|status| matches!(status, Status::Failed(_))),
            count(|status| matches!(status, Status::Skipped(_))),
        )
    }
}
