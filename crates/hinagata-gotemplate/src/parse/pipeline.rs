//! Parses pipelines, commands and operands.

use hinagata_value::{Key, Result};

use super::{
    Parser,
    token::{Keyword, Kind, Token},
};
use crate::{
    error::Part,
    text::{
        number::{Form, Ideal, Number},
        quote,
    },
    tree::{
        Builtin, Command, Comparison, Content, Expr, ExprKind, FunctionRef, NumberLiteral, Path, Pipe,
        Scalar, Slots, Span, Start, StrLiteral, Test, Variable,
    },
};

/// Maximum depth of parentheses, as in Go.
const MOST_PARENS: u32 = 10_000;

impl<'p> Parser<'p> {
    /// Parses a pipeline up to and including `end`. Returns its number.
    pub(super) fn parse_pipeline(&mut self, context: &str, end: Kind) -> Result<u32> {
        let at = self.peek_non_space()?.start;
        let (names, assigns) = self.declarations(context)?;
        let mut commands = Vec::new();
        loop {
            let token = self.next_non_space()?;
            if token.kind == end {
                break;
            }
            if !starts_operand(token.kind) {
                return Err(self.unexpected(&token, context));
            }
            self.back(token);
            commands.push(self.command()?);
        }
        self.check_pipeline(&commands, context)?;
        // The variables exist only after the commands have run.
        let variables: Vec<Variable> = names
            .into_iter()
            .map(|name| {
                let slots = match assigns {
                    true => self.current.scope.resolve_variable(&name, self.budget)?,
                    false => Slots::One(self.current.scope.declare_variable(&name, self.budget)?),
                };
                Ok(Variable { name, slots })
            })
            .collect::<Result<_>>()?;
        let list = &mut self.current.tree.commands;
        let start = list.len() as u32;
        list.extend(commands);
        let commands = Span { start, end: list.len() as u32 };
        let path = self.path(&variables, commands);
        let pipes = &mut self.current.tree.pipes;
        pipes.push(Pipe { at, variables, assigns, commands, path });
        Ok(pipes.len() as u32 - 1)
    }

    /// The pipeline as a path, if it is one.
    fn path(&self, variables: &[Variable], commands: Span) -> Option<Path> {
        if !variables.is_empty() || commands.len() != 1 {
            return None;
        }
        let args = self.current.tree.commands[commands.start as usize].args;
        if args.len() == 1 { self.path_of(args.start) } else { None }
    }

    fn path_of(&self, expr: u32) -> Option<Path> {
        let tree = &self.current.tree;
        let (start, keys) = match &tree.exprs[expr as usize].kind {
            ExprKind::Dot => (Start::Dot, Span::default()),
            ExprKind::Field(keys) => (Start::Dot, *keys),
            ExprKind::Variable(variable, keys) => match variable.slots {
                Slots::One(0) => (Start::Root, *keys),
                Slots::One(slot) => (Start::Slot(slot - 1), *keys),
                Slots::Maybe(_) => return None,
            },
            _ => return None,
        };
        Some(Path { start, keys: tree.keys[keys.range()].into() })
    }

    /// The condition of a branch, in the form that is fastest to evaluate.
    pub(super) fn branch_test(&self, pipe: u32) -> Test {
        let tree = &self.current.tree;
        let pipe = &tree.pipes[pipe as usize];
        if let Some(path) = &pipe.path {
            return Test::Path(path.clone());
        }
        let args = tree.commands[pipe.commands.start as usize].args;
        let ExprKind::Function(FunctionRef::Builtin(builtin)) = tree.exprs[args.start as usize].kind else {
            return Test::Any;
        };
        if !builtin.is_comparison()
            || !pipe.variables.is_empty()
            || pipe.commands.len() != 1
            || args.len() != 3
        {
            return Test::Any;
        }
        match (self.scalar(args.start + 1), self.scalar(args.start + 2)) {
            (Some(left), Some(right)) => Test::Compare(Box::new(Comparison { builtin, left, right })),
            _ => Test::Any,
        }
    }

    fn scalar(&self, expr: u32) -> Option<Scalar> {
        match &self.current.tree.exprs[expr as usize].kind {
            ExprKind::Str(literal) => match &literal.content {
                Content::Text(text) => Some(Scalar::Text(text.as_str().into())),
                Content::Bytes(_) => None,
            },
            ExprKind::Number(literal) => match literal.ideal {
                Ideal::Int(int) => Some(Scalar::Int(int)),
                Ideal::Float(float) => Some(Scalar::Float(float)),
                Ideal::Complex(..) | Ideal::Overflow => None,
            },
            _ => self.path_of(expr).map(Scalar::Path),
        }
    }

