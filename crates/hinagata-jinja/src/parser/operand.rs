//! Operands: literals, names, brackets, and the operations after them.
//!
//! Attributes, subscripts and calls may follow an operand first; then filters, tests and calls in any
//! order. A sign applies to the former only: `-x.y|abs` is `(-(x.y))|abs`.

use hinagata_value::Result;

use super::{Caller, Late, Parser, expression::TupleRules, stream::Mark};
use crate::{
    ast::{
        CallArgs, Const, Expr, ExprKind, FilterCall, Keyword, Postfix, PostfixOp, PostfixStep, Slice, Span,
        TestCall, UnaryOp,
    },
    lexer::{Op, TokenKind},
};

impl Parser<'_> {
    /// Parses an operand with its sign and the operations after it; filters and tests only if `filters`.
    pub(super) fn operand(&mut self, filters: bool) -> Result<Expr> {
        let mark = self.mark();
        let base = match self.current() {
            TokenKind::Op(Op::Sub) => self.signed_operand(UnaryOp::Neg)?,
            TokenKind::Op(Op::Add) => self.signed_operand(UnaryOp::Pos)?,
            _ => self.primary()?,
        };
        let mut ops = Ops { steps: Vec::new(), height: self.height };
        self.subscripts(&mut ops)?;
        if filters {
            self.filters_and_tests(&mut ops)?;
        }
        self.postfix(mark, base, ops)
    }

    #[inline(never)]
    fn signed_operand(&mut self, op: UnaryOp) -> Result<Expr> {
        let mark = self.mark();
        let _level = self.nest()?;
        self.advance()?;
        let operand = self.operand(false)?;
        self.grow(self.height)?;
        Ok(Expr { kind: ExprKind::Unary(op, Box::new(operand)), span: self.span_from(mark) })
    }

    fn postfix(&mut self, mark: Mark, base: Expr, ops: Ops) -> Result<Expr> {
        let Some(last) = ops.steps.last() else { return Ok(base) };
        let span = self.span_from(Mark { line: last.span.line, ..mark });
        self.grow(ops.height)?;
        Ok(Expr { kind: ExprKind::Postfix(Box::new(Postfix { base, ops: ops.steps })), span })
    }

    /// Parses a literal, a name, or an expression in brackets.
    pub(super) fn primary(&mut self) -> Result<Expr> {
        let mark = self.mark();
        self.height = 0;
        let kind = match self.current() {
            TokenKind::Name(name) => {
                let name = *name;
                self.advance()?;
                self.name(name)
            }
            TokenKind::Str(_) => self.strings()?,
            TokenKind::Int(_) | TokenKind::Float(_) => match self.advance()?.kind {
                TokenKind::Int(value) => ExprKind::Const(value),
                TokenKind::Float(value) => ExprKind::Const(Const::Float(value)),
                _ => ExprKind::Const(Const::None),
            },
            TokenKind::Op(Op::OpenParen) => {
                self.advance()?;
                let inner = self.tuple(TupleRules::PARENTHESES)?;
                self.expect_op(Op::CloseParen)?;
                return Ok(inner);
            }
            TokenKind::Op(Op::OpenBracket) => self.list_literal()?,
            TokenKind::Op(Op::OpenBrace) => self.dict_literal()?,
            _ => return Err(self.expected_error("an expression")),
        };
        Ok(Expr { kind, span: self.span_from(mark) })
    }

    /// The expression for a name that is read.
    fn name(&mut self, name: &str) -> ExprKind {
        match name {
            "true" | "True" => ExprKind::Const(Const::Bool(true)),
            "false" | "False" => ExprKind::Const(Const::Bool(false)),
            "none" | "None" => ExprKind::Const(Const::None),
            name => {
                if name == "caller" {
                    self.context.caller(Caller::Read);
                }
                ExprKind::Name(name.into())
            }
        }
    }

    /// Parses adjacent string literals and joins them.
    fn strings(&mut self) -> Result<ExprKind> {
        let mut joined = String::new();
        while let TokenKind::Str(_) = self.current() {
            if let TokenKind::Str(part) = self.advance()?.kind {
                if joined.is_empty() {
                    joined = part;
                } else {
                    joined.push_str(&part);
                }
            }
        }
        Ok(ExprKind::Const(Const::Str(joined.into())))
    }

    #[inline(never)]
    fn list_literal(&mut self) -> Result<ExprKind> {
        self.advance()?;
        let mut items = Vec::new();
        let mut inner = 0;
        while !self.at_op(Op::CloseBracket) {
            if !items.is_empty() {
                self.expect_op(Op::Comma)?;
                if self.at_op(Op::CloseBracket) {
                    break;
                }
            }
            items.push(self.expression()?);
            inner = inner.max(self.height);
        }
        self.grow(inner)?;
        self.expect_op(Op::CloseBracket)?;
        Ok(ExprKind::List(items))
    }

    #[inline(never)]
    fn dict_literal(&mut self) -> Result<ExprKind> {
        self.advance()?;
        let mut pairs = Vec::new();
        let mut inner = 0;
        while !self.at_op(Op::CloseBrace) {
            if !pairs.is_empty() {
                self.expect_op(Op::Comma)?;
                if self.at_op(Op::CloseBrace) {
                    break;
                }
            }
            let key = self.expression()?;
            inner = inner.max(self.height);
            self.expect_op(Op::Colon)?;
            pairs.push((key, self.expression()?));
            inner = inner.max(self.height);
        }
        self.grow(inner)?;
        self.expect_op(Op::CloseBrace)?;
        Ok(ExprKind::Dict(pairs))
    }

    /// Parses attributes, subscripts and calls.
    fn subscripts(&mut self, ops: &mut Ops) -> Result<()> {
        loop {
            let mark = self.mark();
            let op = match self.current() {
                TokenKind::Op(Op::Dot) => self.attribute()?,
                TokenKind::Op(Op::OpenBracket) => self.subscript()?,
                TokenKind::Op(Op::OpenParen) => PostfixOp::Call(self.call_args()?),
                _ => return Ok(()),
            };
            ops.push(PostfixStep { op, span: self.span_from(mark) }, self.height);
        }
    }

    #[inline(never)]
    fn attribute(&mut self) -> Result<PostfixOp> {
        self.height = 0;
        self.advance()?;
        if !matches!(self.current(), TokenKind::Name(_) | TokenKind::Int(_)) {
            return Err(self.expected_error("a name or a number"));
        }
        let token = self.advance()?;
        Ok(match token.kind {
            TokenKind::Int(value) => PostfixOp::Item(Expr { kind: ExprKind::Const(value), span: token.span }),
            TokenKind::Name(name) => PostfixOp::Attr(name.into()),
            _ => PostfixOp::Attr("".into()),
        })
    }

    #[inline(never)]
    fn subscript(&mut self) -> Result<PostfixOp> {
        let mark = self.mark();
        self.advance()?;
        let mut keys = Vec::new();
        let mut slice = None;
        let mut count = 0;
        let mut inner = 0;
        while !self.at_op(Op::CloseBracket) {
            if count > 0 {
                self.expect_op(Op::Comma)?;
            }
            count += 1;
            match self.subscript_key()? {
                Key::Plain(key) => keys.push(key),
                Key::Slice(found) => slice = Some(found),
            }
            inner = inner.max(self.height);
        }
        self.height = inner;
        self.expect_op(Op::CloseBracket)?;
        let span = self.span_from(mark);
        match (slice, <[Expr; 1]>::try_from(keys)) {
            (None, Ok([key])) => Ok(PostfixOp::Item(key)),
            (None, Err(keys)) => Ok(PostfixOp::Item(Expr { kind: ExprKind::Tuple(keys), span })),
            (Some(slice), _) => {
                if count > 1 {
                    let hint = "write separate subscripts: `x[1:2][3]`";
                    let message = "a slice cannot be combined with other subscripts";
                    self.report_late(Late::Python, span, message, Some(hint));
                }
                Ok(PostfixOp::Slice(slice))
            }
        }
    }

    fn subscript_key(&mut self) -> Result<Key> {
        self.height = 0;
        let start = match self.at_op(Op::Colon) {
            true => None,
            false => Some(self.expression()?),
        };
        if !self.at_op(Op::Colon)
            && let Some(key) = start
        {
            return Ok(Key::Plain(key));
        }
        let mut inner = self.height;
        self.expect_op(Op::Colon)?;
        let stop = self.slice_part()?;
        inner = inner.max(self.height);
        let step = if self.skip_op(Op::Colon)? { self.slice_part()? } else { None };
        self.height = inner.max(self.height);
        Ok(Key::Slice(Box::new(Slice { start, stop, step })))
    }

    fn slice_part(&mut self) -> Result<Option<Expr>> {
        if let TokenKind::Op(Op::Colon | Op::CloseBracket | Op::Comma) = self.current() {
            return Ok(None);
        }
        self.expression().map(Some)
    }

    /// Parses filters, tests and calls of their results.
    fn filters_and_tests(&mut self, ops: &mut Ops) -> Result<()> {
        loop {
            let mark = self.mark();
            let (op, line) = match self.current() {
                TokenKind::Op(Op::Pipe) => {
                    self.advance()?;
                    let filter = self.filter()?;
                    let line = filter.span.line;
                    (PostfixOp::Filter(filter), line)
                }
                TokenKind::Name("is") => (PostfixOp::Test(self.test()?), mark.line),
                TokenKind::Op(Op::OpenParen) => (PostfixOp::Call(self.call_args()?), mark.line),
                _ => return Ok(()),
            };
            ops.push(PostfixStep { op, span: self.span_from(Mark { line, ..mark }) }, self.height);
        }
    }

    /// Parses a chain of filters, each with its `|`.
    pub(super) fn filters(&mut self) -> Result<Vec<FilterCall>> {
        let mut filters = Vec::new();
        while self.skip_op(Op::Pipe)? {
            filters.push(self.filter()?);
        }
        Ok(filters)
    }

    /// Parses the name of a filter and its arguments.
    #[inline(never)]
    pub(super) fn filter(&mut self) -> Result<FilterCall> {
        let (name, span) = self.dotted_name()?;
        Ok(FilterCall { name, args: self.optional_call_args()?, span })
    }

    fn dotted_name(&mut self) -> Result<(Box<str>, Span)> {
        let mark = self.mark();
        let first = self.expect_name()?;
        if !self.at_op(Op::Dot) {
            return Ok((first.name, first.span));
        }
        let mut name = String::from(first.name);
        while self.skip_op(Op::Dot)? {
            name.push('.');
            name.push_str(&self.expect_name()?.name);
        }
        Ok((name.into(), self.span_from(mark)))
    }

    #[inline(never)]
    fn test(&mut self) -> Result<TestCall> {
        let line = self.current_span().line;
        self.advance()?;
        let negated = self.skip_name("not")?;
        let (name, span) = self.dotted_name()?;
        let args = if self.at_test_argument() {
            if self.at_name("is") {
                let error = self.error_here("tests cannot be chained with `is`");
                return Err(error.with_hint("join them: `x is a and x is b`"));
            }
            CallArgs { positional: vec![self.test_argument()?], ..CallArgs::default() }
        } else {
            self.optional_call_args()?
        };
        Ok(TestCall { name, negated, args, span: Span { line, ..span } })
    }

    /// Whether the argument of a test follows, without parentheses.
    fn at_test_argument(&self) -> bool {
        match self.current() {
            TokenKind::Name(name) => !matches!(*name, "else" | "or" | "and"),
            TokenKind::Str(_) | TokenKind::Int(_) | TokenKind::Float(_) => true,
            TokenKind::Op(op) => matches!(op, Op::OpenBracket | Op::OpenBrace),
            _ => false,
        }
    }

    fn test_argument(&mut self) -> Result<Expr> {
        let mark = self.mark();
        let base = self.primary()?;
        let mut ops = Ops { steps: Vec::new(), height: self.height };
        self.subscripts(&mut ops)?;
        self.postfix(mark, base, ops)
    }

    fn optional_call_args(&mut self) -> Result<CallArgs> {
        if self.at_op(Op::OpenParen) {
            return self.call_args();
        }
        self.height = 0;
        Ok(CallArgs::default())
    }

    /// Parses arguments in parentheses: by position, then by name; `*` and `**` once each, `**` last.
    #[inline(never)]
    fn call_args(&mut self) -> Result<CallArgs> {
        let open = self.expect_op(Op::OpenParen)?.span;
        let mut args = CallArgs::default();
        let mut first = true;
        let mut inner = 0;
        while !self.at_op(Op::CloseParen) {
            if !first {
                self.expect_op(Op::Comma)?;
                if self.at_op(Op::CloseParen) {
                    break;
                }
            }
            first = false;
            self.call_arg(&mut args, open)?;
            inner = inner.max(self.height);
        }
        self.height = inner;
        self.expect_op(Op::CloseParen)?;
        if args.keywords.len() > 1 {
            self.check_distinct(args.keywords.iter().map(|keyword| &keyword.name), "argument");
        }
        Ok(args)
    }

    fn call_arg(&mut self, args: &mut CallArgs, open: Span) -> Result<()> {
        let in_order = |ok: bool, parser: &Self| {
            let message = "arguments are out of order";
            let hint = "by position first, then by name; then `*list` and `**map`, once each";
            if ok { Ok(()) } else { Err(parser.error_at(open, message).with_hint(hint)) }
        };
        if self.at_op(Op::Mul) {
            in_order(args.args.is_none() && args.kwargs.is_none(), self)?;
            self.advance()?;
            args.args = Some(Box::new(self.expression()?));
        } else if self.at_op(Op::Pow) {
            in_order(args.kwargs.is_none(), self)?;
            self.advance()?;
            args.kwargs = Some(Box::new(self.expression()?));
        } else if matches!(self.current(), TokenKind::Name(_)) && *self.peek()? == TokenKind::Op(Op::Assign) {
            in_order(args.kwargs.is_none(), self)?;
            args.keywords.push(self.keyword()?);
        } else {
            in_order(args.args.is_none() && args.kwargs.is_none() && args.keywords.is_empty(), self)?;
            args.positional.push(self.expression()?);
        }
        Ok(())
    }

    fn keyword(&mut self) -> Result<Keyword> {
        let name = self.expect_name()?;
        self.expect_op(Op::Assign)?;
        let value = self.expression()?;
        Ok(Keyword { name, value })
    }
}

/// The operations after an operand so far.
struct Ops {
    steps: Vec<PostfixStep>,
    /// The height of the highest part: the operand, a key, an argument.
    height: u32,
}

impl Ops {
    fn push(&mut self, step: PostfixStep, height: u32) {
        self.steps.push(step);
        self.height = self.height.max(height);
    }
}

/// The contents of a subscript.
enum Key {
    Plain(Expr),
    Slice(Box<Slice>),
}
