//! Conditions, operators and tuples.
//!
//! Loosest to tightest: `if else`, `or`, `and`, `not`, comparisons, `+ -`, `~`, `* / // %`, `**`, signs.
//! All group to the left, `**` too, and `~` binds tighter than `+`. Operations after an operand (calls,
//! subscripts, filters, tests) are in [`super::operand`].
//!
//! Jinja2 parses a chain such as `a + b + c` into a tree, whose line is that of the outermost node: the
//! line where the chain begins if it has one operator, the line of its last operator if it has more.

use hinagata_value::Result;

use super::{Parser, stream::Mark};
use crate::{
    ast::{
        Binary, BinaryOp, BinaryStep, Compare, CompareOp, CompareStep, Conditional, Expr, ExprKind, Span,
        UnaryOp,
    },
    lexer::{Op, TokenKind},
};

/// The precedence of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Compare,
    Add,
    Concat,
    Mul,
    Pow,
    Operand,
}

impl Level {
    /// The level of the operands of an operator of this level.
    const fn operands(self) -> Self {
        match self {
            Self::Or => Self::And,
            Self::And => Self::Not,
            Self::Not => Self::Not,
            Self::Compare => Self::Add,
            Self::Add => Self::Concat,
            Self::Concat => Self::Mul,
            Self::Mul => Self::Pow,
            Self::Pow | Self::Operand => Self::Operand,
        }
    }
}

/// The syntax that a tuple may use.
#[derive(Clone, Copy)]
pub(super) struct TupleRules {
    /// Whether its items may be conditional expressions (`a if b`).
    pub(super) conditions: bool,
    /// Whether it is in parentheses and may be empty.
    pub(super) parentheses: bool,
}

impl TupleRules {
    /// The value of a print tag, an assignment or a `do`.
    pub(super) const VALUE: Self = Self { conditions: true, parentheses: false };
    /// The condition of an `if`, or the iterated value of a `for`.
    pub(super) const CONDITION: Self = Self { conditions: false, parentheses: false };
    /// The contents of parentheses.
    pub(super) const PARENTHESES: Self = Self { conditions: true, parentheses: true };
}

