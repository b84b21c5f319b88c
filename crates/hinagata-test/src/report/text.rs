//! The report for people.

use crate::{
    outcome::{CaseResult, Report, Status},
    report::{failure_text, time_text},
};

/// One case: its name, and what failed. `display_path` makes the paths of files those of the caller.
#[must_use]
pub fn case_text(result: &CaseResult, display_path: &dyn Fn(&str) -> String) -> String {
    let mut text = match &result.status {
        Status::Passed => format!("ok    {}\n", result.name),
        Status::Skipped(reason) => format!("skip  {} ({reason})\n", result.name),
        Status::Failed(_) => format!("FAIL  {}\n", result.name),
    };
    if let Status::Failed(failures) = &result.status {
        for failure in failures {
            let place = &failure.place;
            text.push_str(&format!("      {}:{}:{}\n", display_path(&place.file), place.line, place.column));
            for line in failure_text(failure).lines() {
                text.push_str(&format!("        {line}\n"));
            }
        }
        for note in &result.notes {
            text.push_str(&format!("      warning: {note}\n"));
        }
    }
    text
}

/// The last lines: how many passed, and what became of snapshots and calls.
#[must_use]
pub fn summary_text(report: &Report) -> String {
    let (passed, failed, skipped) = report.counts();
    let mut parts = vec![format!("{passed} passed")];
    if failed > 0 {
        parts.push(format!("{failed} failed"));
    }
    if skipped > 0 {
        parts.push(format!("{skipped} skipped"));
    }
    let mut text = format!("{} ({})\n", parts.join(", "), time_text(report.time));
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    if report.snapshots_written > 0 {
        let count = report.snapshots_written;
        text.push_str(&format!("{count} snapshot{} written\n", plural(count)));
    }
    if report.snapshots_removed > 0 {
        let count = report.snapshots_removed;
        text.push_str(&format!("{count} snapshot{} removed\n", plural(count)));
    }
    for orphan in &report.orphans {
        text.push_str(&format!("no case uses {orphan}; `--update` removes it\n"));
    }
    if report.calls > 0 {
        let cost = if report.cost > 0.0 { format!(", ${:.4}", report.cost) } else { String::new() };
        text.push_str(&format!("{} call{} of models{cost}\n", report.calls, plural(report.calls as usize)));
    }
    text
}
