//! Text in and around code: comments, strings, here-documents, regular expressions.

use super::{
    super::language::{Comment, Heredoc, Quote, RawString},
    Before, Lexer, Mode, Token, TokenKind, is_word_byte,
    literal::{self, PendingHeredoc, StringEnd},
};

impl Lexer<'_> {
    pub(super) fn read_comment(&mut self) -> Option<Token> {
        let start = self.at;
        let rest = &self.text[start..];
        let comment = *self.row.comments.iter().find(|comment| {
            rest.starts_with(comment.opening().as_bytes())
                && match comment {
                    Comment::Word(_) => start == 0 || is_before_word(self.text[start - 1]),
                    Comment::Lines(..) => start == self.line_start,
                    Comment::LongBrackets(open) => literal::long_bracket(rest, open.len()).is_some(),
                    _ => true,
                }
        })?;
        // `#[` opens an attribute of PHP.
        if self.row.forms.is_in_html && rest.starts_with(b"#[") {
            return None;
        }
        let end = match comment {
            Comment::Line(_) | Comment::Word(_) => Some(self.line_comment_end()),
            Comment::Block(open, close) => literal::find_after(self.text, start + open.len(), close),
            Comment::Lines(_, close) => literal::find_line(self.text, start, close),
            Comment::Nested(open, close) => literal::find_nested_end(self.text, start, open, close),
            Comment::LongBrackets(open) => literal::find_long_bracket_end(self.text, start + open.len()),
        };
        let token = self.finish_token_at(TokenKind::Comment, start, end);
        Some(token)
    }

    pub(super) fn read_quote(&mut self) -> Option<Token> {
        let start = self.at;
        let quote =
            *self.row.quotes.iter().find(|quote| self.text[start..].starts_with(quote.open.as_bytes()))?;
        Some(self.read_string(quote, start, start + quote.open.len()))
    }

    /// Reads a string from `inner` on up to its end or its next expression.
    pub(super) fn read_string(&mut self, quote: Quote, start: usize, inner: usize) -> Token {
        let line = self.line;
        let (end, has_expression) = match literal::find_string_end(self.text, inner, quote) {
            StringEnd::Closed(end) => (Some(end), false),
            StringEnd::Expression(end) => (Some(end), true),
            StringEnd::Open(_) if quote.spans_lines => (None, false),
            // A string that must end on its line, but does not, ends with it: quotes in text that is no string do no
            // harm.
            StringEnd::Open(end) => (Some(end), false),
        };
        let token = self.finish_token_at(TokenKind::Text, start, end);
        self.before = Before::Operand;
        if has_expression {
            self.modes.push(Mode::Template { brackets: 0, line, quote });
            self.before = Before::Operator;
        }
        token
    }

    /// The end of a literal that starts with a byte of its own: characters, regular expressions, here-documents, and
    /// strings whose end depends on their start.
    pub(super) fn special_literal_end(&mut self, byte: u8) -> Option<usize> {
        let start = self.at;
        let end = match byte {
            b'\'' => literal::find_character_end(self.row.apostrophe, self.text, start)?,
            b'/' if self.row.forms.has_regex => self.regex_end()?,
            b'<' if self.row.heredoc != Heredoc::None => self.heredoc_end()?,
            b'[' if self.row.raw == RawString::Lua => {
                literal::long_bracket(&self.text[start..], 0)?;
                literal::find_long_bracket_end(self.text, start).unwrap_or_else(|| self.note_unclosed())
            }
            b'%' if self.row.raw == RawString::Ruby && self.can_start_literal() => {
                let inner = literal::percent_start(self.text, start)?;
                literal::find_delimited_end(self.text, inner).unwrap_or_else(|| self.note_unclosed())
            }
            b'?' if self.row.raw == RawString::Ruby && self.expects_operand() => {
                literal::find_letter_end(self.text, start)?
            }
            b'$' if self.row.raw == RawString::Ruby => {
                let name = self.text.get(start + 1).filter(|next| next.is_ascii_punctuation());
                name.map(|_| start + 2)?
            }
            _ => return None,
        };
        self.before = Before::Operand;
        Some(end)
    }

    /// Whether a literal can start here: behind an operator, or as the argument of a call without parentheses.
    fn can_start_literal(&self) -> bool {
        let blank = |place: Option<usize>| {
            place.and_then(|place| self.text.get(place)).is_some_and(u8::is_ascii_whitespace)
        };
        let is_ruby = self.row.raw == RawString::Ruby;
        // `:/` and `:%` are symbols.
        if is_ruby && self.at > 0 && self.text[self.at - 1] == b':' {
            return false;
        }
        let is_argument = || blank(self.at.checked_sub(1)) && !blank(Some(self.at + 1));
        let is_call = is_ruby && matches!(self.before, Before::Word { .. });
        self.expects_operand() || (is_call && is_argument())
    }

    fn regex_end(&mut self) -> Option<usize> {
        if !self.can_start_literal() || self.at < self.regex_free_end {
            return None;
        }
        let spans_lines = self.row.raw == RawString::Ruby;
        let end = literal::find_regex_end(self.text, self.at + 1, spans_lines);
        if end.is_none() {
            self.regex_free_end = if spans_lines { self.text.len() } else { self.line_end() };
        }
        end
    }

    /// The end of the start of a here-document, which is read behind the end of its line.
    fn heredoc_end(&mut self) -> Option<usize> {
        if self.is_arithmetic {
            return None;
        }
        let (heredoc, end) = PendingHeredoc::parse(self.row.heredoc, self.text, self.at)?;
        self.heredocs.push_back(heredoc);
        Some(end)
    }

    pub(super) fn starts_quote(&self) -> bool {
        self.row.quotes.iter().any(|quote| self.text[self.at..].starts_with(quote.open.as_bytes()))
    }

    pub(super) fn read_html(&mut self) -> Option<Token> {
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        let code = memchr::memmem::find(&self.text[start..], b"<?").map(|found| start + found);
        let Some(code) = code else {
            return Some(self.finish_token(TokenKind::Outside, start, self.text.len()));
        };
        let opening = [&b"<?php"[..], b"<?=", b"<?"];
        let opening = opening.iter().find(|opening| self.text[code..].starts_with(opening));
        let end = code + opening.map_or(2, |opening| opening.len());
        self.modes.pop();
        Some(self.finish_token(TokenKind::Outside, start, end))
    }

    /// Reads a literal that starts with the word from `start` to `end`: a raw string, or a string of Python. Digits of
    /// C++ are separated by apostrophes.
    pub(super) fn read_prefixed(&mut self, start: usize, end: usize) -> Option<Token> {
        let word = &self.text[start..end];
        if let Some(found) = literal::find_raw_end(self.row.raw, word, self.text, end) {
            let token = self.finish_token_at(TokenKind::Text, start, found);
            self.before = Before::Operand;
            return Some(token);
        }
        let is_quote = self.text[end] != b'#';
        if self.row.forms.has_docstrings && word.len() <= 2 && is_quote {
            self.at = end;
            return self.read_quote().map(|token| Token { start, ..token });
        }
        if self.row.raw == RawString::Cpp && word[0].is_ascii_digit() && self.text[end] == b'\'' {
            let is_digit = |byte: &&u8| is_word_byte(**byte) || **byte == b'\'';
            let len = self.text[end..].iter().take_while(is_digit).count();
            return Some(self.finish_short(TokenKind::Word, start, end + len));
        }
        None
    }

    fn line_comment_end(&self) -> usize {
        let end = self.line_end();
        if !self.row.forms.is_in_html {
            return end;
        }
        memchr::memmem::find(&self.text[self.at..end], b"?>").map_or(end, |found| self.at + found)
    }
}

/// Whether a word of a shell can start behind this byte.
fn is_before_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b";&|()".contains(&byte)
}