impl Parser<'_> {
    /// Parses one expression, including conditional ones.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        let _level = self.nest()?;
        self.conditional()
    }

    /// Parses one expression, or several with commas: a tuple.
    pub(super) fn tuple(&mut self, rules: TupleRules) -> Result<Expr> {
        let mut mark = self.mark();
        let first = if self.at_tuple_end() { None } else { Some(self.tuple_item(rules)?) };
        let Some(first) = first else {
            if rules.parentheses {
                self.height = 0;
                return Ok(Expr { kind: ExprKind::Tuple(Vec::new()), span: self.span_from(mark) });
            }
            return Err(self.expected_error("an expression"));
        };
        if !self.at_op(Op::Comma) {
            return Ok(first);
        }
        let mut items = vec![first];
        let mut inner = self.height;
        while self.at_op(Op::Comma) {
            // The line of a tuple is that of its last comma.
            mark.line = self.current_span().line;
            self.advance()?;
            if self.at_tuple_end() {
                break;
            }
            items.push(self.tuple_item(rules)?);
            inner = inner.max(self.height);
        }
        self.grow(inner)?;
        Ok(Expr { kind: ExprKind::Tuple(items), span: self.span_from(mark) })
    }

    fn tuple_item(&mut self, rules: TupleRules) -> Result<Expr> {
        if rules.conditions {
            return self.expression();
        }
        let _level = self.nest()?;
        self.operators(Level::Or)
    }

    /// Whether the current token ends a tuple. No word ends a tuple: in `for a, in b` the `in` is a
    /// variable.
    pub(super) fn at_tuple_end(&self) -> bool {
        matches!(self.current(), TokenKind::VariableEnd | TokenKind::BlockEnd | TokenKind::Op(Op::CloseParen))
    }

    fn conditional(&mut self) -> Result<Expr> {
        let mark = self.mark();
        let value = self.operators(Level::Or)?;
        if self.at_name("if") { self.conditional_behind(mark, value) } else { Ok(value) }
    }

    #[inline(never)]
    fn conditional_behind(&mut self, mut mark: Mark, value: Expr) -> Result<Expr> {
        let mut tests = Vec::new();
        let mut otherwise = None;
        let mut inner = self.height;
        while self.at_name("if") {
            if !tests.is_empty() {
                mark.line = self.current_span().line;
            }
            self.advance()?;
            tests.push(self.operators(Level::Or)?);
            inner = inner.max(self.height);
            if self.skip_name("else")? {
                let _level = self.nest()?;
                otherwise = Some(self.conditional()?);
                inner = inner.max(self.height);
            }
        }
        self.grow(inner)?;
        let kind = ExprKind::Conditional(Box::new(Conditional { value, tests, otherwise }));
        Ok(Expr { kind, span: self.span_from(mark) })
    }

    /// Parses operators that bind as tightly as `level` or tighter, and their operands.
    fn operators(&mut self, level: Level) -> Result<Expr> {
        let mark = self.mark();
        let mut left =
            if level <= Level::Not && self.at_name("not") { self.negation()? } else { self.operand(true)? };
        while let Some(found) = self.operator()?
            && found >= level
        {
            left = match found {
                Level::Compare => self.compare(mark, left)?,
                Level::Or | Level::And | Level::Concat => self.list(found, mark, left)?,
                _ => self.arithmetic(found, mark, left)?,
            };
        }
        Ok(left)
    }

    /// The precedence of the current operator, if the current token is one.
    fn operator(&mut self) -> Result<Option<Level>> {
        if self.at_name("not") {
            return Ok((*self.peek()? == TokenKind::Name("in")).then_some(Level::Compare));
        }
        Ok(Some(match self.current() {
            TokenKind::Name("or") => Level::Or,
            TokenKind::Name("and") => Level::And,
            TokenKind::Name("in") => Level::Compare,
            TokenKind::Op(op) => match op {
                Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => Level::Compare,
                Op::Add | Op::Sub => Level::Add,
                Op::Tilde => Level::Concat,
                Op::Mul | Op::Div | Op::FloorDiv | Op::Rem => Level::Mul,
                Op::Pow => Level::Pow,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    #[inline(never)]
    fn negation(&mut self) -> Result<Expr> {
        let mark = self.mark();
        let _level = self.nest()?;
        self.advance()?;
        let operand = self.operators(Level::Not)?;
        self.grow(self.height)?;
        Ok(Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(operand)), span: self.span_from(mark) })
    }

    /// Parses the rest of `a or b or c`, `a and b`, `a ~ b`.
    #[inline(never)]
    fn list(&mut self, level: Level, mut mark: Mark, first: Expr) -> Result<Expr> {
        let mut operands = vec![first];
        let mut inner = self.height;
        while self.operator()? == Some(level) {
            if operands.len() > 1 && level != Level::Concat {
                mark.line = self.current_span().line;
            }
            self.advance()?;
            operands.push(self.operators(level.operands())?);
            inner = inner.max(self.height);
        }
        self.grow(inner)?;
        let kind = match level {
            Level::Or => ExprKind::Or(operands),
            Level::And => ExprKind::And(operands),
            _ => ExprKind::Concat(operands),
        };
        Ok(Expr { kind, span: self.span_from(mark) })
    }

    #[inline(never)]
    fn arithmetic(&mut self, level: Level, mut mark: Mark, first: Expr) -> Result<Expr> {
        let mut rest: Vec<BinaryStep> = Vec::new();
        let mut inner = self.height;
        while self.operator()? == Some(level) {
            let span = self.current_span();
            if !rest.is_empty() {
                mark.line = span.line;
            }
            let op = match self.advance()?.kind {
                TokenKind::Op(Op::Add) => BinaryOp::Add,
                TokenKind::Op(Op::Sub) => BinaryOp::Sub,
                TokenKind::Op(Op::Mul) => BinaryOp::Mul,
                TokenKind::Op(Op::Div) => BinaryOp::Div,
                TokenKind::Op(Op::FloorDiv) => BinaryOp::FloorDiv,
                TokenKind::Op(Op::Rem) => BinaryOp::Rem,
                _ => BinaryOp::Pow,
            };
            let right = self.operators(level.operands())?;
            rest.push(BinaryStep { op, span, right });
            inner = inner.max(self.height);
        }
        self.grow(inner)?;
        let kind = ExprKind::Binary(Box::new(Binary { first, rest }));
        Ok(Expr { kind, span: self.span_from(mark) })
    }

    /// Parses the rest of a comparison. Its line is that of the token after it.
    #[inline(never)]
    fn compare(&mut self, mut mark: Mark, first: Expr) -> Result<Expr> {
        let mut rest = Vec::new();
        let mut inner = self.height;
        while self.operator()? == Some(Level::Compare) {
            let (op, span) = self.comparison()?;
            let right = self.operators(Level::Compare.operands())?;
            rest.push(CompareStep { op, span, right });
            inner = inner.max(self.height);
        }
        self.grow(inner)?;
        mark.line = self.current_span().line;
        let kind = ExprKind::Compare(Box::new(Compare { first, rest }));
        Ok(Expr { kind, span: self.span_from(mark) })
    }

    /// Takes the current comparison operator.
    fn comparison(&mut self) -> Result<(CompareOp, Span)> {
        let mark = self.mark();
        let op = match self.advance()?.kind {
            TokenKind::Op(Op::Eq) => CompareOp::Eq,
            TokenKind::Op(Op::Ne) => CompareOp::Ne,
            TokenKind::Op(Op::Lt) => CompareOp::Lt,
            TokenKind::Op(Op::Le) => CompareOp::Le,
            TokenKind::Op(Op::Gt) => CompareOp::Gt,
            TokenKind::Op(Op::Ge) => CompareOp::Ge,
            TokenKind::Name("not") => {
                self.advance()?;
                CompareOp::NotIn
            }
            _ => CompareOp::In,
        };
        Ok((op, self.span_from(mark)))
    }
}
