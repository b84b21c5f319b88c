//! The report for scripts.

use serde_json::{Value, json};

use crate::outcome::{CaseResult, Report, Status};

/// Everything that the run found.
#[must_use]
pub fn to_json(report: &Report) -> Value {
    let (passed, failed, skipped) = report.counts();
    json!({
        "passed": passed, "failed": failed, "skipped": skipped,
        "time": report.time.as_secs_f64(),
        "snapshots": {
            "written": report.snapshots_written, "removed": report.snapshots_removed, "orphans": report.orphans,
        },
        "calls": report.calls, "cost": report.cost,
        "cases": report.results.iter().map(case_json).collect::<Vec<_>>(),
    })
}

fn case_json(result: &CaseResult) -> Value {
    let mut case = json!({
        "file": result.file, "line": result.place.line, "column": result.place.column,
        "prompt": result.prompt, "name": result.name, "score": result.score,
        "time": result.time.as_secs_f64(), "assertions": result.assertions, "warnings": result.notes,
    });
    match &result.status {
        Status::Passed => case["status"] = "passed".into(),
        Status::Skipped(reason) => {
            case["status"] = "skipped".into();
            case["reason"] = reason.as_str().into();
        }
        Status::Failed(failures) => {
            case["status"] = "failed".into();
            case["failures"] = failures
                .iter()
                .map(|failure| {
                    json!({
                        "line": failure.place.line, "column": failure.place.column, "assertion": failure.title,
                        "message": failure.message, "difference": failure.difference,
                        "code": failure.error.as_ref().map(|error| error.code().as_str()),
                    })
                })
                .collect();
        }
    }
    case
}
