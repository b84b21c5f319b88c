//! Differences between texts, for people.

use similar::TextDiff;

/// Longest text in a message, in characters.
const MAX_SHOWN: usize = 80;

/// Most lines of a difference.
const MAX_LINES: usize = 60;

/// The start of a long text.
pub(crate) fn truncate_text(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The lines that differ, in the form of `diff -u`; empty for texts of one short line, which a message shows whole.
pub(crate) fn describe_difference(expected: &str, actual: &str) -> String {
    let is_short = |text: &str| !text.contains('\n') && text.chars().count() <= MAX_SHOWN;
    if is_short(expected) && is_short(actual) {
        return String::new();
    }
    diff_lines(expected, actual, "expected", "actual")
}

/// The lines that differ, with the names of both sides.
#[must_use]
pub fn diff_lines(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let text = diff.unified_diff().context_radius(2).header(old_name, new_name).to_string();
    let count = text.lines().count();
    let mut shown: Vec<&str> = text.lines().take(MAX_LINES).collect();
    let rest = format!("… {} more lines …", count.saturating_sub(MAX_LINES));
    if count > MAX_LINES {
        shown.push(&rest);
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_texts_have_a_difference() {
        assert_eq!(describe_difference("a", "b"), "");
        let text = describe_difference("one\ntwo\n", "one\nthree\n");
        assert_eq!(text, "--- expected\n+++ actual\n@@ -1,2 +1,2 @@\n one\n-two\n+three");
    }
}
