//! Tags in expressions of JavaScript. Their text is no code: an apostrophe there opens no string.

use super::{Lexer, Mode, Token, TokenKind, is_word_byte};

/// The place in nested tags.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jsx {
    /// Elements whose children surround this place.
    depth: usize,
    place: Place,
    /// The line of the outermost tag.
    pub(super) line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Opening,
    Closing,
    Children,
}

impl Lexer<'_> {
    /// Whether a tag starts here: not a comparison, not the type parameter of a function.
    pub(super) fn starts_tag(&self) -> bool {
        let rest = &self.text[self.at + 1..];
        let name = rest.iter().take_while(|byte| is_word_byte(**byte) || b"$.:-".contains(byte)).count();
        if name == 0
            || rest[name - 1] == b':'
            || !(rest[0].is_ascii_alphabetic() || rest[0] == b'_' || rest[0] == b'$')
        {
            return rest.first() == Some(&b'>');
        }
        match rest.get(name) {
            Some(b'>' | b'/') => true,
            Some(byte) if byte.is_ascii_whitespace() => {
                !rest[name..].trim_ascii_start().starts_with(b"extends ")
            }
            _ => false,
        }
    }

    /// Starts the outermost tag.
    pub(super) fn start_jsx(&mut self) -> Token {
        let jsx = Jsx { depth: 0, place: Place::Opening, line: self.line };
        let token = self.finish_token(TokenKind::Text, self.at, self.at + 1);
        self.modes.push(Mode::Jsx(jsx));
        token
    }

    /// Reads on in tags: a string, or nothing that counts.
    pub(super) fn read_jsx(&mut self, jsx: Jsx) -> Option<Token> {
        let wanted: &[u8] = if jsx.place == Place::Children { b"<{" } else { b"\"'{/>" };
        let rest = &self.text[self.at..];
        let Some(found) = rest.iter().position(|byte| wanted.contains(byte)) else {
            let end = self.note_unclosed();
            self.advance_to(end);
            self.modes.clear();
            return None;
        };
        self.advance_to(self.at + found);
        let start = self.at;
        match self.text[start] {
            b'{' => {
                self.advance_to(start + 1);
                self.expect_operand(true);
                self.modes.push(Mode::Expression { braces: 0 });
            }
            b'<' => {
                let is_closing = self.text.get(start + 1) == Some(&b'/');
                let place = if is_closing { Place::Closing } else { Place::Opening };
                self.advance_to(start + 1 + usize::from(is_closing));
                self.set_jsx(Jsx { place, ..jsx });
            }
            b'/' => {
                let is_empty = self.text.get(start + 1) == Some(&b'>');
                self.advance_to(start + 1 + usize::from(is_empty));
                if is_empty {
                    self.end_tag(jsx, jsx.depth);
                }
            }
            b'>' => {
                self.advance_to(start + 1);
                let is_opening = jsx.place == Place::Opening;
                self.end_tag(jsx, if is_opening { jsx.depth + 1 } else { jsx.depth.saturating_sub(1) });
            }
            quote => {
                let end = memchr::memchr(quote, &self.text[start + 1..]).map(|found| start + 1 + found + 1);
                return Some(self.finish_token_at(TokenKind::Text, start, end));
            }
        }
        None
    }

    fn set_jsx(&mut self, jsx: Jsx) {
        if let Some(mode) = self.modes.last_mut() {
            *mode = Mode::Jsx(jsx);
        }
    }

    /// Ends a tag; `depth` elements are open behind it.
    fn end_tag(&mut self, jsx: Jsx, depth: usize) {
        if depth == 0 {
            self.modes.pop();
            self.expect_operand(false);
        } else {
            self.set_jsx(Jsx { depth, place: Place::Children, ..jsx });
        }
    }
}
