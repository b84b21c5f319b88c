//! Inheritance: blocks, parents, `super`.

use hinagata_jinja::ast::{Block, Expr, ExprKind, PostfixOp, Stmt, StmtKind};

use super::{Frame, JinjaWalker, span_of};
use crate::{
    check::{Need, Tree},
    codes::{BLOCK_LOST_TEXT, BLOCK_ORPHAN, BLOCK_REQUIRED, BLOCK_SUPER, TEMPLATE_ENGINE},
};

/// The blocks of a template that extends another, for the check of its parents.
#[derive(Clone, Debug)]
pub(crate) struct ChildBlocks {
    template: String,
    /// Where it extends its parent.
    extends: (u32, u32),
    blocks: Vec<BlockInfo>,
}

#[derive(Clone, Debug)]
struct BlockInfo {
    name: String,
    span: (u32, u32),
    required: bool,
    /// Whether it is inside another block, where it is printed even if no parent has it.
    nested: bool,
    calls_super: Option<(u32, u32)>,
}

impl<'w> JinjaWalker<'w, '_> {
    pub(super) fn block(&mut self, node: &'w Block) {
        let mut frame = Frame::default();
        frame.names.insert("super".to_owned(), crate::shape::Shape::ANY);
        self.deferred += 1;
        self.conditional += 1;
        self.inner(frame, |walker| walker.body(&node.body));
        self.conditional -= 1;
        self.deferred -= 1;
    }

    /// Reports what is lost outside of blocks, and `super` without any parent.
    pub(super) fn check_blocks(&mut self, body: &'w [Stmt]) {
        let Some(at) = body.iter().position(|stmt| matches!(stmt.kind, StmtKind::Extends(_))) else {
            if !extends_somewhere(body) && self.check.children.is_empty() {
                self.check_root(body);
            }
            return;
        };
        let lost = body[at..].iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Text(text) if !text.trim().is_empty() => Some(stmt.span),
            StmtKind::Print(expr) => Some(expr.span),
            _ => None,
        });
        if let Some(span) = lost {
            let span = self.check.visible_span(self.template, span_of(span));
            let message = "this text is outside of all blocks and is never printed".to_owned();
            let help = "put it into a block of the parent".to_owned();
            self.check.report(self.template, span, &BLOCK_LOST_TEXT, message, Vec::new(), Some(help));
        }
    }

    /// Checks a template without parents that is rendered itself.
    fn check_root(&mut self, body: &'w [Stmt]) {
        for block in collect_blocks(body) {
            if block.required {
                let message = format!("the required block `{}` is not filled", block.name);
                self.check.report(self.template, block.span, &BLOCK_REQUIRED, message, Vec::new(), None);
            }
            if let Some(span) = block.calls_super {
                self.report_super(self.template, &block.name, span);
            }
        }
    }

    fn report_super(&mut self, template: &str, name: &str, span: (u32, u32)) {
        let message = format!("no parent has the block `{name}`");
        self.check.report(template, span, &BLOCK_SUPER, message, Vec::new(), None);
    }

    /// Walks the parent of the template, or checks the blocks of all children if it has none.
    pub(super) fn walk_parent(&mut self, body: &'w [Stmt]) {
        let Some((template, span)) = body.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Extends(template) => Some((template, stmt.span)),
            _ => None,
        }) else {
            if extends_somewhere(body) {
                self.check.set_uses_unknown();
            } else {
                self.check_children(body);
            }
            return;
        };
        let (names, dynamic) = self.template_names(template);
        let (Some(name), false) = (names.first(), dynamic) else {
            self.check.set_uses_unknown();
            return;
        };
        let Some((joined, parsed)) = self.check.find(self.template, name) else {
            self.check.report_missing(self.template, name, span_of(template.span));
            return;
        };
        if self.check_language(name, &parsed, span_of(template.span))
            || self.check.is_cycle(self.template, &joined, span_of(span), false)
        {
            return;
        }
        let own = ChildBlocks {
            template: self.template.to_owned(),
            extends: span_of(span),
            blocks: collect_blocks(body),
        };
        let scope = self.visible_names();
        self.check.children.push(own);
        self.check.walk(&joined, &parsed, scope, false);
        self.check.children.pop();
    }

    /// Reports a Go template that is extended or imported. Returns whether it is one.
    pub(super) fn check_language(&mut self, name: &str, parsed: &Tree, span: (u32, u32)) -> bool {
        let is_go = matches!(parsed.readable(), Some(Tree::Go(_)));
        if is_go {
            let message =
                format!("`{name}` is a Go template: it can be included, but not extended or imported");
            self.check.report(self.template, span, &TEMPLATE_ENGINE, message, Vec::new(), None);
            self.check.set_uses_unknown();
        }
        is_go
    }

    /// Checks the blocks of the children of this template, the last of which is the nearest.
    fn check_children(&mut self, body: &'w [Stmt]) {
        let children = std::mem::take(&mut self.check.children);
        let root = collect_blocks(body);
        for (number, child) in children.iter().enumerate() {
            let above = || children[number + 1..].iter().flat_map(|child| &child.blocks).chain(&root);
            for block in &child.blocks {
                let is_known = above().any(|other| other.name == block.name);
                if !is_known && !block.nested {
                    let near =
                        hinagata_value::near_names(&block.name, above().map(|other| other.name.as_str()));
                    let message = format!("no parent has the block `{}`, so it is never printed", block.name);
                    self.check.report(&child.template, block.span, &BLOCK_ORPHAN, message, near, None);
                }
                if let (false, Some(span)) = (is_known, block.calls_super) {
                    self.report_super(&child.template, &block.name, span);
                }
            }
        }
        if let Some(entry) = children.first() {
            let all = children.iter().enumerate().skip(1).map(|(number, child)| (number, &child.blocks));
            for (number, blocks) in all.chain([(children.len(), &root)]) {
                let below = &children[..number];
                for block in blocks.iter().filter(|block| block.required) {
                    if !below.iter().flat_map(|child| &child.blocks).any(|other| other.name == block.name) {
                        let message = format!("the required block `{}` is not filled", block.name);
                        self.check.report(
                            &entry.template,
                            entry.extends,
                            &BLOCK_REQUIRED,
                            message,
                            Vec::new(),
                            None,
                        );
                    }
                }
            }
        }
        self.check.children = children;
    }

    /// Reports a role that no model knows.
    pub(super) fn check_role(&mut self, expr: &Expr, shape: &crate::shape::Shape) {
        self.check.check_role(self.template, span_of(expr.span), shape);
    }

    /// Evaluates the arguments of `role(…)`.
    pub(super) fn role_call(&mut self, args: &'w hinagata_jinja::ast::CallArgs) {
        let named = args.keywords.iter().find(|keyword| &*keyword.name.name == "name");
        let role = args.positional.first().or(named.map(|keyword| &keyword.value));
        if let Some(role) = role {
            let shape = self.eval(role, Need::Value);
            self.check_role(role, &shape);
        }
    }
}