    /// Parses `$a :=`, `$a =`, and in a range `$a, $b :=`.
    fn declarations(&mut self, context: &str) -> Result<(Vec<Box<str>>, bool)> {
        let mut names: Vec<Box<str>> = Vec::new();
        loop {
            if self.peek_non_space()?.kind != Kind::Variable {
                return Ok((names, false));
            }
            let variable = self.next()?;
            let after = self.peek()?;
            let space = (after.kind == Kind::Space).then(|| after.clone());
            let next = self.peek_non_space()?;
            let (kind, is_comma) = (next.kind, next.kind == Kind::Char && next.text == ",");
            if kind == Kind::Assign || kind == Kind::Declare {
                self.next_non_space()?;
                names.push(self.accepted(&variable));
                return Ok((names, kind == Kind::Assign));
            }
            if !is_comma {
                self.pending.extend(space);
                self.back(variable);
                return Ok((names, false));
            }
            self.next_non_space()?;
            names.push(self.accepted(&variable));
            if context != "range" || names.len() > 1 {
                return Err(self.fail("too many declarations in %s", &[Part::Text(context)]));
            }
            match self.peek_non_space()?.kind {
                Kind::Variable | Kind::RightDelim | Kind::RightParen => {}
                _ => return Err(self.fail("range can only initialize variables", &[])),
            }
        }
    }

    fn accepted(&mut self, variable: &Token<'_>) -> Box<str> {
        self.current.scope.accept_name(&variable.text);
        variable.text.as_ref().into()
    }

