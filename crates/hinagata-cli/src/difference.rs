//! The differences between the files of candidates.

use std::{collections::BTreeMap, sync::Arc};

use hinagata::source::Entry;
use similar::TextDiff;

use crate::output::sanitize_text;

/// Lines of differences that are shown for one candidate.
const MOST_LINES: usize = 200;

/// How the files of each candidate differ from those of the first, in the form of `diff -u`.
pub(crate) fn diff_candidates(entries: &[Arc<Entry>]) -> String {
    let Some((first, others)) = entries.split_first() else { return String::new() };
    others.iter().map(|other| diff_entries(first, other)).collect()
}

fn diff_entries(old: &Entry, new: &Entry) -> String {
    let (before, after) = match (files(old), files(new)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(problem), _) | (_, Err(problem)) => return format!("\n{problem}\n"),
    };
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let differences: String = names
        .into_iter()
        .map(|name| {
            let path = |entry: &Entry, there: bool| match there {
                true => sanitize_text(&format!("{}/{name}", entry.source())),
                false => "/dev/null".to_owned(),
            };
            let (old_text, new_text) = (before.get(name), after.get(name));
            unified_diff_text(
                &path(old, old_text.is_some()),
                &path(new, new_text.is_some()),
                old_text.map_or("", |text| text),
                new_text.map_or("", |text| text),
            )
        })
        .collect();
    match differences.is_empty() {
        true => format!("\n{} is the same as {}\n", sanitize_text(new.source()), sanitize_text(old.source())),
        false => format!("\n{}", limit_lines(&differences)),
    }
}

/// The files of a definition, by their names in its directory, or the error of an invalid definition.
fn files(entry: &Entry) -> Result<BTreeMap<String, Arc<str>>, String> {
    let definition = entry.definition().map_err(|error| {
        format!("cannot compare {}: {}", sanitize_text(entry.source()), sanitize_text(error.message()))
    })?;
    let prefix = format!("{}/", entry.source());
    let name = |file: &str| file.strip_prefix(&prefix).unwrap_or(file).to_owned();
    Ok(definition.files.iter().map(|read| (name(&read.file), Arc::clone(&read.text))).collect())
}

/// The difference of two texts. Empty if they are equal.
pub(crate) fn unified_diff_text(old_path: &str, new_path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let diff = TextDiff::from_lines(old, new);
    let text = diff.unified_diff().header(old_path, new_path).to_string();
    // Files may be untrusted, so control characters must not reach the terminal.
    text.lines().map(|line| format!("{}\n", sanitize_text(line))).collect()
}

fn limit_lines(text: &str) -> String {
    let lines = text.lines().count();
    if lines <= MOST_LINES {
        return text.to_owned();
    }
    let shown: String = text.lines().take(MOST_LINES).map(|line| format!("{line}\n")).collect();
    format!("{shown}… {} more lines …\n", lines - MOST_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_differ_line_by_line() {
        assert_eq!(unified_diff_text("a", "b", "same\n", "same\n"), "");
        let text = unified_diff_text("a", "b", "one\ntwo\n", "one\nthree\x1b[2J\n");
        assert!(text.starts_with("--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two\n+three"), "{text}");
        assert!(!text.contains('\x1b'), "{text:?}");
    }

    #[test]
    fn long_differences_are_cut() {
        let text: String = (0..500).map(|line| format!("{line}\n")).collect();
        assert!(limit_lines(&text).ends_with("199\n… 300 more lines …\n"));
        assert_eq!(limit_lines("a\n"), "a\n");
    }
}
