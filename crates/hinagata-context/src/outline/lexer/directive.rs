//! Lines for the preprocessor, such as `#define` and `#if`.

use super::{
    super::language::Quote,
    Lexer,
    literal::{self, StringEnd},
};

/// A string in a line for the preprocessor.
const QUOTE: Quote = Quote {
    open: "\"",
    close: "\"",
    has_escapes: true,
    is_doubled: false,
    spans_lines: false,
    expression: None,
};

impl Lexer<'_> {
    /// The end of a line for the preprocessor, with the lines that continue it; before a comment that does not end on it.
    pub(super) fn directive_end(&self) -> usize {
        let mut at = self.at;
        while let Some(found) = memchr::memchr3(b'\n', b'/', b'"', &self.text[at..]) {
            at += found;
            match self.text[at] {
                b'\n' => {
                    let line = &self.text[self.at..at];
                    let line = line.strip_suffix(b"\r").unwrap_or(line);
                    if !line.ends_with(b"\\") {
                        return at;
                    }
                    at += 1;
                }
                b'/' if self.text[at..].starts_with(b"/*") => {
                    let end = literal::find_after(self.text, at + 2, "*/");
                    match end.filter(|end| memchr::memchr(b'\n', &self.text[at..*end]).is_none()) {
                        Some(end) => at = end,
                        None => return at,
                    }
                }
                b'/' if self.text[at..].starts_with(b"//") => {
                    let rest = &self.text[at..];
                    at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                b'"' => {
                    at = match literal::find_string_end(self.text, at + 1, QUOTE) {
                        StringEnd::Closed(end) | StringEnd::Expression(end) | StringEnd::Open(end) => end,
                    };
                }
                _ => at += 1,
            }
        }
        self.text.len()
    }

    /// Skips the branches of a condition of the preprocessor up to its end or, with `stops_at_else`, up to its next
    /// branch. Returns whether it stopped at another branch.
    pub(in super::super) fn skip_branch(&mut self, stops_at_else: bool) -> bool {
        let mut depth = 0;
        while self.at < self.text.len() {
            let end = self.line_end();
            match directive_name(&self.text[self.at..end]) {
                b"if" | b"ifdef" | b"ifndef" => depth += 1,
                b"endif" if depth == 0 => {
                    self.advance_to(end);
                    return false;
                }
                b"endif" => depth -= 1,
                b"else" | b"elif" | b"elseif" if depth == 0 && stops_at_else => {
                    self.advance_to(end);
                    return true;
                }
                _ => {}
            }
            self.advance_to((end + 1).min(self.text.len()));
        }
        false
    }
}

/// The word of a preprocessor line; empty for other lines.
pub(in super::super) fn directive_name(line: &[u8]) -> &[u8] {
    let Some(rest) = line.trim_ascii_start().strip_prefix(b"#") else { return b"" };
    let rest = rest.trim_ascii_start();
    let len = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    &rest[..len]
}
