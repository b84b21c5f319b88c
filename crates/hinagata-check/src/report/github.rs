//! Annotations of GitHub Actions.

use std::fmt::Write as _;

use crate::{finding::Finding, level::Level};

/// The findings as workflow commands, one on each line.
#[must_use]
pub fn to_github(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let command = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Hint => "notice",
        };
        let mut properties = format!("file={}", escape_property(finding.file()));
        if let Some(place) = finding.place() {
            let _ = write!(properties, ",line={}", place.line);
            if place.column > 0 {
                let _ = write!(properties, ",col={}", place.column);
            }
        }
        let title = escape_property(finding.code.code);
        let message = escape_data(finding.error.message());
        let _ = writeln!(text, "::{command} {properties},title={title}::{message}");
    }
    text
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_start_another_command() {
        assert_eq!(escape_data("a\n::error::b%"), "a%0A::error::b%25");
        assert_eq!(escape_property("a:b,c"), "a%3Ab%2Cc");
    }
}