    fn check_pipeline(&self, commands: &[Command], context: &str) -> Result<()> {
        if commands.is_empty() {
            return Err(self.fail("missing value for %s", &[Part::Text(context)]));
        }
        for (at, command) in commands.iter().enumerate().skip(1) {
            let first = &self.current.tree.exprs[command.args.start as usize].kind;
            let constant = matches!(
                first,
                ExprKind::Bool(_) | ExprKind::Dot | ExprKind::Nil | ExprKind::Number(_) | ExprKind::Str(_)
            );
            if constant {
                let stage = Part::Int(at as i64 + 1);
                return Err(self.fail("non executable command in pipeline stage %d", &[stage]));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command> {
        let at = self.peek_non_space()?.start;
        let mut args: Vec<Expr> = Vec::new();
        let mut slots = Vec::new();
        loop {
            self.peek_non_space()?;
            let maybe = args.len() > 1 && may_stop_early(&args[0]);
            if maybe {
                self.current.scope.enter_maybe();
            }
            args.extend(self.operand()?);
            if maybe {
                slots.extend(self.current.scope.leave_maybe());
            }
            let token = self.next()?;
            match token.kind {
                Kind::Space => {}
                Kind::RightDelim | Kind::RightParen => {
                    self.back(token);
                    break;
                }
                Kind::Pipe => break,
                _ => return Err(self.unexpected(&token, "operand")),
            }
        }
        if args.is_empty() {
            return Err(self.fail("empty command", &[]));
        }
        let list = &mut self.current.tree.exprs;
        let start = list.len() as u32;
        list.extend(args);
        let args = Span { start, end: list.len() as u32 };
        if !slots.is_empty() {
            self.current.tree.conditional.push((start, slots));
        }
        Ok(Command { at, args })
    }

    /// Parses a term and the fields after it.
    fn operand(&mut self) -> Result<Option<Expr>> {
        let Some(term) = self.term()? else { return Ok(None) };
        if self.peek()?.kind != Kind::Field {
            return Ok(Some(term));
        }
        // The place of a chain is its second part, as in Go.
        let at = self.peek()?.start;
        let mut names = Vec::new();
        while self.peek()?.kind == Kind::Field {
            names.push(self.next()?);
        }
        let keys = &mut self.current.tree.keys;
        let start = keys.len() as u32;
        let kind = match term.kind {
            ExprKind::Field(first) => {
                // The key of the term was added last, so the keys are consecutive.
                extend_keys(keys, &names);
                ExprKind::Field(Span { start: first.start, end: keys.len() as u32 })
            }
            ExprKind::Variable(variable, _) => {
                extend_keys(keys, &names);
                ExprKind::Variable(variable, Span { start, end: keys.len() as u32 })
            }
            ExprKind::Function(_) | ExprKind::Pipe(_) | ExprKind::Chain(..) => {
                extend_keys(keys, &names);
                let keys = Span { start, end: keys.len() as u32 };
                let exprs = &mut self.current.tree.exprs;
                exprs.push(term);
                ExprKind::Chain(exprs.len() as u32 - 1, keys)
            }
            ExprKind::Bool(_) | ExprKind::Str(_) | ExprKind::Number(_) | ExprKind::Nil | ExprKind::Dot => {
                let shown = shown_constant(&term.kind);
                return Err(self.fail("unexpected . after term %q", &[Part::Text(&shown)]));
            }
        };
        Ok(Some(Expr { at, kind }))
    }

    fn term(&mut self) -> Result<Option<Expr>> {
        let token = self.next_non_space()?;
        let kind = match token.kind {
            Kind::Identifier => ExprKind::Function(self.function(&token.text)?),
            Kind::Keyword(Keyword::Dot) => ExprKind::Dot,
            Kind::Keyword(Keyword::Nil) => ExprKind::Nil,
            Kind::Variable => ExprKind::Variable(self.variable(&token.text)?, Span::default()),
            Kind::Field => {
                let keys = &mut self.current.tree.keys;
                keys.push(Key::new(&token.text[1..]));
                let end = keys.len() as u32;
                ExprKind::Field(Span { start: end - 1, end })
            }
            Kind::Bool => ExprKind::Bool(token.text == "true"),
            Kind::CharConstant => self.number(&token, Form::Char)?,
            Kind::Complex => self.number(&token, Form::Complex)?,
            Kind::Number => self.number(&token, Form::Plain)?,
            Kind::LeftParen => self.parenthesized()?,
            Kind::String | Kind::RawString => match quote::unquote_literal(&token.text) {
                Some(bytes) => ExprKind::Str(Box::new(StrLiteral {
                    quoted: token.text.as_ref().into(),
                    content: Content::from_bytes(bytes),
                })),
                None => return Err(self.fail("%s", &[Part::Text("invalid syntax")])),
            },
            _ => {
                self.back(token);
                return Ok(None);
            }
        };
        Ok(Some(Expr { at: token.start, kind }))
    }

    fn variable(&mut self, name: &str) -> Result<Variable> {
        if !self.current.scope.is_accepted(name, self.budget)? {
            return Err(self.fail("undefined variable %q", &[Part::Text(name)]));
        }
        Ok(Variable { name: name.into(), slots: self.current.scope.resolve_variable(name, self.budget)? })
    }

    fn number(&self, token: &Token<'_>, form: Form) -> Result<ExprKind> {
        match Number::parse(&token.text, form) {
            Ok(number) => {
                let ideal = number.ideal();
                Ok(ExprKind::Number(Box::new(NumberLiteral { number, ideal })))
            }
            Err(why) => Err(self.fail("%s", &[Part::Text(&why)])),
        }
    }

    fn parenthesized(&mut self) -> Result<ExprKind> {
        if self.current.parens >= MOST_PARENS {
            return Err(self.fail("max expression depth exceeded", &[]));
        }
        let _level = self.budget.enter_level()?;
        self.current.parens += 1;
        let pipe = self.parse_pipeline("parenthesized pipeline", Kind::RightParen)?;
        self.current.parens -= 1;
        Ok(ExprKind::Pipe(pipe))
    }
}

fn extend_keys(keys: &mut Vec<Key>, names: &[Token<'_>]) {
    keys.extend(names.iter().map(|name| Key::new(&name.text[1..])));
}

fn starts_operand(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Bool
            | Kind::CharConstant
            | Kind::Complex
            | Kind::Keyword(Keyword::Dot | Keyword::Nil)
            | Kind::Field
            | Kind::Identifier
            | Kind::Number
            | Kind::RawString
            | Kind::String
            | Kind::Variable
            | Kind::LeftParen
    )
}

/// Whether a command with this first operand may skip arguments.
fn may_stop_early(first: &Expr) -> bool {
    matches!(first.kind, ExprKind::Function(FunctionRef::Builtin(Builtin::And | Builtin::Or)))
}

fn shown_constant(kind: &ExprKind) -> String {
    match kind {
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Str(literal) => literal.quoted.to_string(),
        ExprKind::Number(literal) => literal.number.text.to_string(),
        ExprKind::Nil => "nil".to_owned(),
        _ => ".".to_owned(),
    }
}
