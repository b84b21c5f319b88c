//! Runs the cases of a directory one after the other and collects the outcomes.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::case::{Bounds, Case, Mismatch, Side};
use crate::isolate::{self, RunEnd};
use crate::load::{InputError, LoadedCase};
use crate::report::{CaseReport, Failure, Report, Status};
use crate::skips;

/// Which cases of a directory to run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Run only cases whose id contains this text.
    pub only: Option<String>,
}

impl Selection {
    fn takes(&self, id: &str) -> bool {
        self.only.as_deref().is_none_or(|part| id.contains(part))
    }
}

/// The progress that [`run_cases`] reports.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The case with this id is about to run.
    Started(&'a str),
    /// A case has ended.
    Ended(&'a CaseReport),
}

/// Runs the selected `cases` of `dir` and reports progress.
///
/// # Errors
/// The skips of `dir` cannot be read, or no case is selected.
pub fn run_cases(
    dir: &Path,
    cases: &[LoadedCase],
    selection: &Selection,
    report_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, InputError> {
    let skips = skips::load_skips(dir)?;
    let mut reasons: HashMap<&str, &str> = HashMap::new();
    for skip in &skips {
        reasons.insert(&skip.id, &skip.reason);
    }
    let mut report = Report::default();
    for found in cases.iter().filter(|found| selection.takes(found.case.id())) {
        let id = found.case.id();
        let status = if let Some(reason) = reasons.get(id) {
            Status::Skipped((*reason).to_owned())
        } else {
            report_progress(Progress::Started(id));
            run_case(&found.case)
        };
        let case = CaseReport { id: id.to_owned(), file: found.file.clone(), status };
        report_progress(Progress::Ended(&case));
        report.cases.push(case);
    }
    if report.cases.is_empty() {
        let part = selection.only.as_deref().unwrap_or_default();
        return Err(InputError::new(dir, format!("no case id contains `{part}`")));
    }
    // A skip is compared with every case, not only with the selection: running one case must not report the skips of
    // others.
    report.unused_skips =
        skips.into_iter().filter(|skip| cases.iter().all(|found| found.case.id() != skip.id)).collect();
    Ok(report)
}

fn run_case(case: &Arc<dyn Case>) -> Status {
    let bounds = case.bounds();
    let failures: Vec<Failure> = case
        .runs()
        .into_iter()
        .enumerate()
        .filter_map(|(index, label)| {
            let mismatch = run_once(case, index, bounds).err()?;
            Some(Failure { run: label, mismatch })
        })
        .collect();
    if failures.is_empty() { Status::Passed } else { Status::Failed(failures) }
}

fn run_once(case: &Arc<dyn Case>, index: usize, bounds: Bounds) -> Result<(), Mismatch> {
    let job = Arc::clone(case);
    let (name, text, expected) = match isolate::run_isolated(bounds, move || job.check_run(index)) {
        RunEnd::Returned(verdict) => return verdict,
        RunEnd::Panicked(message) => ("panic", message, "any answer without a panic".to_owned()),
        RunEnd::TimedOut => (
            "no end",
            "still running".to_owned(),
            format!("an answer within {} s", bounds.time.as_secs_f64()),
        ),
        RunEnd::TooMuchMemory(peak) => {
            let limit = bounds.memory.unwrap_or_default();
            ("memory", mebibytes(peak), format!("at most {} held by the process", mebibytes(limit)))
        }
        RunEnd::NotStarted(message) => {
            ("thread", message, format!("a thread with {} of stack", mebibytes(bounds.stack)))
        }
    };
    Err(Mismatch { expected: Side::new("bound", expected), actual: Side::new(name, text) })
}

fn mebibytes(bytes: usize) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}
