//! Annotations of GitHub Actions: one line for each failure.

use crate::{
    outcome::{Report, Status},
    report::{failure_text, summary_text},
};

/// The failures as workflow commands, and the summary.
#[must_use]
pub fn to_github(report: &Report) -> String {
    let mut text = String::new();
    for result in &report.results {
        let Status::Failed(failures) = &result.status else { continue };
        for failure in failures {
            let place = &failure.place;
            text.push_str(&format!(
                "::error file={},line={},col={},title={}::{}\n",
                escape_property(&place.file),
                place.line,
                place.column.max(1),
                escape_property(&format!("{}: {}", result.prompt, result.name)),
                escape_data(&failure_text(failure))
            ));
        }
    }
    text.push_str(&summary_text(report));
    text
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
