//! The messages of a template, and its constant text.

use hinagata_gotemplate::syntax::{Define, Node, OperandKind, Pipe};
use hinagata_jinja::ast::{Expr, ExprKind, PostfixOp, Stmt, StmtKind};

use crate::{
    check::{Check, Tree},
    codes::{MESSAGE_EMPTY, MESSAGE_STRAY_TEXT},
};

/// What a template consists of, as far as messages matter.
enum Piece {
    /// Text; whether it has more than whitespace.
    Text { at: (u32, u32), has_text: bool },
    /// A printed value.
    Output { at: (u32, u32) },
    /// The start of a message.
    Role { at: (u32, u32) },
    /// A message with its end.
    Message { at: (u32, u32), is_empty: bool },
    /// What may contain anything.
    Unknown,
}

impl Check<'_> {
    /// Checks the messages that a template starts, and counts its constant text.
    pub(crate) fn check_messages(&mut self, name: &str, tree: &Tree) {
        if !tree.is_complete() {
            return;
        }
        let pieces = match tree.readable() {
            Some(Tree::Jinja(template)) => {
                self.add_constant_text(template.body.iter().filter_map(|stmt| match &stmt.kind {
                    StmtKind::Text(text) => Some(&**text),
                    _ => None,
                }));
                jinja_pieces(&template.body)
            }
            Some(Tree::Go(defines)) => {
                let Some(main) = defines.iter().find(|define| *define.name == *name) else { return };
                self.add_constant_text(main.body.iter().filter_map(|node| match node {
                    Node::Text(text) => Some(&**text),
                    _ => None,
                }));
                self.go_pieces(name, main)
            }
            Some(Tree::Broken(_)) | None => return,
        };
        self.check_stray_text(name, &pieces);
        self.check_empty_messages(name, &pieces);
    }

    /// The text before the first message becomes a message of its own.
    fn check_stray_text(&mut self, name: &str, pieces: &[Piece]) {
        let is_start = |piece: &Piece| matches!(piece, Piece::Role { .. } | Piece::Message { .. });
        let Some(first) = pieces.iter().position(is_start) else { return };
        let before = &pieces[..first];
        if before.iter().any(|piece| matches!(piece, Piece::Unknown)) {
            return;
        }
        let stray = before.iter().find_map(|piece| match piece {
            Piece::Text { at, has_text: true } | Piece::Output { at } => Some(*at),
            _ => None,
        });
        if let Some(at) = stray {
            let at = self.visible_span(name, at);
            let message = "this text is before the first role, so it becomes a message of its own".to_owned();
            let help = "move it behind the role, or start with a role".to_owned();
            self.report(name, at, &MESSAGE_STRAY_TEXT, message, Vec::new(), Some(help));
        }
    }

    /// A message without anything in it. The last one may be left to the model to continue.
    fn check_empty_messages(&mut self, name: &str, pieces: &[Piece]) {
        let mut open: Option<(u32, u32)> = None;
        let mut empty = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text { has_text: false, .. } => {}
                Piece::Text { .. } | Piece::Output { .. } | Piece::Unknown => open = None,
                Piece::Role { at } => empty.extend(open.replace(*at)),
                Piece::Message { at, is_empty } => {
                    empty.extend(open.take());
                    empty.extend(is_empty.then_some(*at));
                }
            }
        }
        for at in empty {
            self.report(name, at, &MESSAGE_EMPTY, "the message is empty".to_owned(), Vec::new(), None);
        }
    }

    /// The first line of a place that is not blank.
    pub(crate) fn visible_span(&self, name: &str, (start, end): (u32, u32)) -> (u32, u32) {
        let text = self.source_text(name);
        let text = text.as_ref().map(hinagata_template::SourceText::text);
        let Some(part) = text.and_then(|text| text.get(start as usize..end as usize)) else {
            return (start, end);
        };
        let skipped = part.len() - part.trim_start().len();
        let line = part.trim_start().split('\n').next().unwrap_or_default().trim_end();
        (start + skipped as u32, start + (skipped + line.len().max(1)) as u32)
    }

    /// The pieces of a Go template, which does not say where its texts are.
    fn go_pieces(&self, name: &str, main: &Define) -> Vec<Piece> {
        let end = self.source_text(name).map_or(0, |source| source.text().len() as u32);
        let starts = main.body.iter().map(|node| match node {
            Node::Action(pipe) => Some(pipe.start),
            _ => None,
        });
        let starts: Vec<_> = starts.collect();
        let next = |number: usize| starts[number..].iter().flatten().next().copied().unwrap_or(end);
        let piece = |(number, node): (usize, &Node)| match node {
            Node::Text(text) if number == 0 => {
                Piece::Text { at: (0, next(number)), has_text: !text.trim().is_empty() }
            }
            Node::Text(text) => Piece::Text { at: (0, 0), has_text: !text.trim().is_empty() },
            Node::Action(pipe) if is_go_role(pipe) => Piece::Role { at: go_span(pipe) },
            Node::Action(pipe) if pipe.variables.is_empty() => Piece::Output { at: go_span(pipe) },
            Node::Action(_) => Piece::Text { at: (0, 0), has_text: false },
            _ => Piece::Unknown,
        };
        main.body.iter().enumerate().map(piece).collect()
    }
}

fn jinja_pieces(body: &[Stmt]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for stmt in body {
        let at = (stmt.span.start, stmt.span.end);
        pieces.push(match &stmt.kind {
            StmtKind::Text(text) => Piece::Text { at, has_text: !text.trim().is_empty() },
            StmtKind::Print(expr) if is_role_call(expr) => Piece::Role { at },
            StmtKind::Print(expr) => Piece::Output { at: (expr.span.start, expr.span.end) },
            StmtKind::Message(node) => Piece::Message { at, is_empty: node.body.iter().all(is_blank) },
            StmtKind::Do(_)
            | StmtKind::Set(_)
            | StmtKind::SetBlock(_)
            | StmtKind::Macro(_)
            | StmtKind::Import(_)
            | StmtKind::FromImport(_) => continue,
            // What a child prints is in its blocks.
            StmtKind::Extends(_) => return Vec::new(),
            _ => Piece::Unknown,
        });
    }
    pieces
}

fn is_blank(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Text(text) if text.trim().is_empty())
}

fn is_role_call(expr: &Expr) -> bool {
    let ExprKind::Postfix(postfix) = &expr.kind else { return false };
    let is_role = matches!(&postfix.base.kind, ExprKind::Name(name) if &**name == "role");
    is_role && matches!(&*postfix.ops, [step] if matches!(step.op, PostfixOp::Call(_)))
}

fn is_go_role(pipe: &Pipe) -> bool {
    let last = pipe.commands.last().and_then(|command| command.operands.first());
    last.is_some_and(|operand| matches!(&operand.kind, OperandKind::Function(name) if &**name == "role"))
}

fn go_span(pipe: &Pipe) -> (u32, u32) {
    let length: usize = pipe.commands.iter().map(|command| command.text.len()).sum();
    (pipe.start, pipe.start + length.max(1) as u32)
}
