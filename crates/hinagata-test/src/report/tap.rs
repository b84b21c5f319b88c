//! The Test Anything Protocol, version 14.

use serde_json::Value;

use crate::{
    outcome::{Report, Status},
    report::failure_text,
};

/// The report as lines of TAP; what failed is in YAML blocks.
#[must_use]
pub fn to_tap(report: &Report) -> String {
    let mut text = format!("TAP version 14\n1..{}\n", report.results.len());
    for (index, result) in report.results.iter().enumerate() {
        let title = escape_title(&format!("{}: {}", result.file, result.name));
        let number = index + 1;
        match &result.status {
            Status::Passed => text.push_str(&format!("ok {number} - {title}\n")),
            Status::Skipped(reason) => {
                text.push_str(&format!("ok {number} - {title} # SKIP {}\n", one_line(reason)));
            }
            Status::Failed(failures) => {
                text.push_str(&format!("not ok {number} - {title}\n  ---\n  failures:\n"));
                for failure in failures {
                    // A string of JSON is one of YAML, whatever it contains.
                    let quoted = |text: &str| Value::from(text).to_string();
                    text.push_str(&format!("    - at: {}\n", quoted(&failure.place.to_string())));
                    text.push_str(&format!("      message: {}\n", quoted(&failure_text(failure))));
                }
                text.push_str("  ...\n");
            }
        }
    }
    text
}

/// A description: `#` would start a directive.
fn escape_title(title: &str) -> String {
    one_line(title).replace('\\', "\\\\").replace('#', "\\#")
}

fn one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
