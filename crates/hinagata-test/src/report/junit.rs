//! JUnit's XML, as CI systems read it: a suite for each test file.

use crate::{
    outcome::{CaseResult, Report, Status},
    report::failure_text,
};

/// The report as XML.
#[must_use]
pub fn to_junit(report: &Report) -> String {
    let (_, failed, skipped) = report.counts();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{}\" failures=\"{failed}\" \
         skipped=\"{skipped}\" errors=\"0\" time=\"{:.3}\">\n",
        report.results.len(),
        report.time.as_secs_f64()
    );
    for suite in report.results.chunk_by(|one, other| one.file == other.file) {
        push_suite(suite, &mut text);
    }
    text.push_str("</testsuites>\n");
    text
}

fn push_suite(cases: &[CaseResult], text: &mut String) {
    let count = |wanted: fn(&Status) -> bool| cases.iter().filter(|case| wanted(&case.status)).count();
    let time: f64 = cases.iter().map(|case| case.time.as_secs_f64()).sum();
    text.push_str(&format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\" time=\"{time:.3}\">\n",
        escape_xml(&cases[0].file),
        cases.len(),
        count(|status| matches!(status, Status::Failed(_))),
        count(|status| matches!(status, Status::Skipped(_))),
    ));
    for case in cases {
        text.push_str(&format!(
            "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\" time=\"{:.3}\"",
            escape_xml(&case.prompt),
            escape_xml(&case.name),
            escape_xml(&case.file),
            case.place.line,
            case.time.as_secs_f64()
        ));
        match &case.status {
            Status::Passed => text.push_str("/>\n"),
            Status::Skipped(reason) => text.push_str(&format!(
                ">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                escape_xml(reason)
            )),
            Status::Failed(failures) => {
                text.push_str(">\n");
                for failure in failures {
                    let first = failure.message.lines().next().unwrap_or_default();
                    text.push_str(&format!(
                        "      <failure message=\"{}\" type=\"{}\">{}</failure>\n",
                        escape_xml(&format!("{}: {first}", failure.title)),
                        escape_xml(&failure.title),
                        escape_xml(&format!("{}\n{}", failure.place, failure_text(failure)))
                    ));
                }
                text.push_str("    </testcase>\n");
            }
        }
    }
    text.push_str("  </testsuite>\n");
}

/// The text inside of XML. Characters that XML cannot hold are replaced.
fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\r' => escaped.push_str("&#13;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_valid_xml() {
        let text = escape_xml("<a b=\"c\">&\u{1}\u{1b}[2J\n</a>");
        let parsed = format!("<x y=\"{text}\">{text}</x>");
        let document = roxmltree::Document::parse(&parsed).expect("is XML");
        let read = "<a b=\"c\">&\u{fffd}\u{fffd}[2J\n</a>";
        assert_eq!(document.root_element().text(), Some(read));
        assert_eq!(document.root_element().attribute("y"), Some(read));
    }
}
