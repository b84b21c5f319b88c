//! The tokens of a template.

use std::borrow::Cow;

use crate::ast::{Const, Span};

/// A token and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'s> {
    pub(crate) kind: TokenKind<'s>,
    pub(crate) span: Span,
}

/// The kind of a token. Comments, whitespace inside tags and the tags of raw blocks are not tokens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind<'s> {
    /// Text outside tags, never empty.
    Data(Cow<'s, str>),
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name(&'s str),
    /// A [`Const::Int`] or [`Const::HugeInt`].
    Int(Const),
    Float(f64),
    Str(String),
    Op(Op),
    /// The end of the source; its line is that of the token before.
    Eof,
}

impl TokenKind<'_> {
    /// The name of the token in messages.
    pub(crate) fn describe_token(&self) -> String {
        match self {
            Self::Data(_) => "text".into(),
            Self::VariableBegin => "the begin of a print tag".into(),
            Self::VariableEnd => "the end of the print tag".into(),
            Self::BlockBegin => "the begin of a block tag".into(),
            Self::BlockEnd => "the end of the tag".into(),
            Self::Name(name) => format!("`{name}`"),
            Self::Int(_) => "an integer".into(),
            Self::Float(_) => "a float".into(),
            Self::Str(_) => "a string".into(),
            Self::Op(op) => format!("`{}`", op.as_str()),
            Self::Eof => "the end of the template".into(),
        }
    }
}

macro_rules! operators {
    ($($name:ident $text:literal,)*) => {
        /// An operator or a piece of punctuation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Op {
            $($name,)*
        }

        impl Op {
            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The longest operator that `text` starts with.
            pub(crate) fn at_start_of(text: &str) -> Option<Self> {
                // Operators of two characters come first in the list below.
                $(if text.starts_with($text) {
                    return Some(Self::$name);
                })*
                None
            }
        }
    };
}

operators! {
    FloorDiv "//",
    Pow "**",
    Eq "==",
    Ne "!=",
    Ge ">=",
    Le "<=",
    Add "+",
    Sub "-",
    Div "/",
    Mul "*",
    Rem "%",
    Tilde "~",
    OpenBracket "[",
    CloseBracket "]",
    OpenParen "(",
    CloseParen ")",
    OpenBrace "{",
    CloseBrace "}",
    Gt ">",
    Lt "<",
    Assign "=",
    Dot ".",
    Colon ":",
    Pipe "|",
    Comma ",",
    Semicolon ";",
}

impl Op {
    /// The bracket that closes this one.
    pub(crate) const fn closer(self) -> Option<Self> {
        match self {
            Self::OpenParen => Some(Self::CloseParen),
            Self::OpenBracket => Some(Self::CloseBracket),
            Self::OpenBrace => Some(Self::CloseBrace),
            _ => None,
        }
    }
}
