//! Text, print tags and block tags, and the blocks between them.

use hinagata_value::{Error, Result, near_names};

use super::{Caller, Context, Late, Open, Parser, expression::TupleRules, stream::Mark};
use crate::{
    ast::{Param, Span, Stmt, StmtKind},
    lexer::{Op, TokenKind},
};

/// The tags that start a statement, for hints about misspelled ones.
const TAGS: &[&str] = &[
    "for",
    "if",
    "block",
    "extends",
    "print",
    "macro",
    "include",
    "from",
    "import",
    "set",
    "with",
    "autoescape",
    "call",
    "filter",
    "do",
    "break",
    "continue",
    "raw",
];

/// What a block changes for the statements inside.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scope {
    /// Nothing, as the arms of an `if`.
    None,
    /// Names that are set inside are not visible outside.
    Inner,
    /// As `Inner`, and a `break` inside leaves this loop.
    Loop,
    /// As `Inner`, and no `break` inside can leave an outer loop.
    Function,
}

impl<'s> Parser<'s> {
    pub(super) fn template(&mut self) -> Result<Vec<Stmt>> {
        self.statements(&[])
    }

    /// Parses statements up to the end of the source or to a tag of `ends`, whose name becomes the current
    /// token.
    fn statements(&mut self, ends: &[&str]) -> Result<Vec<Stmt>> {
        let mut body = Vec::new();
        loop {
            match self.current() {
                TokenKind::Eof => return Ok(body),
                TokenKind::VariableBegin => body.push(self.print()?),
                TokenKind::BlockBegin => {
                    self.advance()?;
                    if matches!(self.current(), TokenKind::Name(name) if ends.contains(name)) {
                        return Ok(body);
                    }
                    self.statement(&mut body)?;
                    self.expect_block_end()?;
                }
                _ => body.push(self.text()?),
            }
        }
    }

    fn text(&mut self) -> Result<Stmt> {
        let token = self.advance()?;
        match token.kind {
            TokenKind::Data(text) => Ok(Stmt { kind: StmtKind::Text(text.into()), span: token.span }),
            other => Err(self.error_at(token.span, format!("unexpected {}", other.describe_token()))),
        }
    }

    #[inline(never)]
    fn print(&mut self) -> Result<Stmt> {
        let mut span = self.advance()?.span;
        let value = self.tuple(TupleRules::VALUE)?;
        span.end = self.current_span().end;
        span.line = value.span.line;
        self.expect_variable_end()?;
        Ok(Stmt { kind: StmtKind::Print(value), span })
    }

    /// Parses the statement of one tag, including the tags that belong to it.
    fn statement(&mut self, body: &mut Vec<Stmt>) -> Result<()> {
        let mark = self.mark();
        let TokenKind::Name(name) = *self.current() else {
            return Err(self.expected_error("the name of a tag"));
        };
        let kind = match name {
            "for" => self.for_tag()?,
            "if" => self.if_tag()?,
            "block" => self.block_tag()?,
            "extends" => self.extends_tag()?,
            "print" => return self.print_tag(body),
            "macro" => self.macro_tag()?,
            "include" => self.include_tag()?,
            "from" => self.names_import_tag()?,
            "import" => self.import_tag()?,
            "set" => self.set_tag()?,
            "with" => self.with_tag()?,
            "autoescape" => self.autoescape_tag()?,
            "call" => self.call_tag()?,
            "filter" => self.filter_tag()?,
            "do" => self.do_tag()?,
            "break" | "continue" => self.loop_control_tag()?,
            "generation" if self.options.generation => self.generation_tag()?,
            "message" if self.options.messages => self.message_tag()?,
            name => return Err(self.unknown_tag(name)),
        };
        body.push(Stmt { kind, span: self.span_from(mark) });
        Ok(())
    }

