//! A Jinja template as pieces that other languages can express, or not.

use hinagata_document::{LineColumn, Result};
use hinagata_jinja::ast::{
    Arm, CallArgs, Const, Expr, ExprKind, FilterCall, Include, Postfix, PostfixOp, PostfixStep, Stmt,
    StmtKind, Target, TargetKind,
};
use hinagata_jinja::{ParseOptions, Source, analyze_template, parse};
use hinagata_value::{Budget, Limits};

use crate::export::Exporter;
use crate::language::DEEPEST;

/// A piece of a template, with its place.
#[derive(Clone, Debug)]
pub(in crate::export) struct Piece {
    pub(super) kind: PieceKind,
    pub(super) at: LineColumn,
    /// The tag as it stands in the template.
    pub(super) source: String,
}

#[derive(Clone, Debug)]
pub(in crate::export) enum PieceKind {
    Text(String),
    Print(Expr),
    If {
        arms: Vec<(Expr, Vec<Piece>)>,
        otherwise: Vec<Piece>,
    },
    For {
        names: Vec<String>,
        over: Expr,
        body: Vec<Piece>,
        otherwise: Vec<Piece>,
    },
    /// A message of this role starts.
    Role(String),
    /// Media by its URL, with its type.
    Media(Expr, Option<Expr>),
    /// Pieces that see a value under another name.
    With {
        name: String,
        value: Expr,
        body: Vec<Piece>,
    },
    /// Earlier messages in this variable.
    History(String),
    /// Something that no other language can express.
    Other(&'static str),
}

/// A variable with keys below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValuePath {
    pub(super) root: String,
    pub(super) keys: Vec<String>,
}

/// Splits a template into pieces; included templates are part of it.
pub(super) fn read_pieces(exporter: &Exporter<'_>, file: &str, source: &str) -> Result<Vec<Piece>> {
    read_nested(exporter, (file, source), &[])
}

fn read_nested(exporter: &Exporter<'_>, (file, source): (&str, &str), open: &[String]) -> Result<Vec<Piece>> {
    let budget = Budget::new(Limits::default());
    let template = parse(file, source, &ParseOptions::default(), &budget).map_err(|error| {
        let place = error.place().map_or(LineColumn { line: 1, column: 1 }, |place| LineColumn {
            line: place.line,
            column: place.column,
        });
        exporter.syntax_error(file, source, place, error.message())
    })?;
    Lower { exporter, source, open }.statements(&template.body)
}

struct Lower<'l, 'e> {
    exporter: &'l Exporter<'e>,
    source: &'l str,
    /// The included templates that are being read.
    open: &'l [String],
}

