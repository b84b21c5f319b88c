//! Reports of a run.

mod github;
mod json;
mod junit;
mod tap;
mod text;

pub use github::to_github;
pub use json::to_json;
pub use junit::to_junit;
pub use tap::to_tap;
pub use text::{case_text, summary_text};

use crate::outcome::Failure;

/// What was asserted and what was found, on one or several lines.
fn failure_text(failure: &Failure) -> String {
    let mut text = format!("{}: {}", failure.title, failure.message);
    if let Some(difference) = &failure.difference {
        text.push('\n');
        text.push_str(difference);
    }
    text
}

/// Milliseconds, or seconds from one second on.
fn time_text(time: std::time::Duration) -> String {
    match time.as_millis() {
        0..1000 => format!("{} ms", time.as_millis()),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}
