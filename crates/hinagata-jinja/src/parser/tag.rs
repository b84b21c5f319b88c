//! One function per tag.

use hinagata_value::Result;

use super::{Late, Parser, expression::TupleRules, statement::Scope, target::Assigns};
use crate::{
    ast::{
        Arm, AutoEscape, Block, CallBlock, Expr, ExprKind, FilterBlock, For, FromImport, If, Import,
        ImportName, Include, Macro, Message, PostfixOp, Set, SetBlock, Span, Stmt, StmtKind, With,
    },
    lexer::{Op, TokenKind, is_space},
};

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn if_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let mut arms = Vec::new();
        let mut arm_at = at;
        loop {
            let test = self.tuple(TupleRules::CONDITION)?;
            let span = Span { end: test.span.end, ..arm_at };
            let body = self.body("if", at, &["elif", "else", "endif"], Scope::None)?;
            arms.push(Arm { test, body, span });
            let end = self.advance()?;
            match end.kind {
                // The line of an `elif` is that of its condition.
                TokenKind::Name("elif") => arm_at = Span { line: self.current_span().line, ..end.span },
                TokenKind::Name("else") => {
                    let otherwise = self.last_body("if", at, &["endif"], Scope::None)?;
                    return Ok(StmtKind::If(Box::new(If { arms, otherwise })));
                }
                _ => return Ok(StmtKind::If(Box::new(If { arms, otherwise: Vec::new() }))),
            }
        }
    }

    #[inline(never)]
    pub(super) fn for_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let target = self.target(Assigns::For)?;
        self.expect_word("in")?;
        let iter = self.tuple(TupleRules::CONDITION)?;
        let filter = if self.skip_name("if")? { Some(self.expression()?) } else { None };
        let recursive = self.skip_name("recursive")?;
        self.context.outer_loops += 1;
        let body = self.body("for", at, &["endfor", "else"], Scope::Loop)?;
        let has_else = self.at_name("else");
        self.advance()?;
        let mut otherwise = Vec::new();
        if has_else {
            // A recursive loop is a function, `else` included.
            let scope = if recursive { Scope::Function } else { Scope::Inner };
            otherwise = self.last_body("for", at, &["endfor"], scope)?;
        }
        self.context.outer_loops -= 1;
        Ok(StmtKind::For(Box::new(For { target, iter, filter, recursive, body, otherwise })))
    }

    #[inline(never)]
    pub(super) fn block_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let name = self.expect_name()?;
        let scoped = self.skip_name("scoped")?;
        let required = self.skip_name("required")?;
        if self.at_op(Op::Sub) {
            let error = self.error_here("the name of a block cannot contain a hyphen");
            return Err(error.with_hint("write an underscore"));
        }
        if !self.blocks.insert(name.name.clone()) {
            self.report_late(Late::Blocks, at, format!("duplicate block `{}`", name.name), None);
        }
        let callers = std::mem::take(&mut self.context.callers);
        let body = self.last_body("block", at, &["endblock"], Scope::Function)?;
        self.context.callers = callers;
        if required && !body.iter().all(is_blank) {
            let error = self.error_here("a required block may contain comments and whitespace only");
            return Err(
                error.with_hint(format!("a child template must replace `{}`; leave it empty", name.name))
            );
        }
        self.skip_name(&name.name)?;
        Ok(StmtKind::Block(Box::new(Block { name, scoped, required, body })))
    }

    #[inline(never)]
    pub(super) fn extends_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let template = self.expression()?;
        if self.context.scopes > 0 {
            let message = "`extends` is allowed only at the top level and inside `if`";
            self.report_late(Late::Compile, at, message, Some("move it to the beginning of the template"));
        }
        Ok(StmtKind::Extends(template))
    }

    #[inline(never)]
    pub(super) fn macro_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let name = self.target_name()?;
        let params = self.params()?;
        let body = self.function_body("macro", at, &["endmacro"], &params)?;
        Ok(StmtKind::Macro(Box::new(Macro { name, params, body })))
    }

    #[inline(never)]
    pub(super) fn call_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let params = if self.at_op(Op::OpenParen) { self.params()? } else { Vec::new() };
        let call = self.expression()?;
        let Some((callee, args, call_span)) = split_call(call) else {
            let error = self.error_at(at, "a `call` block requires a call");
            return Err(error.with_hint("write `{% call name(arguments) %}`"));
        };
        let body = self.function_body("call", at, &["endcall"], &params)?;
        Ok(StmtKind::CallBlock(Box::new(CallBlock { params, callee, args, call_span, body })))
    }

    #[inline(never)]
    pub(super) fn filter_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let mut filters = vec![self.filter()?];
        filters.append(&mut self.filters()?);
        let body = self.last_body("filter", at, &["endfilter"], Scope::Inner)?;
        Ok(StmtKind::FilterBlock(Box::new(FilterBlock { filters, body })))
    }

    #[inline(never)]
    pub(super) fn set_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let target = self.target(Assigns::Set)?;
        if self.skip_op(Op::Assign)? {
            let value = self.tuple(TupleRules::VALUE)?;
            return Ok(StmtKind::Set(Box::new(Set { target, value })));
        }
        let filters = self.filters()?;
        let body = self.last_body("set", at, &["endset"], Scope::Inner)?;
        Ok(StmtKind::SetBlock(Box::new(SetBlock { target, filters, body })))
    }

    #[inline(never)]
    pub(super) fn with_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let mut bindings = Vec::new();
        while *self.current() != TokenKind::BlockEnd {
            if !bindings.is_empty() {
                self.expect_op(Op::Comma)?;
            }
            let target = self.target(Assigns::With)?;
            self.expect_op(Op::Assign)?;
            bindings.push((target, self.expression()?));
        }
        let body = self.last_body("with", at, &["endwith"], Scope::Inner)?;
        Ok(StmtKind::With(Box::new(With { bindings, body })))
    }

    #[inline(never)]
    pub(super) fn include_tag(&mut self) -> Result<StmtKind> {
        self.tag_name()?;
        let template = self.expression()?;
        let ignore_missing = self.skip_names("ignore", "missing")?;
        let with_context = self.context_words()?.unwrap_or(true);
        Ok(StmtKind::Include(Box::new(Include { template, ignore_missing, with_context })))
    }

    /// Parses `with context` or `without context`, if present.
    fn context_words(&mut self) -> Result<Option<bool>> {
        Ok(if self.skip_names("with", "context")? {
            Some(true)
        } else if self.skip_names("without", "context")? {
            Some(false)
        } else {
            None
        })
    }

    #[inline(never)]
    pub(super) fn import_tag(&mut self) -> Result<StmtKind> {
        self.tag_name()?;
        let template = self.expression()?;
        self.expect_word("as")?;
        let name = self.target_name()?;
        let with_context = self.context_words()?.unwrap_or(false);
        Ok(StmtKind::Import(Box::new(Import { template, name, with_context })))
    }

    #[inline(never)]
    pub(super) fn names_import_tag(&mut self) -> Result<StmtKind> {
        self.tag_name()?;
        let template = self.expression()?;
        self.expect_word("import")?;
        let mut names = Vec::new();
        let with_context = loop {
            if !names.is_empty() && !self.skip_op(Op::Comma)? {
                break self.context_words()?;
            }
            // Also after a comma: `import a, with context`.
            if let Some(with_context) = self.context_words()? {
                break Some(with_context);
            }
            names.push(self.import_name()?);
        };
        let with_context = with_context.unwrap_or(false);
        Ok(StmtKind::FromImport(Box::new(FromImport { template, names, with_context })))
    }

    fn import_name(&mut self) -> Result<ImportName> {
        let name = self.target_name()?;
        if name.name.starts_with('_') {
            let error = self.error_at(name.span, format!("`{}` cannot be imported", name.name));
            return Err(error.with_hint("names that start with an underscore are private to their template"));
        }
        let alias = if self.skip_name("as")? { Some(self.target_name()?) } else { None };
        Ok(ImportName { name, alias })
    }

    pub(super) fn do_tag(&mut self) -> Result<StmtKind> {
        self.tag_name()?;
        self.tuple(TupleRules::VALUE).map(StmtKind::Do)
    }

    #[inline(never)]
    pub(super) fn loop_control_tag(&mut self) -> Result<StmtKind> {
        let token = self.advance()?;
        let (kind, name) = match token.kind {
            TokenKind::Name("break") => (StmtKind::Break, "break"),
            _ => (StmtKind::Continue, "continue"),
        };
        if self.context.loops == 0 {
            self.report_late(Late::Python, token.span, format!("`{name}` outside of a loop"), None);
        }
        Ok(kind)
    }

    #[inline(never)]
    pub(super) fn autoescape_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let enabled = self.expression()?;
        let body = self.last_body("autoescape", at, &["endautoescape"], Scope::Inner)?;
        Ok(StmtKind::AutoEscape(Box::new(AutoEscape { enabled, body })))
    }

    #[inline(never)]
    pub(super) fn generation_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let body = self.last_body("generation", at, &["endgeneration"], Scope::Inner)?;
        Ok(StmtKind::Generation(body))
    }

    #[inline(never)]
    pub(super) fn message_tag(&mut self) -> Result<StmtKind> {
        let at = self.tag_name()?;
        let role = self.expression()?;
        let body = self.last_body("message", at, &["endmessage"], Scope::Inner)?;
        Ok(StmtKind::Message(Box::new(Message { role, body })))
    }
}

/// Whether a statement is allowed in a required block.
fn is_blank(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Text(text) if text.chars().all(is_space))
}

/// Splits a call into its callee, its arguments and its span; `None` for other expressions.
fn split_call(expr: Expr) -> Option<(Expr, crate::ast::CallArgs, Span)> {
    let ExprKind::Postfix(mut postfix) = expr.kind else { return None };
    let call = postfix.ops.pop()?;
    let PostfixOp::Call(args) = call.op else { return None };
    let Some(last) = postfix.ops.last() else { return Some((postfix.base, args, call.span)) };
    let span = Span { start: expr.span.start, end: last.span.end, line: last.span.line };
    Some((Expr { kind: ExprKind::Postfix(postfix), span }, args, call.span))
}
