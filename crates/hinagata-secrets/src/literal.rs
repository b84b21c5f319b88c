//! Reads the value at a place: in quotes, as a block of YAML, or bare.

use std::{ops::Range, sync::LazyLock};

use regex::bytes::Regex;

use crate::{encoded::is_base64, value::LONGEST};

/// The longest value without quotes that may have any characters.
const LONGEST_BARE: usize = 256;

/// What may precede the quote of a literal: a bracket and a new line, a prefix such as `r` or `@`.
static BEFORE_QUOTE: LazyLock<Regex> = LazyLock::new(|| {
    anchored(r"(?:[ \t]*[(\[]?[ \t]*\r?\n\s{0,80})?(?:[@$]{1,2}|!!str |[rRbBuUfFLN]{1,2}#{0,3}|%[qQ]?)?")
});

/// Calls around a literal: `String::from("…")`, `new Secret("…")`, `Some("…".into())`.
static CALLS: LazyLock<Regex> =
    LazyLock::new(|| anchored(r"(?:new\s+)?(?:[&*]?[A-Za-z_][A-Za-z0-9_.:<>]{0,60}!?\(\s{0,40}){1,2}"));

/// The header of a block of YAML.
static BLOCK_HEADER: LazyLock<Regex> = LazyLock::new(|| anchored(r"[|>][0-9]?[+-]?[ \t]*(?:#[^\n]*)?\r?\n"));

fn anchored(pattern: &str) -> Regex {
    Regex::new(&format!("^(?-u:{pattern})")).expect("a test finds examples with each pattern")
}

/// A literal in quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quoted {
    /// What the quotes enclose.
    pub(crate) range: Range<usize>,
    /// Where the text goes on.
    pub(crate) end: usize,
    /// Whether it is the argument of a call.
    pub(crate) is_argument: bool,
}

/// The part of a text that is read to find a literal.
fn window(text: &[u8], at: usize) -> &[u8] {
    &text[at.min(text.len())..(at + LONGEST).min(text.len())]
}

/// The literal in quotes at `at`.
pub(crate) fn read_quoted(text: &[u8], at: usize) -> Option<Quoted> {
    let prefix = BEFORE_QUOTE.find(window(text, at)).map_or(0, |prefix| prefix.end());
    if let Some(found) = read_quotes(text, at + prefix) {
        return Some(found);
    }
    let calls = CALLS.find(window(text, at))?;
    read_quotes(text, at + calls.end()).map(|found| Quoted { is_argument: true, ..found })
}

/// The literal whose quote, perhaps with backslashes before it, is at `at`.
fn read_quotes(text: &[u8], at: usize) -> Option<Quoted> {
    let backslashes = text[at.min(text.len())..].iter().take_while(|byte| **byte == b'\\').count();
    let quote = *text.get(at + backslashes).filter(|byte| b"\"'`".contains(byte))?;
    let triple = [quote; 3];
    let is_triple = backslashes == 0 && text[at..].starts_with(&triple);
    let mut close = vec![b'\\'; backslashes];
    close.extend_from_slice(if is_triple { &triple } else { &triple[..1] });
    let start = at + close.len();
    let spans_lines = is_triple || quote == b'`';
    let len = quoted_len(window(text, start), &close, spans_lines)?;
    Some(Quoted { range: start..start + len, end: start + len + close.len(), is_argument: false })
}

/// The length of what `close` ends.
fn quoted_len(text: &[u8], close: &[u8], spans_lines: bool) -> Option<usize> {
    let mut place = 0;
    while place < text.len() {
        match text[place] {
            _ if text[place..].starts_with(close) => return Some(place),
            b'\n' if !spans_lines => return None,
            b'\\' if close.len() == 1 => place += 2,
            _ => place += 1,
        }
    }
    None
}

/// The block of YAML whose header is at `at`: its lines, without the indentation of the first one.
pub(crate) fn read_block(text: &[u8], at: usize) -> Option<Range<usize>> {
    let body = at + BLOCK_HEADER.find(window(text, at))?.end();
    let indent = count_blanks(&text[body..]);
    let mut end = body;
    for line in window(text, body).split_inclusive(|byte| *byte == b'\n') {
        let is_blank = line.iter().all(u8::is_ascii_whitespace);
        if count_blanks(line) < indent.max(1) && !is_blank {
            break;
        }
        end += line.len();
    }
    let start = body + indent;
    let len = text.get(start..end)?.trim_ascii_end().len();
    (len > 0).then_some(start..start + len)
}

/// The value without quotes at `at`: up to a blank, a quote or one of `ends`, without punctuation at its end. Only the
/// characters of tokens are in a long one.
pub(crate) fn read_bare(text: &[u8], at: usize, ends: &[u8]) -> Range<usize> {
    let goes_on =
        |byte: &&u8| !byte.is_ascii_whitespace() && !b"\"'`<>".contains(byte) && !ends.contains(byte);
    let len = window(text, at).iter().take_while(goes_on).count();
    let value = &text[at..at + len];
    let punctuation = value.iter().rev().take_while(|byte| b",;)]}\\".contains(byte)).count();
    let len = len - punctuation;
    let padding = value[..len].iter().rev().take_while(|byte| **byte == b'=').count();
    let is_token = |byte: &u8| *byte != b'=' && (is_base64(*byte) || b".~".contains(byte));
    match len <= LONGEST_BARE || value[..len - padding].iter().all(is_token) {
        true => at..at + len,
        false => at..at,
    }
}

/// The number of blanks and tabs at the start of `text`.
pub(crate) fn count_blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> Option<&str> {
        Some(&text[read_quoted(text.as_bytes(), 0)?.range])
    }

    #[test]
    fn literals_of_many_languages_are_read() {
        for text in [
            r#""value""#,
            "'value'",
            "`value`",
            r#"@"value""#,
            r#"r"value""#,
            r##"r#"value"#"##,
            r#"\"value\","#,
            r#"\\\"value\\\","#,
            r#""""value""""#,
            "(\n    \"value\"\n)",
            r#"String::from("value")"#,
            r#"new Secret("value")"#,
            r#"Some(Secret::new("value"))"#,
            "!!str 'value'",
        ] {
            assert_eq!(quoted(text), Some("value"), "{text}");
        }
        assert_eq!(quoted(r#""a\"b""#), Some(r#"a\"b"#));
        for text in ["value", "\"value", "\"val\nue\"", "f(x, \"value\")"] {
            assert_eq!(quoted(text), None, "{text}");
        }
    }

    #[test]
    fn blocks_end_where_their_indentation_ends() {
        let text = "|-\n    one\n      two\n\n    three\n  next: 1\n";
        let range = read_block(text.as_bytes(), 0).expect("a block");
        assert_eq!(&text[range], "one\n      two\n\n    three");
        assert_eq!(read_block(b"|\n", 0), None);
        assert_eq!(read_block(b"value", 0), None);
    }

    #[test]
    fn bare_values_end_at_blanks_and_quotes() {
        let bare = |text: &str, ends: &str| text[read_bare(text.as_bytes(), 0, ends.as_bytes())].to_owned();
        assert_eq!(bare("a#b;c more", ""), "a#b;c");
        assert_eq!(bare("abc;d", ";&"), "abc");
        assert_eq!(bare("abc\", x", ""), "abc");
        assert_eq!(bare("abc},", ""), "abc");
    }
}
