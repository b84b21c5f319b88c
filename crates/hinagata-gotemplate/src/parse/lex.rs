//! Splits a source into tokens.
//!
//! The parser requests one token at a time. An error is the last token; the parser decides how it is
//! reported.

use std::borrow::Cow;

use super::token::{Keyword, Kind, Token};
use crate::text::{
    quote,
    unicode::{is_alphanumeric, is_print},
};

/// The delimiters of actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delims {
    pub(crate) left: Box<str>,
    pub(crate) right: Box<str>,
}

impl Delims {
    /// Creates delimiters. An empty one means the default.
    pub(crate) fn new(left: &str, right: &str) -> Self {
        let or = |given: &str, usual: &str| if given.is_empty() { usual.into() } else { given.into() };
        Self { left: or(left, "{{"), right: or(right, "}}") }
    }
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];
const COMMENT_START: &str = "/*";
const COMMENT_END: &str = "*/";
/// Bytes of a trim marker: `-` and a space.
const MARKER: usize = 2;

pub(crate) struct Lexer<'s> {
    source: &'s str,
    delims: &'s Delims,
    /// The offset of the next character.
    at: usize,
    /// The offset and line where the current token starts.
    start: usize,
    line: u32,
    in_action: bool,
    parens: u32,
    /// Whether `break` and `continue` are keywords. They are not if host functions have these names.
    loop_words: LoopWords,
}

