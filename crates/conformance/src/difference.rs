//! Shows where two outcomes differ.
//!
//! Texts are quoted with escapes, because the difference in templates is often whitespace. Multiline texts are
//! compared line by line. A long line is truncated to the surroundings of the first difference.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use crate::case::{Mismatch, Side};

/// Maximum characters of a line.
const WIDTH: usize = 240;
/// Characters before the first difference of a truncated line.
const LEAD: usize = 60;
/// Equal lines shown around a difference.
const CONTEXT: usize = 2;
/// Maximum lines of a difference.
const LINES: usize = 60;

/// Describes the two sides of `mismatch` as indented lines.
pub(crate) fn describe_mismatch(mismatch: &Mismatch) -> String {
    let Mismatch { expected, actual } = mismatch;
    let mut text = String::new();
    for field in &expected.0 {
        match actual.get(field.name) {
            Some(other) if other == field.text => {}
            Some(other) => describe_both(&mut text, field.name, &field.text, other),
            None => describe_one(&mut text, "expected", field.name, &field.text),
        }
    }
    for field in fields_only_in(actual, expected) {
        describe_one(&mut text, "actual", field.name, &field.text);
    }
    text
}

fn fields_only_in<'a>(side: &'a Side, other: &'a Side) -> impl Iterator<Item = &'a crate::case::Field> {
    side.0.iter().filter(|field| other.get(field.name).is_none())
}

fn describe_one(text: &mut String, side: &str, name: &str, value: &str) {
    let _ = writeln!(text, "  {side:8}  {name}: {}", quote(value, 0));
}

fn describe_both(text: &mut String, name: &str, expected: &str, actual: &str) {
    if expected.lines().nth(1).is_some() || actual.lines().nth(1).is_some() {
        let _ = writeln!(text, "  {name} (- expected, + actual):");
        describe_lines(text, expected, actual);
        return;
    }
    let from = expected.chars().zip(actual.chars()).take_while(|(left, right)| left == right).count();
    let _ = writeln!(text, "  expected  {name}: {}", quote(expected, from));
    let _ = writeln!(text, "  actual    {name}: {}", quote(actual, from));
}

fn describe_lines(text: &mut String, expected: &str, actual: &str) {
    let diff = TextDiff::from_lines(expected, actual);
    let mut lines = 0;
    for (number, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if number > 0 {
            text.push_str("      ...\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            lines += 1;
            if lines > LINES {
                text.push_str("      ... and more\n");
                return;
            }
            let (sign, line) = match change.tag() {
                ChangeTag::Equal => (' ', change.old_index()),
                ChangeTag::Delete => ('-', change.old_index()),
                ChangeTag::Insert => ('+', change.new_index()),
            };
            let line = line.map_or(0, |index| index + 1);
            let _ = writeln!(text, "    {sign} {line:>4} {}", quote(change.value(), 0));
        }
    }
}

/// Quotes `value` with escapes, truncated around character `from`.
fn quote(value: &str, from: usize) -> String {
    let total = value.chars().count();
    if total <= WIDTH {
        return format!("{value:?}");
    }
    let start = from.saturating_sub(LEAD).min(total - WIDTH);
    let part: String = value.chars().skip(start).take(WIDTH).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if start + WIDTH < total { "…" } else { "" };
    format!("{before}{part:?}{after} (characters {}–{} of {total})", start + 1, start + WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(expected: &str, actual: &str) -> String {
        describe_mismatch(&Mismatch {
            expected: Side::new("output", expected),
            actual: Side::new("output", actual),
        })
    }

    #[test]
    fn short_texts_are_shown_one_above_the_other() {
        assert_eq!(outputs("a b", "a\tb"), "  expected  output: \"a b\"\n  actual    output: \"a\\tb\"\n");
    }

    #[test]
    fn multiline_texts_are_compared_line_by_line() {
        let text = outputs("one\ntwo\nthree\n", "one\n2\nthree\n");
        assert!(text.contains("-    2 \"two\\n\""), "{text}");
        assert!(text.contains("+    2 \"2\\n\""), "{text}");
    }

    #[test]
    fn a_long_line_is_truncated_around_its_first_difference() {
        let (left, right) = (format!("{}x{}", "a".repeat(900), "b".repeat(900)), "a".repeat(1801));
        let text = outputs(&left, &right);
        assert!(text.contains("aaaaxbbbb"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() < WIDTH + 80), "{text}");
    }

    #[test]
    fn a_text_on_one_side_only_is_named_with_its_side() {
        let mismatch = Mismatch { expected: Side::new("output", "x"), actual: Side::new("error", "no") };
        assert_eq!(describe_mismatch(&mismatch), "  expected  output: \"x\"\n  actual    error: \"no\"\n");
    }
}