    /// Parses the end of the tag and the body up to a tag of `ends`, whose name becomes the current token.
    pub(super) fn body(
        &mut self,
        tag: &'static str,
        at: Span,
        ends: &'static [&'static str],
        scope: Scope,
    ) -> Result<Vec<Stmt>> {
        self.skip_op(Op::Colon)?;
        self.expect_block_end()?;
        let _level = self.nest()?;
        self.open.push(Open { tag, span: at, ends });
        let outside = self.context.enter(scope);
        let body = self.statements(ends)?;
        self.context.leave(scope, outside);
        if *self.current() == TokenKind::Eof {
            return Err(self.unclosed_error());
        }
        self.open.pop();
        Ok(body)
    }

    /// As [`Self::body`] for a single end tag, which it takes too.
    pub(super) fn last_body(
        &mut self,
        tag: &'static str,
        at: Span,
        end: &'static [&'static str],
        scope: Scope,
    ) -> Result<Vec<Stmt>> {
        let body = self.body(tag, at, end, scope)?;
        self.advance()?;
        Ok(body)
    }

    /// Parses the body of a macro or a call block, and checks the rule for a parameter named `caller`.
    pub(super) fn function_body(
        &mut self,
        tag: &'static str,
        at: Span,
        end: &'static [&'static str],
        params: &[Param],
    ) -> Result<Vec<Stmt>> {
        self.context.callers.push(Caller::Unused);
        let body = self.last_body(tag, at, end, Scope::Function)?;
        let caller = self.context.callers.pop();
        let required = params.iter().any(|param| &*param.name.name == "caller" && param.default.is_none());
        if required && caller == Some(Caller::Read) {
            let message = "a parameter `caller` that is used must have a default";
            let hint = "leave it out: `caller` is there without a parameter";
            self.report_late(Late::Compile, at, message, Some(hint));
        }
        Ok(body)
    }

    #[cold]
    fn unclosed_error(&self) -> Error {
        let Some(open) = self.open.last() else { return self.expected_error("a tag") };
        let message = format!(
            "the template ends, but {}; the innermost open block is `{}` of line {}",
            looking_for(open.ends),
            open.tag,
            open.span.line
        );
        // The line is that of the last token. If the open tag is on the same line, it is the better place.
        let end = self.current_span();
        self.error_at(if open.span.line == end.line { open.span } else { end }, message)
    }

    #[cold]
    fn unknown_tag(&self, name: &str) -> Error {
        let open = self.open.last();
        let mut message = format!("unknown tag `{name}`");
        if let Some(open) = open {
            message = format!(
                "{message}, where {}; the innermost open block is `{}` of line {}",
                looking_for(open.ends),
                open.tag,
                open.span.line
            );
        }
        let error = self.error_here(message);
        let error = match name {
            "endraw" => error.with_hint("no `raw` block is open"),
            "elseif" | "elsif" => error.with_hint("write `elif`"),
            "end" => error.with_hint("an end tag names what it closes: `endif`, `endfor`"),
            "else" | "elif" => {
                error.with_hint(format!("`{name}` belongs inside `if` (`else` also inside `for`)"))
            }
            "trans" | "pluralize" | "endtrans" => error.with_hint("translations are not supported"),
            name if name.strip_prefix("end").is_some_and(|tag| TAGS.contains(&tag)) => {
                error.with_hint(format!("no `{}` is open here, or another block inside it is", &name[3..]))
            }
            _ => error,
        };
        let extra = [("generation", self.options.generation), ("message", self.options.messages)];
        let extra = extra.into_iter().filter_map(|(tag, on)| on.then_some(tag));
        let ends = open.map_or(&[][..], |open| open.ends).iter().copied();
        error.with_near(near_names(name, ends.chain(TAGS.iter().copied()).chain(extra)))
    }

    /// Takes the name of the current tag and returns its span.
    pub(super) fn tag_name(&mut self) -> Result<Span> {
        self.advance().map(|token| token.span)
    }

    fn print_tag(&mut self, body: &mut Vec<Stmt>) -> Result<()> {
        self.tag_name()?;
        let mut first = true;
        while *self.current() != TokenKind::BlockEnd {
            if !first {
                self.expect_op(Op::Comma)?;
            }
            first = false;
            let mark = self.mark();
            let value = self.expression()?;
            let span = self.span_from(Mark { line: value.span.line, ..mark });
            body.push(Stmt { kind: StmtKind::Print(value), span });
        }
        Ok(())
    }
}

fn looking_for(ends: &[&str]) -> String {
    let ends: Vec<String> = ends.iter().map(|end| format!("`{end}`")).collect();
    match ends.split_last() {
        Some((last, [])) => format!("{last} was expected"),
        Some((last, before)) => format!("{} or {last} was expected", before.join(", ")),
        None => "nothing was expected".into(),
    }
}

impl Context {
    /// Enters a block and returns the value that [`Context::leave`] needs.
    fn enter(&mut self, scope: Scope) -> u32 {
        let outside = self.loops;
        match scope {
            Scope::None => return outside,
            Scope::Inner => {}
            Scope::Loop => self.loops += 1,
            Scope::Function => self.loops = 0,
        }
        self.scopes += 1;
        outside
    }

    fn leave(&mut self, scope: Scope, outside: u32) {
        self.loops = outside;
        if scope != Scope::None {
            self.scopes -= 1;
        }
    }
}
