//! The tokens of a template.

use std::borrow::Cow;

use crate::text::quote;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An error, whose text is the message. It is the last token.
    Error,
    /// The end of the source.
    Eof,
    /// Text outside actions.
    Text,
    LeftDelim,
    RightDelim,
    Space,
    /// `true` or `false`.
    Bool,
    /// A printable character without a special meaning.
    Char,
    /// A character in single quotes.
    CharConstant,
    /// `1+2i`.
    Complex,
    Number,
    String,
    RawString,
    Identifier,
    /// `.name`, possibly one of several.
    Field,
    /// `$` or `$name`.
    Variable,
    Assign,
    Declare,
    Pipe,
    LeftParen,
    RightParen,
    Keyword(Keyword),
}

/// Keywords, and the dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Dot,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Keyword {
    pub(super) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "block" => Self::Block,
            "break" => Self::Break,
            "continue" => Self::Continue,
            "define" => Self::Define,
            "else" => Self::Else,
            "end" => Self::End,
            "if" => Self::If,
            "nil" => Self::Nil,
            "range" => Self::Range,
            "template" => Self::Template,
            "with" => Self::With,
            _ => return None,
        })
    }
}

/// A token of the source.
#[derive(Clone, Debug)]
pub(crate) struct Token<'s> {
    pub(crate) kind: Kind,
    /// Where it starts, in bytes.
    pub(crate) start: u32,
    /// The line it starts on, from 1.
    pub(crate) line: u32,
    /// Its text; the message of an error.
    pub(crate) text: Cow<'s, str>,
}

impl Token<'_> {
    /// The token as it appears in messages.
    pub(crate) fn describe_token(&self) -> String {
        match self.kind {
            Kind::Eof => "EOF".to_owned(),
            Kind::Error => self.text.to_string(),
            Kind::Keyword(_) => format!("<{}>", self.text),
            _ => match self.text.char_indices().nth(10) {
                Some((cut, _)) if self.text.len() > 10 => {
                    format!("{}...", quote::quote_text(&self.text[..cut]))
                }
                None if self.text.len() > 10 => format!("{}...", quote::quote_text(&self.text)),
                _ => quote::quote_text(&self.text),
            },
        }
    }

    pub(crate) fn is_keyword(&self, keyword: Keyword) -> bool {
        self.kind == Kind::Keyword(keyword)
    }
}
