//! Findings as diagnostics, and what can be done about them.

use std::ops::Range;

use hinagata::Hint;
use hinagata_check::{Finding, Level, editor::Lines, find_fix};
use hinagata_document::LineColumn;
use hinagata_template::Language;
use serde_json::{Value, json};

use crate::{
    documents::Document,
    position::{Encoding, TextLines},
    snapshot::Snapshot,
};

/// A finding as the protocol has it.
pub(crate) fn to_diagnostic(
    finding: &Finding,
    text: &str,
    lines: &TextLines,
    encoding: Encoding,
    hint_text: fn(&Hint) -> String,
) -> Value {
    let range = lines.range_at(finding_bytes(finding, text), text, encoding);
    let mut message = finding.error.message().to_owned();
    let near = finding.error.near();
    if !near.is_empty() {
        let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        message.push_str(&format!("; did you mean {}?", names.join(" or ")));
    }
    if let Some(hint) = finding.error.hint() {
        message.push_str(&format!("\n{}", hint_text(hint)));
    }
    let severity = match finding.level {
        Level::Error => 1,
        Level::Warning => 2,
        Level::Hint => 4,
    };
    let mut diagnostic = json!({
        "range": range,
        "severity": severity,
        "code": finding.code.code,
        "source": "hina",
        "message": message,
    });
    if finding.code.code.ends_with(".unused") {
        diagnostic["tags"] = json!([1]);
    }
    diagnostic
}

/// The bytes of a file that a finding is about.
pub(crate) fn finding_bytes(finding: &Finding, text: &str) -> Range<usize> {
    let Some(place) = finding.place() else { return 0..first_line_end(text) };
    let lines = Lines::new(text);
    let start = lines.offset_of(LineColumn { line: place.line, column: place.column }, text);
    if let Some(end) = finding.end.filter(|_| place.column > 0) {
        let end = lines.offset_of(end, text);
        if end > start {
            return start..end;
        }
    }
    let line = lines.line_range(lines.line_at(start), text);
    if place.column == 0 {
        return start..line.end.max(start);
    }
    // A word, or one character.
    let rest = &text[start..line.end.max(start)];
    let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let one = rest.chars().next().map_or(0, char::len_utf8);
    start..start + word.max(one)
}

fn first_line_end(text: &str) -> usize {
    text.lines().next().map_or(0, str::len)
}

/// What can be done about the findings in some bytes of a document: take a similar name, declare a variable, allow the
/// finding.
pub(crate) fn code_actions(snapshot: &Snapshot, document: &Document, range: Range<usize>) -> Value {
    let text = &*document.text;
    let mut actions = Vec::new();
    for finding in &snapshot.findings {
        let bytes = finding_bytes(finding, text);
        if bytes.start > range.end || bytes.end < range.start {
            continue;
        }
        let diagnostic = to_diagnostic(finding, text, &document.lines, snapshot.encoding, snapshot.hint_text);
        let mut add = |title: String, bytes: Range<usize>, new: String, is_preferred: bool| {
            let edit =
                json!({"range": document.lines.range_at(bytes, text, snapshot.encoding), "newText": new});
            actions.push(json!({
                "title": title,
                "kind": "quickfix",
                "diagnostics": [diagnostic],
                "isPreferred": is_preferred,
                "edit": {"changes": {&*document.uri: [edit]}},
            }));
        };
        let near = finding.error.near();
        let fix = find_fix(finding, text);
        if let Some(fix) = &fix {
            add(fix.title.clone(), fix.range.0..fix.range.1, fix.text.clone(), true);
        }
        if let Some(wrong) = wrong_name(finding, text, &bytes) {
            let is_known = |name: &&String| fix.as_ref().is_none_or(|fix| fix.text != **name);
            for name in near.iter().filter(is_known) {
                add(
                    format!("Change to `{name}`"),
                    wrong.clone(),
                    name.clone(),
                    fix.is_none() && near.len() == 1,
                );
            }
        }
        if finding.code.code == "variable.undeclared"
            && let Some((at, new, name)) = declaration(finding, text)
        {
            add(format!("Declare `{name}` in the front matter"), at..at, new, false);
        }
        if let Some((at, new)) = silence(snapshot, finding, text, bytes.start) {
            add(format!("Allow {} here", finding.code.code), at..at, new, false);
        }
    }
    actions.into()
}

/// The bytes of the name that a finding has better ones for: the quoted name of its message.
fn wrong_name(finding: &Finding, text: &str, bytes: &Range<usize>) -> Option<Range<usize>> {
    let message = finding.error.message();
    let quoted = |quote: char| {
        let mut parts = message.split(quote);
        parts.next()?;
        parts.next().filter(|name| !name.is_empty())
    };
    let within = text.get(bytes.clone())?;
    let find =
        |name: &str| Some(bytes.start + within.find(name)?..bytes.start + within.find(name)? + name.len());
    ['`', '\'', '"'].into_iter().filter_map(quoted).find_map(find)
}

/// Where the front matter declares parameters by name, and the line that declares another one.
fn declaration(finding: &Finding, text: &str) -> Option<(usize, String, String)> {
    let name = finding.error.message().split('`').nth(1)?.to_owned();
    let rest = text.strip_prefix("---\n")?;
    let front = &rest[..rest.find("\n---")? + 1];
    let heading = ["parameters:\n", "variables:\n", "inputs:\n"].into_iter().find_map(|key| {
        let at = if front.starts_with(key) { 0 } else { front.find(&format!("\n{key}"))? + 1 };
        Some(at + key.len())
    });
    match heading {
        Some(at) => {
            let indentation: String = front[at..].chars().take_while(|c| *c == ' ').collect();
            let is_list = front[at..].trim_start().starts_with('-');
            let line = match is_list {
                true => format!("{indentation}- {{name: {name}}}\n"),
                false => format!("{indentation}{name}: {{}}\n"),
            };
            Some((4 + at, line, name))
        }
        None => Some((4 + front.len(), format!("parameters:\n  {name}: {{}}\n"), name)),
    }
}

/// A comment that allows a finding: in the line before it.
fn silence(snapshot: &Snapshot, finding: &Finding, text: &str, start: usize) -> Option<(usize, String)> {
    let code = finding.code.code;
    if code.starts_with("syntax.") || code.starts_with("allow.") {
        return None;
    }
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let regions = snapshot.project.regions(&snapshot.path, text);
    let region = regions.iter().find(|region| region.offset_at(start).is_some())?;
    // In a string of another file a new line would change the text.
    if region.offset_at(line_start).is_none() || regions.len() != 1 || !text.ends_with(&*region.text) {
        return None;
    }
    let comment = match region.language {
        Language::Jinja => format!("{{# hina: allow({code}) -#}}\n"),
        Language::Go => format!("{{{{/* hina: allow({code}) */ -}}}}\n"),
    };
    Some((line_start, comment))
}