impl Lower<'_, '_> {
    fn statements(&self, statements: &[Stmt]) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        for statement in statements {
            self.statement(statement, &mut pieces)?;
        }
        Ok(merge_texts(pieces))
    }

    fn statement(&self, statement: &Stmt, pieces: &mut Vec<Piece>) -> Result<()> {
        let kind = match &statement.kind {
            StmtKind::Text(text) => PieceKind::Text(text.to_string()),
            StmtKind::Print(expression) => printed(expression),
            StmtKind::If(choice) => {
                let arm = |arm: &Arm| Ok((arm.test.clone(), self.statements(&arm.body)?));
                PieceKind::If {
                    arms: choice.arms.iter().map(arm).collect::<Result<_>>()?,
                    otherwise: self.statements(&choice.otherwise)?,
                }
            }
            StmtKind::For(run) => {
                let names = match &run.target.kind {
                    TargetKind::Name(name) => vec![name.to_string()],
                    TargetKind::Tuple(targets) => {
                        let name = |kind: &TargetKind| match kind {
                            TargetKind::Name(name) => Some(name.to_string()),
                            _ => None,
                        };
                        targets.iter().filter_map(|target| name(&target.kind)).collect()
                    }
                    TargetKind::Attr { .. } => Vec::new(),
                };
                let body = self.statements(&run.body)?;
                match history_of(&names, &run.iter, &body) {
                    Some(history) => PieceKind::History(history),
                    None if run.filter.is_some() || run.recursive || names.is_empty() => {
                        PieceKind::Other("a loop with a condition")
                    }
                    None => PieceKind::For {
                        names,
                        over: run.iter.clone(),
                        body,
                        otherwise: self.statements(&run.otherwise)?,
                    },
                }
            }
            StmtKind::Include(include) => match self.included(include)? {
                Some(inner) => {
                    pieces.extend(inner);
                    return Ok(());
                }
                None => PieceKind::Other("an include whose file is not known"),
            },
            StmtKind::Message(message) => match constant_text(&message.role) {
                Some(role) => {
                    pieces.push(self.piece(statement, PieceKind::Role(role)));
                    pieces.extend(self.statements(&message.body)?);
                    return Ok(());
                }
                None => PieceKind::Other("a role taken from data"),
            },
            StmtKind::Generation(body) => {
                pieces.extend(self.statements(body)?);
                return Ok(());
            }
            StmtKind::With(with) => match with.bindings.as_slice() {
                [(Target { kind: TargetKind::Name(name), .. }, value)] => PieceKind::With {
                    name: name.to_string(),
                    value: value.clone(),
                    body: self.statements(&with.body)?,
                },
                _ => PieceKind::Other("several variables of the template"),
            },
            StmtKind::Set(_) | StmtKind::SetBlock(_) => PieceKind::Other("a variable of the template"),
            StmtKind::Macro(_) | StmtKind::CallBlock(_) | StmtKind::Import(_) | StmtKind::FromImport(_) => {
                PieceKind::Other("a macro")
            }
            StmtKind::FilterBlock(_) | StmtKind::AutoEscape(_) => PieceKind::Other("a filtered block"),
            StmtKind::Block(_) | StmtKind::Extends(_) => PieceKind::Other("a block of a parent template"),
            StmtKind::Do(_) | StmtKind::Break | StmtKind::Continue => PieceKind::Other("a statement"),
        };
        pieces.push(self.piece(statement, kind));
        Ok(())
    }

    fn piece(&self, statement: &Stmt, kind: PieceKind) -> Piece {
        let (start, end) = (statement.span.start as usize, statement.span.end as usize);
        let at = LineColumn::at_offset(self.source, start.min(self.source.len()));
        let slice =
            |start: usize, end: usize| self.source.get(start..end).unwrap_or_default().trim().to_owned();
        let source = match &statement.kind {
            StmtKind::Print(value) => slice(value.span.start as usize, value.span.end as usize),
            StmtKind::Text(text) => text.to_string(),
            _ => {
                // The span has neither the first nor the last delimiter.
                let before = self.source.get(..start).and_then(|before| before.rfind("{%")).unwrap_or(start);
                let after = self.source.get(end..).map(str::trim_start).filter(|rest| rest.starts_with("%}"));
                let end = after.map_or(end, |rest| self.source.len() - rest.len() + "%}".len());
                slice(before, end)
            }
        };
        Piece { kind, at, source }
    }

    fn included(&self, include: &Include) -> Result<Option<Vec<Piece>>> {
        let name = constant_text(&include.template).filter(|_| include.with_context);
        // One that includes itself has no end.
        let is_free = |name: &String| self.open.len() < DEEPEST && !self.open.contains(name);
        let Some(name) = name.filter(is_free) else { return Ok(None) };
        match (self.exporter.include)(&name) {
            Some(text) => {
                let open = [self.open, std::slice::from_ref(&name)].concat();
                read_nested(self.exporter, (&name, &text), &open).map(Some)
            }
            None if include.ignore_missing => Ok(Some(Vec::new())),
            None => Ok(None),
        }
    }
}

/// Texts that follow each other as one, because what a language reads in a text may span them.
fn merge_texts(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut merged: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (merged.last_mut(), &piece.kind) {
            (Some(Piece { kind: PieceKind::Text(last), .. }), PieceKind::Text(text)) => last.push_str(text),
            _ => merged.push(piece),
        }
    }
    merged
}

/// What a printed expression is.
fn printed(expression: &Expr) -> PieceKind {
    if let ExprKind::Const(Const::Str(text)) = &expression.kind {
        return PieceKind::Text(text.to_string());
    }
    match call_of(expression) {
        Some(("role", arguments)) => match arguments.positional.as_slice() {
            [role] => constant_text(role).map_or(PieceKind::Other("a role taken from data"), PieceKind::Role),
            _ => PieceKind::Other("a role"),
        },
        Some(("media", arguments)) => {
            let is_plain =
                arguments.keywords.is_empty() && arguments.args.is_none() && arguments.kwargs.is_none();
            match arguments.positional.as_slice() {
                [url] if is_plain => PieceKind::Media(url.clone(), None),
                [url, kind] if is_plain => PieceKind::Media(url.clone(), Some(kind.clone())),
                _ => PieceKind::Other("media with named arguments"),
            }
        }
        _ => PieceKind::Print(expression.clone()),
    }
}

