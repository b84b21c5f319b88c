//! Targets of assignments: names, namespace attributes, and tuples of them.

use hinagata_value::Result;

use super::{Caller, Late, Parser, expression::TupleRules};
use crate::{
    ast::{Const, Expr, ExprKind, Ident, Param, Target, TargetKind},
    lexer::{Op, TokenKind},
};

/// The statement that assigns.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Assigns {
    /// `for`.
    For,
    /// `set`, which can also assign attributes of a namespace.
    Set,
    /// `with`, whose names are parameters of its body.
    With,
}

impl Parser<'_> {
    /// Parses one target, or several with commas.
    pub(super) fn target(&mut self, assigns: Assigns) -> Result<Target> {
        let mut mark = self.mark();
        if self.at_tuple_end() {
            return Err(self.expected_error("a name to assign"));
        }
        let first = self.single_target(assigns)?;
        if !self.at_op(Op::Comma) {
            return self.check_target(first, assigns);
        }
        let mut items = vec![first];
        while self.at_op(Op::Comma) {
            mark.line = self.current_span().line;
            self.advance()?;
            if self.at_tuple_end() {
                break;
            }
            items.push(self.single_target(assigns)?);
        }
        let span = self.span_from(mark);
        let items: Result<Vec<Target>, Expr> = items.into_iter().collect();
        match items {
            Ok(items) => self.check_target(Ok(Target { kind: TargetKind::Tuple(items), span }), assigns),
            Err(expr) => self.check_target(Err(Expr { span, ..expr }), assigns),
        }
    }

    /// Parses one target; returns the expression instead if it is not a target.
    ///
    /// Jinja2 reports the target as a whole, so the caller reports the error.
    fn single_target(&mut self, assigns: Assigns) -> Result<Result<Target, Expr>> {
        if assigns == Assigns::Set
            && matches!(self.current(), TokenKind::Name(name) if !is_constant(name))
            && *self.peek()? == TokenKind::Op(Op::Dot)
        {
            let mark = self.mark();
            let namespace = self.expect_name()?;
            self.expect_op(Op::Dot)?;
            let attr = self.expect_name()?;
            let span = self.span_from(mark);
            return Ok(Ok(Target { kind: TargetKind::Attr { namespace, attr }, span }));
        }
        if self.at_op(Op::OpenParen) {
            let mark = self.mark();
            self.advance()?;
            let inner = self.tuple(TupleRules::PARENTHESES)?;
            self.expect_op(Op::CloseParen)?;
            let span = inner.span;
            return Ok(into_target(inner).map_err(|expr| Expr {
                span: crate::ast::Span { line: span.line, ..self.span_from(mark) },
                ..expr
            }));
        }
        if let TokenKind::Name(name) = self.current()
            && !is_constant(name)
        {
            let Ident { name, span } = self.expect_name()?;
            return Ok(Ok(Target { kind: TargetKind::Name(name), span }));
        }
        Ok(into_target(self.primary()?))
    }

    fn check_target(&mut self, target: Result<Target, Expr>, assigns: Assigns) -> Result<Target> {
        match target {
            Ok(target) => {
                self.note(&target, assigns);
                Ok(target)
            }
            Err(expr) => {
                Err(self.error_at(expr.span, format!("{} cannot be assigned to", describe(&expr))).with_hint(
                    "assign to a name, to an attribute of a namespace with `set`, or to several with commas",
                ))
            }
        }
    }

    /// Records an assignment of `caller`, and refuses `loop` as a target inside a loop.
    fn note(&mut self, target: &Target, assigns: Assigns) {
        match &target.kind {
            TargetKind::Name(name) if &**name == "caller" => self.context.caller(Caller::Assigned),
            TargetKind::Name(name) if &**name == "loop" => {
                let inside = assigns == Assigns::Set && self.context.outer_loops > 0;
                if inside || assigns == Assigns::For {
                    let message = "`loop` cannot be assigned inside a loop";
                    self.report_late(Late::Compile, target.span, message, Some("choose another name"));
                }
            }
            TargetKind::Name(_) | TargetKind::Attr { .. } => {}
            TargetKind::Tuple(items) => {
                for item in items {
                    self.note(item, assigns);
                }
            }
        }
    }

    /// Parses the name of a single target.
    pub(super) fn target_name(&mut self) -> Result<Ident> {
        let name = self.expect_name()?;
        if is_constant(&name.name) {
            return Err(self.error_at(name.span, format!("`{}` cannot be assigned to", name.name)));
        }
        Ok(name)
    }

    /// Parses the parameters of a macro or a call block with their parentheses.
    pub(super) fn params(&mut self) -> Result<Vec<Param>> {
        self.expect_op(Op::OpenParen)?;
        let mut params: Vec<Param> = Vec::new();
        while !self.at_op(Op::CloseParen) {
            if !params.is_empty() {
                self.expect_op(Op::Comma)?;
            }
            let name = self.target_name()?;
            let default = if self.skip_op(Op::Assign)? { Some(self.expression()?) } else { None };
            if default.is_none() && params.last().is_some_and(|last| last.default.is_some()) {
                let message = "a parameter without a default follows one with a default";
                return Err(self.error_here(message));
            }
            params.push(Param { name, default });
        }
        self.expect_op(Op::CloseParen)?;
        self.check_distinct(params.iter().map(|param| &param.name), "parameter");
        Ok(params)
    }
}

/// Whether a name is a literal.
fn is_constant(name: &str) -> bool {
    matches!(name, "true" | "false" | "none" | "True" | "False" | "None")
}

/// Converts an expression in parentheses to a target; returns the expression if it is not a target.
fn into_target(expr: Expr) -> Result<Target, Expr> {
    let span = expr.span;
    let kind = match expr.kind {
        ExprKind::Name(name) => TargetKind::Name(name),
        ExprKind::Tuple(items) => {
            let items: Result<Vec<Target>, Expr> = items.into_iter().map(into_target).collect();
            match items {
                Ok(items) => TargetKind::Tuple(items),
                Err(expr) => return Err(Expr { span, ..expr }),
            }
        }
        kind => return Err(Expr { kind, span }),
    };
    Ok(Target { kind, span })
}

fn describe(expr: &Expr) -> &'static str {
    match &expr.kind {
        ExprKind::Const(Const::Str(_)) => "a string",
        ExprKind::Const(Const::Int(_) | Const::HugeInt(_) | Const::Float(_)) => "a number",
        ExprKind::Const(_) => "a constant",
        ExprKind::List(_) => "a list",
        ExprKind::Dict(_) => "a map",
        ExprKind::Postfix(_) => "an attribute or a call",
        _ => "an expression",
    }
}
