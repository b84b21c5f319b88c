//! Splits source text into tokens: words, brackets, punctuation, strings, comments and instructions to a preprocessor.
//!
//! One lexer serves every language with braces or indented bodies; its table row says which forms the language has. It
//! runs in linear time: each byte is looked at a bounded number of times, whatever stands there.

mod directive;
mod jsx;
mod literal;
mod punctuation;
mod text;

use std::collections::VecDeque;

use super::language::{Quote, RawString, Row};
pub(super) use directive::directive_name;
use jsx::Jsx;
use literal::PendingHeredoc;

/// A piece of source text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The line that it starts on, from 0.
    pub(super) line: usize,
    pub(super) last_line: usize,
    /// Whether nothing stands before it on its line.
    pub(super) is_first: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    /// `(`, `[` or `{`
    Open(u8),
    /// `)`, `]` or `}`
    Close(u8),
    Punctuation(u8),
    /// A string, a character, a regular expression or a here-document.
    Text,
    /// Text around code.
    Outside,
    Comment,
    /// A line for the preprocessor.
    Directive,
}

/// What a byte of code can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Blank,
    LineEnd,
    Word,
    /// Punctuation without meaning for brackets and literals.
    Plain,
    /// The start of a comment or a string.
    Start,
    Other,
}

/// What stands before a slash, and so what the slash means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// A value: the slash divides.
    Operand,
    /// The word from here to `at` or to a blank before it: an operator, a value, or a function that is called without
    /// parentheses.
    Word { start: usize, end: usize },
    /// A brace that ends a block or a value: at the start of a line, the slash opens a regular expression.
    Brace,
    /// Anything else: the slash opens a regular expression.
    Operator,
}

/// Text that is not read as plain code, and code inside of it.
#[derive(Clone, Copy, Debug)]
enum Mode {
    /// An expression in a string, with its open brackets.
    Template {
        brackets: usize,
        line: usize,
        quote: Quote,
    },
    /// An expression between tags or in one, with its open braces.
    Expression {
        braces: usize,
    },
    Jsx(Jsx),
    /// Text before `<?php` or behind `?>`.
    Html,
}

