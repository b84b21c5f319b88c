//! The tokens as the parser sees them: the current one, and one more on request.

use hinagata_value::{Budget, Error, Result};

use super::Parser;
use crate::{
    ast::{Ident, Span},
    lexer::{Lexer, Op, Token, TokenKind},
    options::ParseOptions,
    source::Origin,
};

pub(super) struct Stream<'s> {
    lexer: Lexer<'s>,
    current: Token<'s>,
    ahead: Option<Token<'s>>,
    /// The end of the token before the current one.
    last_end: u32,
}

impl<'s> Stream<'s> {
    pub(super) fn new(origin: Origin<'s>, options: &'s ParseOptions, budget: &'s Budget) -> Result<Self> {
        let mut lexer = Lexer::new(origin, options, budget);
        let current = lexer.next_token()?;
        Ok(Self { lexer, current, ahead: None, last_end: 0 })
    }
}

/// The start of a node, and its line unless another rule sets it.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) start: u32,
    pub(super) line: u32,
}

impl<'s> Parser<'s> {
    pub(super) fn current(&self) -> &TokenKind<'s> {
        &self.stream.current.kind
    }

    pub(super) fn current_span(&self) -> Span {
        self.stream.current.span
    }

    /// Takes the current token and makes the next one current.
    pub(super) fn advance(&mut self) -> Result<Token<'s>> {
        let next = match self.stream.ahead.take() {
            Some(token) => token,
            None => self.stream.lexer.next_token()?,
        };
        self.stream.last_end = self.stream.current.span.end;
        Ok(std::mem::replace(&mut self.stream.current, next))
    }

    /// The token after the current one.
    pub(super) fn peek(&mut self) -> Result<&TokenKind<'s>> {
        if self.stream.ahead.is_none() {
            self.stream.ahead = Some(self.stream.lexer.next_token()?);
        }
        Ok(self.stream.ahead.as_ref().map_or(&TokenKind::Eof, |token| &token.kind))
    }

    pub(super) fn mark(&self) -> Mark {
        let span = self.current_span();
        Mark { start: span.start, line: span.line }
    }

    /// The span from `mark` to the token before the current one.
    pub(super) fn span_from(&self, mark: Mark) -> Span {
        Span { start: mark.start, end: self.stream.last_end, line: mark.line }
    }

    pub(super) fn at_op(&self, op: Op) -> bool {
        *self.current() == TokenKind::Op(op)
    }

    pub(super) fn at_name(&self, name: &str) -> bool {
        matches!(self.current(), TokenKind::Name(found) if *found == name)
    }

    pub(super) fn skip_op(&mut self, op: Op) -> Result<bool> {
        let found = self.at_op(op);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn skip_name(&mut self, name: &str) -> Result<bool> {
        let found = self.at_name(name);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Skips two words, if both follow.
    pub(super) fn skip_names(&mut self, first: &str, second: &str) -> Result<bool> {
        let found = self.at_name(first) && matches!(self.peek()?, TokenKind::Name(found) if *found == second);
        if found {
            self.advance()?;
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn expect_op(&mut self, op: Op) -> Result<Token<'s>> {
        if self.at_op(op) { self.advance() } else { Err(self.expected_error(&format!("`{}`", op.as_str()))) }
    }

    pub(super) fn expect_word(&mut self, name: &str) -> Result<Token<'s>> {
        if self.at_name(name) { self.advance() } else { Err(self.expected_error(&format!("`{name}`"))) }
    }

    /// Takes any name.
    pub(super) fn expect_name(&mut self) -> Result<Ident> {
        let TokenKind::Name(name) = *self.current() else { return Err(self.expected_error("a name")) };
        let span = self.advance()?.span;
        Ok(Ident { name: name.into(), span })
    }

    pub(super) fn expect_block_end(&mut self) -> Result<()> {
        if *self.current() != TokenKind::BlockEnd {
            return Err(self.expected_error("the end of the tag"));
        }
        self.advance().map(drop)
    }

    pub(super) fn expect_variable_end(&mut self) -> Result<()> {
        if *self.current() != TokenKind::VariableEnd {
            return Err(self.expected_error("the end of the print tag"));
        }
        self.advance().map(drop)
    }

    /// The error for an unexpected current token: `what` was expected.
    #[cold]
    pub(super) fn expected_error(&self, what: &str) -> Error {
        let error = self.error_here(format!("expected {what}, found {}", self.current().describe_token()));
        match self.current() {
            TokenKind::Op(Op::Assign) => error.with_hint("`==` compares; `{% set %}` assigns"),
            TokenKind::Op(Op::Semicolon) => error.with_hint("a tag contains one statement or expression"),
            TokenKind::Name("not") => error.with_hint("the operators are `not in` and `is not`"),
            _ => error,
        }
    }

    #[cold]
    pub(super) fn error_here(&self, message: impl Into<String>) -> Error {
        self.error_at(self.current_span(), message)
    }

    #[cold]
    pub(super) fn error_at(&self, span: Span, message: impl Into<String>) -> Error {
        self.origin.syntax_error(span, message)
    }

    /// Enters one level of nesting; dropping the guard leaves it.
    pub(super) fn nest(&self) -> Result<hinagata_value::Level<'s>> {
        self.budget.enter_level().map_err(|error| error.with_place(|| self.origin.place(self.current_span())))
    }
}