/// Whether each of the loop words is a keyword.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopWords {
    pub(crate) break_: bool,
    pub(crate) continue_: bool,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str, delims: &'s Delims, loop_words: LoopWords) -> Self {
        Self { source, delims, at: 0, start: 0, line: 1, in_action: false, parens: 0, loop_words }
    }

    pub(crate) fn next_token(&mut self) -> Token<'s> {
        if self.in_action { self.action_token() } else { self.text_token() }
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn accept(&mut self, set: &str) -> bool {
        let found = self.peek().is_some_and(|next| set.contains(next));
        if found {
            self.at += 1;
        }
        found
    }

    fn accept_run(&mut self, set: &str) {
        while self.accept(set) {}
    }

    /// Creates a token from the text since the last one.
    fn token(&mut self, kind: Kind) -> Token<'s> {
        let text = &self.source[self.start..self.at];
        let token = Token { kind, start: self.start as u32, line: self.line, text: Cow::Borrowed(text) };
        self.skip();
        token
    }

    /// Skips the text since the last token.
    fn skip(&mut self) {
        let newlines =
            self.source.as_bytes()[self.start..self.at].iter().filter(|&&byte| byte == b'\n').count();
        self.line += newlines as u32;
        self.start = self.at;
    }

    fn error(&mut self, message: impl Into<Cow<'s, str>>) -> Token<'s> {
        Token { kind: Kind::Error, start: self.start as u32, line: self.line, text: message.into() }
    }

    /// Reads the text before the next action, or the start of that action. Comments are skipped.
    fn text_token(&mut self) -> Token<'s> {
        loop {
            let Some(found) = self.rest().find(&*self.delims.left) else {
                self.at = self.source.len();
                return self.token(if self.at > self.start { Kind::Text } else { Kind::Eof });
            };
            let delim = self.at + found;
            let text = &self.source[self.at..delim];
            let after = delim + self.delims.left.len();
            let trims = starts_with_left_marker(&self.source[after..]);
            let kept = if trims { text.trim_end_matches(SPACES) } else { text };
            self.at += kept.len();
            if !kept.is_empty() {
                let token = self.token(Kind::Text);
                self.at = delim;
                self.skip();
                return token;
            }
            self.at = delim;
            self.skip();
            match self.left_delim(after, trims) {
                Some(token) => return token,
                None => continue,
            }
        }
    }

    /// Reads the start of an action. `None` after a comment.
    fn left_delim(&mut self, after: usize, trims: bool) -> Option<Token<'s>> {
        let body = after + if trims { MARKER } else { 0 };
        if self.source[body..].starts_with(COMMENT_START) {
            self.at = body;
            self.skip();
            return self.comment();
        }
        self.at = after;
        let token = self.token(Kind::LeftDelim);
        self.in_action = true;
        self.parens = 0;
        self.at = body;
        self.skip();
        Some(token)
    }

    fn comment(&mut self) -> Option<Token<'s>> {
        self.at += COMMENT_START.len();
        let Some(end) = self.rest().find(COMMENT_END) else {
            return Some(self.error("unclosed comment"));
        };
        self.at += end + COMMENT_END.len();
        let Some(trims) = self.at_right_delim() else {
            return Some(self.error("comment ends before closing delimiter"));
        };
        self.finish_right_delim(trims);
        None
    }

    /// Whether the rest starts with a right delimiter, and whether that one trims.
    fn at_right_delim(&self) -> Option<bool> {
        let rest = self.rest();
        if starts_with_right_marker(rest) && rest[MARKER..].starts_with(&*self.delims.right) {
            return Some(true);
        }
        rest.starts_with(&*self.delims.right).then_some(false)
    }

    fn finish_right_delim(&mut self, trims: bool) -> Token<'s> {
        if trims {
            self.at += MARKER;
            self.skip();
        }
        self.at += self.delims.right.len();
        let token = self.token(Kind::RightDelim);
        if trims {
            self.at = self.source.len() - self.rest().trim_start_matches(SPACES).len();
            self.skip();
        }
        self.in_action = false;
        token
    }

    fn action_token(&mut self) -> Token<'s> {
        if let Some(trims) = self.at_right_delim() {
            if self.parens > 0 {
                return self.error("unclosed left paren");
            }
            return self.finish_right_delim(trims);
        }
        let Some(next) = self.bump() else { return self.error("unclosed action") };
        match next {
            ' ' | '\t' | '\r' | '\n' => self.space(),
            '=' => self.token(Kind::Assign),
            ':' if self.bump() == Some('=') => self.token(Kind::Declare),
            ':' => self.error("expected :="),
            '|' => self.token(Kind::Pipe),
            '"' => self.quoted('"', Kind::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', Kind::CharConstant, "unterminated character constant"),
            '`' => self.raw_string(),
            '$' => self.field_or_variable(Kind::Variable),
            '.' if self.rest().bytes().next().is_some_and(|byte| !byte.is_ascii_digit()) => {
                self.field_or_variable(Kind::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.at = self.start;
                self.number()
            }
            '(' => {
                self.parens += 1;
                self.token(Kind::LeftParen)
            }
            ')' if self.parens == 0 => self.error("unexpected right paren"),
            ')' => {
                self.parens -= 1;
                self.token(Kind::RightParen)
            }
            _ if is_alphanumeric(next) => self.identifier(),
            _ if next.is_ascii() && is_print(next) => self.token(Kind::Char),
            _ => {
                let message = format!("unrecognized character in action: {}", code_point(next));
                self.error(message)
            }
        }
    }

    fn space(&mut self) -> Token<'s> {
        self.at = self.source.len() - self.rest().trim_start_matches(SPACES).len();
        // The last space may belong to a trim marker.
        let last = &self.source[self.at - 1..];
        if starts_with_right_marker(last) && last[MARKER..].starts_with(&*self.delims.right) {
            self.at -= 1;
            if self.at == self.start {
                return self.finish_right_delim(true);
            }
        }
        self.token(Kind::Space)
    }

    fn identifier(&mut self) -> Token<'s> {
        self.take_word();
        if !self.at_terminator() {
            return self.bad_character();
        }
        let word = &self.source[self.start..self.at];
        let kind = match Keyword::from_word(word) {
            Some(Keyword::Break) if !self.loop_words.break_ => Kind::Identifier,
            Some(Keyword::Continue) if !self.loop_words.continue_ => Kind::Identifier,
            Some(keyword) => Kind::Keyword(keyword),
            None if word == "true" || word == "false" => Kind::Bool,
            None => Kind::Identifier,
        };
        self.token(kind)
    }

    fn field_or_variable(&mut self, kind: Kind) -> Token<'s> {
        if self.at_terminator() {
            let alone = if kind == Kind::Field { Kind::Keyword(Keyword::Dot) } else { kind };
            return self.token(alone);
        }
        self.take_word();
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.token(kind)
    }

    fn take_word(&mut self) {
        while self.peek().is_some_and(is_alphanumeric) {
            self.bump();
        }
    }

    fn bad_character(&mut self) -> Token<'s> {
        let message = self.peek().map(|next| format!("bad character {}", code_point(next)));
        self.error(message.unwrap_or_default())
    }

    /// Whether a name may end here.
    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some(' ' | '\t' | '\r' | '\n' | '.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(_) => self.rest().starts_with(&*self.delims.right),
        }
    }

    fn quoted(&mut self, quote: char, kind: Kind, unterminated: &'static str) -> Token<'s> {
        loop {
            match self.bump() {
                Some('\\') => {
                    if matches!(self.bump(), None | Some('\n')) {
                        return self.error(unterminated);
                    }
                }
                None | Some('\n') => return self.error(unterminated),
                Some(next) if next == quote => return self.token(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_string(&mut self) -> Token<'s> {
        match self.rest().find('`') {
            Some(end) => {
                self.at += end + 1;
                self.token(Kind::RawString)
            }
            None => self.error("unterminated raw quoted string"),
        }
    }

    /// Reads a number, or two with a sign between them. Only the characters are checked.
    fn number(&mut self) -> Token<'s> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if !matches!(self.peek(), Some('+' | '-')) {
            return self.token(Kind::Number);
        }
        if !self.scan_number() || self.source.as_bytes()[self.at - 1] != b'i' {
            return self.bad_number();
        }
        self.token(Kind::Complex)
    }

    fn scan_number(&mut self) -> bool {
        const DECIMAL: &str = "0123456789_";
        self.accept("+-");
        let (digits, exponent) = if !self.accept("0") {
            (DECIMAL, "eE")
        } else if self.accept("xX") {
            ("0123456789abcdefABCDEF_", "pP")
        } else if self.accept("oO") {
            ("01234567_", "")
        } else if self.accept("bB") {
            ("01_", "")
        } else {
            (DECIMAL, "eE")
        };
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        if self.accept(exponent) {
            self.accept("+-");
            self.accept_run(DECIMAL);
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.bump();
            return false;
        }
        true
    }

    fn bad_number(&mut self) -> Token<'s> {
        let message = format!("bad number syntax: {}", quote::quote_text(&self.source[self.start..self.at]));
        self.error(message)
    }
}

