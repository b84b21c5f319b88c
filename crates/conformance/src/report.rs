//! The outcomes of cases, for people and for scripts.

use std::fmt::{self, Write as _};

use serde_json::{Value, json};

use crate::case::{Mismatch, Side};
use crate::difference;
use crate::skips::Skip;

/// The outcomes of all selected cases.
#[derive(Debug, Default)]
pub struct Report {
    /// The cases, in the order in which they ran.
    pub cases: Vec<CaseReport>,
    /// Skips that match no case. Each counts as a failure, so that the list stays accurate.
    pub unused_skips: Vec<Skip>,
}

/// The outcome of one case.
#[derive(Debug)]
pub struct CaseReport {
    /// The case.
    pub id: String,
    /// The file of the case.
    pub file: String,
    /// The outcome.
    pub status: Status,
}

/// The outcome of one case.
#[derive(Debug)]
pub enum Status {
    /// Every run matched.
    Passed,
    /// At least one run did not match.
    Failed(Vec<Failure>),
    /// It was not run, for this reason.
    Skipped(String),
}

/// A run that did not match.
#[derive(Debug)]
pub struct Failure {
    /// The setting of the run, or empty if a case has only one.
    pub run: &'static str,
    /// The two sides.
    pub mismatch: Mismatch,
}

impl Report {
    /// The number of cases that passed.
    pub fn passed(&self) -> usize {
        self.count(|status| matches!(status, Status::Passed))
    }

    /// The number of failed cases and unused skips.
    pub fn failed(&self) -> usize {
        self.count(|status| matches!(status, Status::Failed(_))) + self.unused_skips.len()
    }

    /// The number of cases that were not run.
    pub fn skipped(&self) -> usize {
        self.count(|status| matches!(status, Status::Skipped(_)))
    }

    fn count(&self, wanted: impl Fn(&Status) -> bool) -> usize {
        self.cases.iter().filter(|case| wanted(&case.status)).count()
    }

    /// The summary line.
    pub fn summary(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed(), self.failed(), self.skipped())
    }

    /// One line for each unused skip.
    pub fn describe_unused(&self) -> String {
        self.unused_skips.iter().fold(String::new(), |mut text, skip| {
            let _ = writeln!(text, "FAIL skips.toml: no case has the id `{}`", skip.id);
            text
        })
    }

    /// The counts, and every failure with both sides.
    pub fn to_json(&self) -> Value {
        let failures: Vec<Value> = self.cases.iter().flat_map(failures_to_json).collect();
        json!({
            "passed": self.passed(),
            "failed": self.failed(),
            "skipped": self.skipped(),
            "failures": failures,
            "unused_skips": self.unused_skips.iter().map(|skip| &skip.id).collect::<Vec<_>>(),
        })
    }
}

fn failures_to_json(case: &CaseReport) -> Vec<Value> {
    let Status::Failed(failures) = &case.status else { return Vec::new() };
    let one = |failure: &Failure| {
        json!({
            "id": case.id,
            "file": case.file,
            "run": failure.run,
            "expected": side_to_json(&failure.mismatch.expected),
            "actual": side_to_json(&failure.mismatch.actual),
        })
    };
    failures.iter().map(one).collect()
}

fn side_to_json(side: &Side) -> Value {
    side.0.iter().map(|field| (field.name.to_owned(), Value::from(field.text.as_str()))).collect()
}

impl CaseReport {
    /// One line for each failing run, without the two sides.
    pub fn to_brief(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| self.each_failure(f, |_, _| Ok(())))
    }

    /// Each failing run with the expected and the actual outcome.
    pub fn to_full(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            self.each_failure(f, |f, failure| f.write_str(&difference::describe_mismatch(&failure.mismatch)))
        })
    }

    fn each_failure(
        &self,
        f: &mut fmt::Formatter<'_>,
        body: impl Fn(&mut fmt::Formatter<'_>, &Failure) -> fmt::Result,
    ) -> fmt::Result {
        let Status::Failed(failures) = &self.status else { return Ok(()) };
        for failure in failures {
            write!(f, "FAIL {} ({})", self.id, self.file)?;
            if !failure.run.is_empty() {
                write!(f, " [{}]", failure.run)?;
            }
            f.write_char('\n')?;
            body(f, failure)?;
        }
        Ok(())
    }
}
