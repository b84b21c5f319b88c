//! Braces: `{a,b}` and `{1..3}` expand a pattern to several.

use crate::{Error, Result};

/// Most patterns that one pattern may expand to.
const MOST: usize = 1_000;

/// The patterns that `pattern` expands to, in order.
pub(crate) fn expand_braces(pattern: &str) -> Result<Vec<String>> {
    let mut expanded = Vec::new();
    let mut waiting = vec![pattern.to_owned()];
    while let Some(next) = waiting.pop() {
        let Some(brace) = Brace::first(&next) else {
            expanded.push(next);
            continue;
        };
        let (before, after) = (&next[..brace.open], &next[brace.close + 1..]);
        // The stack pops the last item first.
        waiting.extend(brace.items.iter().rev().map(|item| format!("{before}{item}{after}")));
        if waiting.len() + expanded.len() > MOST {
            let message = format!("its braces expand to more than {MOST} patterns");
            return Err(Error::Pattern { pattern: pattern.to_owned(), message });
        }
    }
    Ok(expanded)
}

/// A brace that can be expanded: its start, its end and its items.
struct Brace {
    open: usize,
    close: usize,
    items: Vec<String>,
}

impl Brace {
    /// The first brace of `pattern` that can be expanded.
    fn first(pattern: &str) -> Option<Self> {
        let bytes = pattern.as_bytes();
        let mut opened: Vec<usize> = Vec::new();
        let mut found: Option<Self> = None;
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 1,
                b'{' => opened.push(at),
                b'}' => {
                    if let Some(open) = opened.pop()
                        && let Some(items) = items(&pattern[open + 1..at])
                        && found.as_ref().is_none_or(|found| open < found.open)
                    {
                        found = Some(Self { open, close: at, items });
                        if opened.is_empty() {
                            break;
                        }
                    }
                }
                _ => {}
            }
            at += 1;
        }
        found
    }
}

/// The items between braces; `None` for literal text.
fn items(inner: &str) -> Option<Vec<String>> {
    let bytes = inner.as_bytes();
    let (mut items, mut start, mut depth, mut at) = (Vec::new(), 0, 0_usize, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                items.push(inner[start..at].to_owned());
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if items.is_empty() {
        return range(inner);
    }
    items.push(inner[start..].to_owned());
    Some(items)
}

/// The items of a range: `1..3` or `a..c`.
fn range(inner: &str) -> Option<Vec<String>> {
    let (from, to) = inner.split_once("..")?;
    if let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) {
        if from.abs_diff(to) >= MOST as u64 {
            return None;
        }
        let up = (from.min(to)..=from.max(to)).map(|number| number.to_string());
        return Some(if from <= to { up.collect() } else { up.rev().collect() });
    }
    let (&[from], &[to]) = (from.as_bytes(), to.as_bytes()) else { return None };
    if !from.is_ascii_alphabetic() || !to.is_ascii_alphabetic() {
        return None;
    }
    let up = (from.min(to)..=from.max(to)).map(|letter| char::from(letter).to_string());
    Some(if from <= to { up.collect() } else { up.rev().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_give_their_items_in_order() {
        for (pattern, expected) in [
            ("a.{ts,js}", vec!["a.ts", "a.js"]),
            ("{a,b}/{c,d}", vec!["a/c", "a/d", "b/c", "b/d"]),
            ("{a,b{c,d}}", vec!["a", "bc", "bd"]),
            ("x{1..3}", vec!["x1", "x2", "x3"]),
            ("{c..a}", vec!["c", "b", "a"]),
            ("{a}", vec!["{a}"]),
            ("{{a,b}}", vec!["{a}", "{b}"]),
            ("\\{a,b}", vec!["\\{a,b}"]),
            ("{a,b", vec!["{a,b"]),
            ("a}b{c,}", vec!["a}bc", "a}b"]),
            ("", vec![""]),
        ] {
            assert_eq!(expand_braces(pattern).expect(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn braces_cannot_blow_up() {
        assert!(expand_braces(&"{a,b}".repeat(40)).is_err());
        assert!(expand_braces(&"{".repeat(10_000)).is_ok());
        assert_eq!(expand_braces("{1..999999999}").expect("is text"), ["{1..999999999}"]);
    }
}
