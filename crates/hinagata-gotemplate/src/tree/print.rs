//! Prints nodes as source, in the form of Go's error messages.

use super::{At, AtKind, ExprKind, FunctionRef, Node, Span, Tree};
use crate::text::quote;

/// The source of the node.
pub(crate) fn excerpt_at(tree: &Tree, at: At) -> String {
    let mut printer = Printer { tree, out: String::new() };
    match at.kind() {
        AtKind::Node(index) => printer.node(index),
        AtKind::Pipe(index) => printer.pipe(index),
        AtKind::Command(index) => printer.command(index),
        AtKind::Expr(index) => printer.expr(index),
    }
    printer.out
}

struct Printer<'t> {
    tree: &'t Tree,
    out: String,
}

impl Printer<'_> {
    /// Only actions and template calls appear in errors. Bodies never do.
    fn node(&mut self, index: u32) {
        let delims = &self.tree.source.delims;
        // An empty tree has no node to report.
        let Some(node) = self.tree.nodes.get(index as usize) else { return };
        match node {
            Node::Action(action) => {
                self.out.push_str(&delims.left);
                self.pipe(action.pipe);
                self.out.push_str(&delims.right);
            }
            Node::Template(template) => {
                self.out.push_str(&delims.left);
                self.out.push_str("template ");
                self.out.push_str(&quote::quote_text(&self.tree.calls[template.call as usize]));
                if let Some(pipe) = template.pipe {
                    self.out.push(' ');
                    self.pipe(pipe);
                }
                self.out.push_str(&delims.right);
            }
            Node::Text(_) | Node::If(_) | Node::With(_) | Node::Range(_) | Node::Break | Node::Continue => {}
        }
    }

    fn pipe(&mut self, index: u32) {
        let pipe = &self.tree.pipes[index as usize];
        for (at, variable) in pipe.variables.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.out.push_str(&variable.name);
        }
        if !pipe.variables.is_empty() {
            self.out.push_str(if pipe.assigns { " = " } else { " := " });
        }
        for (at, command) in pipe.commands.ids().enumerate() {
            if at > 0 {
                self.out.push_str(" | ");
            }
            self.command(command);
        }
    }

    fn command(&mut self, index: u32) {
        for (at, arg) in self.tree.commands[index as usize].args.ids().enumerate() {
            if at > 0 {
                self.out.push(' ');
            }
            self.operand(arg);
        }
    }

    /// Prints an expression, in parentheses if it is a pipeline.
    fn operand(&mut self, index: u32) {
        let in_parens = matches!(self.tree.exprs[index as usize].kind, ExprKind::Pipe(_));
        if in_parens {
            self.out.push('(');
        }
        self.expr(index);
        if in_parens {
            self.out.push(')');
        }
    }

    fn expr(&mut self, index: u32) {
        match &self.tree.exprs[index as usize].kind {
            ExprKind::Dot => self.out.push('.'),
            ExprKind::Nil => self.out.push_str("nil"),
            ExprKind::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            ExprKind::Number(literal) => self.out.push_str(&literal.number.text),
            ExprKind::Str(literal) => self.out.push_str(&literal.quoted),
            ExprKind::Field(keys) => self.keys(*keys),
            ExprKind::Variable(variable, keys) => {
                self.out.push_str(&variable.name);
                self.keys(*keys);
            }
            ExprKind::Chain(base, keys) => {
                self.operand(*base);
                self.keys(*keys);
            }
            ExprKind::Function(function) => {
                let name = match function {
                    FunctionRef::Builtin(builtin) => builtin.name(),
                    FunctionRef::Host(index) => &self.tree.functions[*index as usize].name,
                };
                self.out.push_str(name);
            }
            ExprKind::Pipe(pipe) => self.pipe(*pipe),
        }
    }

    fn keys(&mut self, keys: Span) {
        for key in &self.tree.keys[keys.range()] {
            self.out.push('.');
            self.out.push_str(key.name());
        }
    }
}