fn extends_somewhere(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Extends(_) => true,
        StmtKind::If(_) => stmt.bodies().any(extends_somewhere),
        _ => false,
    })
}

fn collect_blocks(body: &[Stmt]) -> Vec<BlockInfo> {
    fn collect(body: &[Stmt], nested: bool, all: &mut Vec<BlockInfo>) {
        for stmt in body {
            if let StmtKind::Block(block) = &stmt.kind {
                all.push(BlockInfo {
                    name: block.name.name.to_string(),
                    span: span_of(block.name.span),
                    required: block.required,
                    nested,
                    calls_super: calls_super(&block.body),
                });
            }
            let inside = nested || matches!(stmt.kind, StmtKind::Block(_));
            stmt.bodies().for_each(|body| collect(body, inside, all));
        }
    }
    let mut all = Vec::new();
    collect(body, false, &mut all);
    all
}

/// Where a block calls `super()`, outside of conditions and loops, which may not run.
fn calls_super(body: &[Stmt]) -> Option<(u32, u32)> {
    body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Print(expr) | StmtKind::Do(expr) => super_call(expr),
        StmtKind::Set(node) => super_call(&node.value),
        _ => None,
    })
}

fn super_call(expr: &Expr) -> Option<(u32, u32)> {
    let ExprKind::Postfix(postfix) = &expr.kind else { return None };
    let is_super = matches!(&postfix.base.kind, ExprKind::Name(name) if &**name == "super");
    let is_call = matches!(postfix.ops.first().map(|step| &step.op), Some(PostfixOp::Call(_)));
    (is_super && is_call).then(|| span_of(expr.span))
}