fn starts_with_left_marker(text: &str) -> bool {
    matches!(text.as_bytes(), [b'-', b' ' | b'\t' | b'\r' | b'\n', ..])
}

fn starts_with_right_marker(text: &str) -> bool {
    matches!(text.as_bytes(), [b' ' | b'\t' | b'\r' | b'\n', b'-', ..])
}

/// A character in the format of `%#U`.
fn code_point(c: char) -> String {
    let code = u32::from(c);
    if is_print(c) { format!("U+{code:04X} '{c}'") } else { format!("U+{code:04X}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(Kind, String)> {
        let delims = Delims::new("", "");
        let mut lexer = Lexer::new(source, &delims, LoopWords { break_: true, continue_: true });
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next_token();
            tokens.push((token.kind, token.text.to_string()));
            if matches!(token.kind, Kind::Eof | Kind::Error) {
                return tokens;
            }
        }
    }

    fn texts(source: &str) -> Vec<String> {
        kinds(source).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn trim_markers_take_the_space_around_actions() {
        assert_eq!(texts("a \n{{- 1 -}}\n b"), ["a", "{{", "1", "}}", "b", ""]);
        assert_eq!(texts("a {{- /* c */ -}} b"), ["a", "b", ""]);
        assert_eq!(texts("{{1  -}}"), ["{{", "1", " ", "}}", ""]);
        assert_eq!(texts("{{-1}}"), ["{{", "-1", "}}", ""]);
    }

    #[test]
    fn a_dot_is_a_field_a_number_or_itself() {
        assert_eq!(texts("{{.a.b .5 .}}"), ["{{", ".a", ".b", " ", ".5", " ", ".", "}}", ""]);
        assert_eq!(kinds("{{.}}")[1].0, Kind::Keyword(Keyword::Dot));
    }

    #[test]
    fn lines_are_those_where_a_token_starts() {
        let delims = Delims::new("", "");
        let source = "a\n{{- `x\ny` -}}\n\n{{1\n}}";
        let mut lexer = Lexer::new(source, &delims, LoopWords { break_: true, continue_: true });
        let lines: Vec<_> =
            std::iter::from_fn(|| Some(lexer.next_token())).map(|token| token.line).take(8).collect();
        assert_eq!(lines, [1, 2, 2, 3, 5, 5, 5, 6]);
    }

    #[test]
    fn errors_are_the_last_token() {
        for (source, message) in [
            ("{{", "unclosed action"),
            ("{{.x", "unclosed action"),
            ("{{(1}}", "unclosed left paren"),
            ("{{:}}", "expected :="),
            ("{{3k}}", "bad number syntax: \"3k\""),
            ("{{.x!}}", "bad character U+0021 '!'"),
            ("{{\u{1}}}", "unrecognized character in action: U+0001"),
            ("{{/* x", "unclosed comment"),
            ("{{/* x */ }}", "comment ends before closing delimiter"),
        ] {
            assert_eq!(
                kinds(source).last().expect("has tokens"),
                &(Kind::Error, message.to_owned()),
                "{source}"
            );
        }
    }
}
