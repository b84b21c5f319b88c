//! Brackets and other punctuation, and what a slash means behind it.

use super::{Before, Lexer, Mode, Token, TokenKind};

impl Lexer<'_> {
    pub(super) fn read_punctuation(&mut self, byte: u8) -> Option<Token> {
        let start = self.at;
        match byte {
            b'<' if self.row.forms.has_jsx && self.expects_operand() && self.starts_tag() => {
                return Some(self.start_jsx());
            }
            b'?' if self.row.forms.is_in_html && self.text[start..].starts_with(b"?>") => {
                self.advance_to(start + 2);
                self.modes.push(Mode::Html);
                return None;
            }
            b'\\' if self.row.forms.has_word_braces => {
                // An escaped line end still ends its line.
                let escapes_line = self.text.get(start + 1) == Some(&b'\n');
                self.advance_to(self.text.len().min(start + if escapes_line { 1 } else { 2 }));
                self.is_first = false;
                return None;
            }
            b'(' | b'{' => self.count_open(byte),
            b')' | b'}' => {
                if let Some(token) = self.count_close(if byte == b')' { b'(' } else { b'{' }) {
                    return token;
                }
            }
            _ => {}
        }
        let kind = match byte {
            b'{' => return Some(self.open_brace()),
            b'}' => return Some(self.close_brace()),
            _ if self.row.forms.has_word_braces => TokenKind::Punctuation(byte),
            b'(' | b'[' => TokenKind::Open(byte),
            b')' | b']' => TokenKind::Close(byte),
            _ => TokenKind::Punctuation(byte),
        };
        self.is_arithmetic |= byte == b'(' && start > 0 && self.text[start - 1] == b'(';
        let token = self.finish_short(kind, start, start + 1);
        self.before = self.before_slash(byte, start);
        Some(token)
    }

    /// What a slash means behind this punctuation.
    fn before_slash(&mut self, byte: u8, at: usize) -> Before {
        match byte {
            b'(' if self.row.forms.has_regex => {
                self.conditions.push(self.is_condition());
                Before::Operator
            }
            b')' if self.conditions.pop() == Some(true) => Before::Operator,
            b')' | b']' => Before::Operand,
            b'+' | b'-' if at > 0 && self.text[at - 1] == byte => Before::Operand,
            _ => Before::Operator,
        }
    }

    /// Counts an opening bracket for the expression around it.
    fn count_open(&mut self, bracket: u8) {
        match self.modes.last_mut() {
            Some(Mode::Template { brackets, quote, .. }) if quote.bracket() == Some(bracket) => {
                *brackets += 1;
            }
            Some(Mode::Expression { braces }) if bracket == b'{' => *braces += 1,
            _ => {}
        }
    }

    /// Counts a closing bracket for the expression around it. If it ends the expression, returns the rest of the string,
    /// or nothing where the expression stands between tags.
    fn count_close(&mut self, bracket: u8) -> Option<Option<Token>> {
        let start = self.at;
        match self.modes.last_mut() {
            Some(Mode::Template { brackets, quote, .. }) if quote.bracket() == Some(bracket) => {
                if *brackets == 0 {
                    let quote = *quote;
                    self.modes.pop();
                    return Some(Some(self.read_string(quote, start, start + 1)));
                }
                *brackets -= 1;
            }
            Some(Mode::Expression { braces }) if bracket == b'{' => {
                if *braces == 0 {
                    self.modes.pop();
                    self.advance_to(start + 1);
                    self.is_first = false;
                    return Some(None);
                }
                *braces -= 1;
            }
            _ => {}
        }
        None
    }

    fn open_brace(&mut self) -> Token {
        let start = self.at;
        let blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
        let preceding = start.checked_sub(1).map(|place| &self.text[place]);
        let is_bracket = !self.row.forms.has_word_braces
            || (blank(self.text.get(start + 1)) && (blank(preceding) || preceding == Some(&b')')));
        let kind = if is_bracket { TokenKind::Open(b'{') } else { TokenKind::Punctuation(b'{') };
        let token = self.finish_short(kind, start, start + 1);
        self.before = Before::Operator;
        token
    }

    fn close_brace(&mut self) -> Token {
        let start = self.at;
        let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
        let is_bracket = !self.row.forms.has_word_braces
            || start.checked_sub(1).is_none_or(|place| blank(&self.text[place]));
        let kind = if is_bracket { TokenKind::Close(b'}') } else { TokenKind::Punctuation(b'}') };
        let token = self.finish_short(kind, start, start + 1);
        self.before = Before::Brace;
        token
    }

    /// Whether the word before this place is one that an operand follows.
    fn follows_operator_word(&self) -> bool {
        let Before::Word { start, end } = self.before else { return false };
        self.row.operators.iter().any(|known| known.as_bytes() == &self.text[start..end])
    }

    /// Whether an operand must stand here: a slash opens a regular expression.
    pub(super) fn expects_operand(&self) -> bool {
        self.before == Before::Operator || self.follows_operator_word()
    }

    /// Whether the parentheses that open here belong to `if`, `while` or `for`.
    fn is_condition(&self) -> bool {
        let Before::Word { start, end } = self.before else { return false };
        matches!(&self.text[start..end], b"if" | b"while" | b"for" | b"with")
    }
}