pub(super) struct Lexer<'t> {
    pub(super) text: &'t [u8],
    row: &'static Row,
    at: usize,
    line: usize,
    line_start: usize,
    is_first: bool,
    before: Before,
    classes: [Class; 256],
    modes: Vec<Mode>,
    heredocs: VecDeque<PendingHeredoc>,
    /// Whether each open parenthesis belongs to `if`, `while` or `for`: an operand follows it.
    conditions: Vec<bool>,
    /// No regular expression that starts before this place ends. Without it, a line of slashes would take quadratic
    /// time.
    regex_free_end: usize,
    is_arithmetic: bool,
    /// The line of a string, comment or tag that does not end.
    pub(super) unclosed: Option<usize>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(row: &'static Row, text: &'t str) -> Self {
        let modes = if row.forms.is_in_html { vec![Mode::Html] } else { Vec::new() };
        let mark = '\u{feff}';
        Self {
            text: text.as_bytes(),
            row,
            at: if text.starts_with(mark) { mark.len_utf8() } else { 0 },
            line: 0,
            line_start: 0,
            is_first: true,
            before: Before::Operator,
            classes: classify_bytes(row),
            modes,
            heredocs: VecDeque::new(),
            conditions: Vec::new(),
            regex_free_end: 0,
            is_arithmetic: false,
            unclosed: None,
        }
    }

    /// The next token; `None` at the end of the text.
    pub(super) fn next_token(&mut self) -> Option<Token> {
        loop {
            match self.modes.last() {
                Some(Mode::Html) => return self.read_html(),
                Some(Mode::Jsx(jsx)) => {
                    let jsx = *jsx;
                    if let Some(token) = self.read_jsx(jsx) {
                        return Some(token);
                    }
                    continue;
                }
                _ => self.skip_blanks(),
            }
            let Some(&byte) = self.text.get(self.at) else {
                self.note_open_modes();
                return None;
            };
            let class = self.classes[usize::from(byte)];
            let token = match class {
                Class::Word => Some(self.read_word()),
                Class::Plain => Some(self.finish_short(TokenKind::Punctuation(byte), self.at, self.at + 1)),
                Class::Start | Class::Other => self.read_token(byte, class),
                Class::LineEnd | Class::Blank => self.end_line(),
            };
            if token.is_some() {
                return token;
            }
        }
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        let is_blank = |byte: &&u8| self.classes[usize::from(**byte)] == Class::Blank;
        self.at += rest.iter().take_while(is_blank).count();
    }

    /// The next bracket or line for the preprocessor: what counts in a body that is skipped.
    pub(super) fn next_bracket(&mut self) -> Option<Token> {
        loop {
            if !matches!(self.modes.last(), Some(Mode::Html | Mode::Jsx(_))) {
                self.skip_plain_code();
            }
            let token = self.next_token()?;
            if matches!(token.kind, TokenKind::Open(_) | TokenKind::Close(_) | TokenKind::Directive) {
                return Some(token);
            }
        }
    }

    /// Skips words, blanks and plain punctuation, for speed: most of a program are such.
    fn skip_plain_code(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            match self.classes[usize::from(byte)] {
                Class::Blank => self.skip_blanks(),
                Class::LineEnd if self.heredocs.is_empty() => {
                    self.end_line();
                }
                Class::Word => {
                    let end = self.word_end();
                    // A string can start with a word.
                    if self.text.get(end).is_some_and(|next| b"\"#'".contains(next)) {
                        return;
                    }
                    self.note_word(self.at, end);
                    self.is_first = false;
                    self.at = end;
                }
                Class::Plain => {
                    self.is_first = false;
                    self.at += 1;
                }
                Class::LineEnd | Class::Start | Class::Other => return,
            }
        }
    }

    pub(super) fn text_of(&self, token: &Token) -> &'t [u8] {
        &self.text[token.start..token.end]
    }

    /// The next byte that is not blank, which can be on a later line.
    pub(super) fn peek_byte(&self) -> Option<u8> {
        // Bounded, because every word looks ahead.
        let ahead = &self.text[self.at..self.text.len().min(self.at + 256)];
        ahead.iter().copied().find(|byte| !byte.is_ascii_whitespace())
    }

    fn note_open_modes(&mut self) {
        let line = self.modes.iter().find_map(|mode| match mode {
            Mode::Template { line, .. } => Some(*line),
            Mode::Jsx(jsx) => Some(jsx.line),
            Mode::Expression { .. } | Mode::Html => None,
        });
        self.unclosed = self.unclosed.or(line);
    }

    /// Ends a line; returns the here-documents that start behind it.
    fn end_line(&mut self) -> Option<Token> {
        self.at += 1;
        self.line += 1;
        self.line_start = self.at;
        self.is_first = true;
        self.is_arithmetic = false;
        if self.before == Before::Brace || self.row.raw == RawString::Ruby {
            self.before = Before::Operator;
        }
        if self.heredocs.is_empty() {
            return None;
        }
        let start = self.at;
        let mut end = start;
        while let Some(heredoc) = self.heredocs.pop_front() {
            let Some(found) = heredoc.find_end(self.text, end) else {
                self.unclosed = self.unclosed.or(Some(self.line));
                end = self.text.len();
                break;
            };
            end = found;
        }
        (start < end).then(|| self.finish_token(TokenKind::Text, start, end))
    }

    fn read_token(&mut self, byte: u8, class: Class) -> Option<Token> {
        let start = self.at;
        if byte == b'#' && self.is_first && self.row.forms.has_directives && !self.starts_quote() {
            return Some(self.finish_token(TokenKind::Directive, start, self.directive_end()));
        }
        if byte == b'#' && start == 0 && self.text.starts_with(b"#!") && self.text.get(2) != Some(&b'[') {
            return Some(self.finish_token(TokenKind::Comment, start, self.line_end()));
        }
        if class == Class::Start
            && let Some(token) = self.read_comment().or_else(|| self.read_quote())
        {
            return Some(token);
        }
        if let Some(end) = self.special_literal_end(byte) {
            return Some(self.finish_token(TokenKind::Text, start, end));
        }
        self.read_punctuation(byte)
    }

    fn read_word(&mut self) -> Token {
        let start = self.at;
        let end = self.word_end();
        if self.text.get(end).is_some_and(|next| b"\"#'".contains(next))
            && let Some(token) = self.read_prefixed(start, end)
        {
            return token;
        }
        if self.row.raw == RawString::Ruby && &self.text[start..end] == b"__END__" && start == self.line_start
        {
            return self.finish_token(TokenKind::Outside, start, self.text.len());
        }
        self.note_word(start, end);
        self.finish_short(TokenKind::Word, start, end)
    }

    fn word_end(&self) -> usize {
        let rest = &self.text[self.at..];
        let is_word = |byte: &&u8| self.classes[usize::from(**byte)] == Class::Word;
        self.at + rest.iter().take_while(is_word).count()
    }

    fn note_word(&mut self, start: usize, end: usize) {
        self.before = Before::Word { start, end };
    }

    fn line_end(&self) -> usize {
        memchr::memchr(b'\n', &self.text[self.at..]).map_or(self.text.len(), |found| self.at + found)
    }

    /// Notes that something which starts here does not end; returns the end of the text.
    fn note_unclosed(&mut self) -> usize {
        self.unclosed = self.unclosed.or(Some(self.line));
        self.text.len()
    }

    /// The token up to `end`, or up to the end of the text where it does not end.
    pub(super) fn finish_token_at(&mut self, kind: TokenKind, start: usize, end: Option<usize>) -> Token {
        let end = end.unwrap_or_else(|| self.note_unclosed());
        self.finish_token(kind, start, end)
    }

    pub(super) fn finish_token(&mut self, kind: TokenKind, start: usize, end: usize) -> Token {
        let (line, is_first) = (self.line, self.is_first);
        self.advance_to(end);
        self.is_first = false;
        debug_assert!(start < end, "a token without text has no line");
        // A line end belongs to the line that it ends.
        let ends_line = self.text[end - 1] == b'\n';
        Token { kind, start, end, line, last_line: self.line - usize::from(ends_line), is_first }
    }

    /// The same for a token within a line, which need not be searched for line ends.
    fn finish_short(&mut self, kind: TokenKind, start: usize, end: usize) -> Token {
        let is_first = std::mem::take(&mut self.is_first);
        self.at = end;
        Token { kind, start, end, line: self.line, last_line: self.line, is_first }
    }

    /// Moves on to `end` and counts the lines up to there.
    pub(super) fn advance_to(&mut self, end: usize) {
        for found in memchr::memchr_iter(b'\n', &self.text[self.at..end]) {
            self.line += 1;
            self.line_start = self.at + found + 1;
            self.is_first = true;
        }
        self.at = end;
    }

    /// Says that an operand ended here, or that one is expected.
    pub(super) fn expect_operand(&mut self, is_expected: bool) {
        self.before = if is_expected { Before::Operator } else { Before::Operand };
    }
}

pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// What each byte can be in the code of a language.
fn classify_bytes(row: &Row) -> [Class; 256] {
    let mut classes = [Class::Other; 256];
    for byte in 0..=u8::MAX {
        let is_word = is_word_byte(byte) || (byte == b'$' && row.forms.has_dollar_words);
        // In languages with regular expressions, punctuation says what a slash means.
        let is_plain =
            !row.forms.has_regex && !row.forms.has_word_braces && b"!&*+,-.:;=>^|~".contains(&byte);
        classes[usize::from(byte)] = match byte {
            b' ' | b'\t' | b'\r' | b'\x0c' => Class::Blank,
            b'\n' => Class::LineEnd,
            _ if is_word => Class::Word,
            _ if is_plain => Class::Plain,
            _ => Class::Other,
        };
    }
    let openings = row.comments.iter().map(|comment| comment.opening());
    for opening in openings.chain(row.quotes.iter().map(|quote| quote.open)) {
        classes[usize::from(opening.as_bytes()[0])] = Class::Start;
    }
    classes
}
