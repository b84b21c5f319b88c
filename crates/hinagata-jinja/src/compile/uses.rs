//! Checks of what a body uses, made before it is compiled.

use std::collections::HashSet;

use crate::ast::{Expr, ExprKind, PostfixOp, PostfixStep, Stmt, StmtKind, Target, TargetKind};

/// Calls `name` for every name that a target sets.
pub(super) fn target_names(target: &Target, name: &mut impl FnMut(&str)) {
    match &target.kind {
        TargetKind::Name(found) => name(found),
        TargetKind::Attr { .. } => {}
        TargetKind::Tuple(targets) => targets.iter().for_each(|target| target_names(target, name)),
    }
}

/// Collects the names that imports of the root bind. Templates that import this one do not see them.
pub(super) fn imported_names<'t>(body: &'t [Stmt], names: &mut HashSet<&'t str>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Import(node) => drop(names.insert(&node.name.name)),
            StmtKind::FromImport(node) => {
                names.extend(node.names.iter().map(|name| &*name.alias.as_ref().unwrap_or(&name.name).name));
            }
            StmtKind::If(_) => stmt.bodies().for_each(|body| imported_names(body, names)),
            _ => {}
        }
    }
}

/// Whether a body reads `name` before it sets it. Blocks inside do not count: they are separate functions.
pub(super) fn uses_name(body: &[Stmt], name: &str) -> bool {
    let mut finder = Finder { name, found: false, set: false, only_escapes: false };
    finder.body(body);
    finder.found
}

/// Whether the body of a loop reads `loop` or has a scoped block, which may read it.
pub(super) fn uses_loop(body: &[Stmt]) -> bool {
    uses_name(body, "loop") || has_scoped_block(body)
}

/// Whether the body uses `loop` other than by `loop.name`, `loop(…)` and `loop.cycle(…)`.
pub(super) fn loop_escapes(body: &[Stmt]) -> bool {
    let mut finder = Finder { name: "loop", found: false, set: false, only_escapes: true };
    finder.body(body);
    finder.found || has_scoped_block(body) || has_include(body)
}

fn has_scoped_block(body: &[Stmt]) -> bool {
    any_stmt(body, &|stmt| matches!(&stmt.kind, StmtKind::Block(node) if node.scoped))
}

fn has_include(body: &[Stmt]) -> bool {
    any_stmt(body, &|stmt| {
        matches!(&stmt.kind, StmtKind::Include(_) | StmtKind::Import(_) | StmtKind::FromImport(_))
    })
}

/// Whether `test` is true for a statement of `body`, at any depth.
fn any_stmt(body: &[Stmt], test: &dyn Fn(&Stmt) -> bool) -> bool {
    body.iter().any(|stmt| test(stmt) || stmt.bodies().any(|body| any_stmt(body, test)))
}

/// Finds reads of one name, in source order, until a statement sets it.
struct Finder<'n> {
    name: &'n str,
    found: bool,
    set: bool,
    /// Whether to ignore `loop.name` and `loop(…)` of the examined loop.
    only_escapes: bool,
}

impl Finder<'_> {
    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            if self.found || self.set {
                return;
            }
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Block(_) => {}
            StmtKind::If(node) => {
                for arm in &node.arms {
                    self.expr(&arm.test);
                    self.body(&arm.body);
                }
                self.body(&node.otherwise);
            }
            // In an inner loop, `loop` is the inner one, except in its `if` and its `else`.
            StmtKind::For(node) if self.only_escapes => {
                self.exprs(stmt.exprs());
                self.inner_loop(&node.body);
                self.body(&node.otherwise);
            }
            StmtKind::For(node) => {
                self.expr(&node.iter);
                self.target(&node.target);
                self.exprs(&node.filter);
                self.bodies(stmt);
            }
            StmtKind::Set(node) => {
                self.expr(&node.value);
                self.target(&node.target);
            }
            StmtKind::SetBlock(node) => {
                self.target(&node.target);
                self.exprs(stmt.exprs());
                self.bodies(stmt);
            }
            StmtKind::With(node) => {
                self.exprs(stmt.exprs());
                node.bindings.iter().for_each(|(target, _)| self.target(target));
                self.bodies(stmt);
            }
            StmtKind::Macro(node) => {
                self.exprs(stmt.exprs());
                self.closure(&node.body);
            }
            StmtKind::CallBlock(node) => {
                self.expr(&node.callee);
                self.exprs(node.args.exprs());
                self.closure(&node.body);
            }
            StmtKind::Text(_)
            | StmtKind::Print(_)
            | StmtKind::FilterBlock(_)
            | StmtKind::Extends(_)
            | StmtKind::Include(_)
            | StmtKind::Import(_)
            | StmtKind::FromImport(_)
            | StmtKind::Do(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::AutoEscape(_)
            | StmtKind::Generation(_)
            | StmtKind::Message(_) => {
                self.exprs(stmt.exprs());
                self.bodies(stmt);
            }
        }
    }

    fn bodies(&mut self, stmt: &Stmt) {
        stmt.bodies().for_each(|body| self.body(body));
    }

    /// Visits a body that runs as a separate function: every use of the name in it needs an object.
    fn closure(&mut self, body: &[Stmt]) {
        let only_escapes = std::mem::replace(&mut self.only_escapes, false);
        self.body(body);
        self.only_escapes = only_escapes;
    }

    /// Visits the body of an inner loop, unless the name is `loop`, which is another loop there.
    fn inner_loop(&mut self, body: &[Stmt]) {
        if self.name != "loop" {
            self.body(body);
        }
    }

    fn target(&mut self, target: &Target) {
        let mut sets = false;
        target_names(target, &mut |name| sets |= name == self.name);
        self.set |= sets;
        if let TargetKind::Attr { namespace, .. } = &target.kind {
            self.read(&namespace.name);
        }
    }

    fn read(&mut self, name: &str) {
        if name == self.name && !self.set {
            self.found = true;
        }
    }

    fn exprs<'t>(&mut self, exprs: impl IntoIterator<Item = &'t Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(name) => self.read(name),
            ExprKind::Postfix(node)
                if self.only_escapes && is_direct_use(self.name, &node.base, &node.ops) =>
            {
                self.exprs(node.ops.iter().flat_map(|step| step.op.exprs()));
            }
            _ => self.exprs(expr.children()),
        }
    }
}

/// Whether an expression starts with `loop.field`, `loop(…)`, `loop.cycle(…)` or `loop.changed(…)`.
pub(super) fn is_direct_use(name: &str, base: &Expr, ops: &[PostfixStep]) -> bool {
    if name != "loop" || !matches!(&base.kind, ExprKind::Name(base) if &**base == "loop") {
        return false;
    }
    let [first, rest @ ..] = ops else { return false };
    match (&first.op, rest.first().map(|step| &step.op)) {
        (PostfixOp::Call(_), _) => true,
        (PostfixOp::Attr(attr), Some(PostfixOp::Call(_))) => matches!(&**attr, "cycle" | "changed"),
        (PostfixOp::Attr(attr), _) => crate::code::LoopField::from_name(attr).is_some(),
        _ => false,
    }
}