/// `for m in NAME`, `role(m.role)`, `m.content`: the name.
fn history_of(names: &[String], over: &Expr, body: &[Piece]) -> Option<String> {
    let ([item], [role, content]) = (names, body) else { return None };
    let is_role = matches!(role.kind, PieceKind::Other("a role taken from data"));
    let content = match &content.kind {
        PieceKind::Print(content) => value_path(content)?,
        _ => return None,
    };
    let is_content = content.root == *item && content.keys == ["content"];
    let over = value_path(over).filter(|path| path.keys.is_empty())?;
    (is_role && is_content).then_some(over.root)
}

pub(super) fn constant_text(expression: &Expr) -> Option<String> {
    match &expression.kind {
        ExprKind::Const(Const::Str(text)) => Some(text.to_string()),
        _ => None,
    }
}

/// The function and the arguments of a call.
pub(super) fn call_of(expression: &Expr) -> Option<(&str, &CallArgs)> {
    let ExprKind::Postfix(postfix) = &expression.kind else { return None };
    match (&postfix.base.kind, postfix.ops.as_slice()) {
        (ExprKind::Name(name), [PostfixStep { op: PostfixOp::Call(arguments), .. }]) => {
            Some((name, arguments))
        }
        _ => None,
    }
}

/// A variable, with attributes and constant keys.
pub(super) fn value_path(expression: &Expr) -> Option<ValuePath> {
    let postfix = match &expression.kind {
        ExprKind::Name(name) => return Some(ValuePath { root: name.to_string(), keys: Vec::new() }),
        ExprKind::Postfix(postfix) => postfix,
        _ => return None,
    };
    let mut path = value_path(&postfix.base)?;
    for step in &postfix.ops {
        match &step.op {
            PostfixOp::Attr(key) => path.keys.push(key.to_string()),
            PostfixOp::Item(key) => path.keys.push(constant_key(key)?),
            PostfixOp::Filter(FilterCall { name, args, .. }) if **name == *"at" => {
                for key in &args.positional {
                    path.keys.push(constant_key(key)?);
                }
            }
            _ => return None,
        }
    }
    Some(path)
}

fn constant_key(expression: &Expr) -> Option<String> {
    match &expression.kind {
        ExprKind::Const(Const::Str(text)) => Some(text.to_string()),
        ExprKind::Const(Const::Int(number)) => Some(number.to_string()),
        _ => None,
    }
}

/// The value before the last filter, if that is `name` without arguments.
pub(super) fn without_filter(expression: &Expr, name: &str) -> Option<Expr> {
    let (value, arguments) = split_filter(expression, name)?;
    (*arguments == CallArgs::default()).then_some(value)
}

/// The value before the last filter and the arguments of that, if it is `name`.
pub(super) fn split_filter<'e>(expression: &'e Expr, name: &str) -> Option<(Expr, &'e CallArgs)> {
    let ExprKind::Postfix(postfix) = &expression.kind else { return None };
    let (last, before) = postfix.ops.split_last()?;
    let arguments = match &last.op {
        PostfixOp::Filter(filter) if *filter.name == *name => &filter.args,
        _ => return None,
    };
    let value = match before {
        [] => postfix.base.clone(),
        ops => Expr {
            kind: ExprKind::Postfix(Box::new(Postfix { base: postfix.base.clone(), ops: ops.to_vec() })),
            span: expression.span,
        },
    };
    Some((value, arguments))
}

/// A filter, test or function of ours that a template uses, or an include, which other programs do not have.
pub(super) fn own_word(source: &str) -> Option<String> {
    const FILTERS: [&str; 9] = ["js", "each", "pairs", "section", "at", "up", "prefix", "html", "words"];
    let budget = Budget::new(Limits::default());
    let template = parse("template", source, &ParseOptions::default(), &budget).ok()?;
    let analysis = analyze_template(&template, &Source::new("template", source));
    let filters =
        analysis.filters.iter().map(|used| &used.name).filter(|name| FILTERS.contains(&name.as_str()));
    let tests = analysis.tests.iter().map(|used| &used.name).filter(|name| *name == "js_same");
    let functions = analysis.functions.iter().map(|used| &used.name);
    let functions = functions.filter(|name| matches!(name.as_str(), "role" | "media" | "resource"));
    let include = analysis.templates.first().map(|_| "include".to_owned());
    filters.chain(tests).chain(functions).next().cloned().or(include)
}
