//! Questions about what a body uses, asked before it is compiled.

use std::collections::HashSet;

use crate::ast::{
    CallArgs, Expr, ExprKind, FilterCall, Postfix, PostfixOp, PostfixStep, Stmt, StmtKind, Target, TargetKind,
};

/// Calls `name` with every name that a target sets.
pub(super) fn target_names(target: &Target, name: &mut impl FnMut(&str)) {
    match &target.kind {
        TargetKind::Name(found) => name(found),
        TargetKind::Attr { .. } => {}
        TargetKind::Tuple(targets) => targets.iter().for_each(|target| target_names(target, name)),
    }
}

/// The names that imports of the root bind: those who import this template do not see them.
pub(super) fn imported_names<'t>(body: &'t [Stmt], names: &mut HashSet<&'t str>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Import(node) => drop(names.insert(&node.name.name)),
            StmtKind::FromImport(node) => {
                names.extend(node.names.iter().map(|name| &*name.alias.as_ref().unwrap_or(&name.name).name));
            }
            StmtKind::If(node) => {
                node.arms.iter().for_each(|arm| imported_names(&arm.body, names));
                imported_names(&node.otherwise, names);
            }
            _ => {}
        }
    }
}

/// Whether a body reads `name` before anything in it sets it. Blocks inside do not count: they are
/// functions of their own.
pub(super) fn uses_name(body: &[Stmt], name: &str) -> bool {
    let mut finder = Finder { name, found: false, set: false, into_blocks: false, only_escapes: false };
    finder.body(body);
    finder.found
}

/// Whether the body of a loop needs `loop`: it reads it, or has a scoped block, which may.
pub(super) fn uses_loop(body: &[Stmt]) -> bool {
    uses_name(body, "loop") || has_scoped_block(body)
}

/// Whether `loop` is used other than by `loop.name`, `loop(…)`, `loop.cycle(…)` in the body itself.
pub(super) fn loop_escapes(body: &[Stmt]) -> bool {
    let mut finder =
        Finder { name: "loop", found: false, set: false, into_blocks: false, only_escapes: true };
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

/// Whether `test` holds for a statement of `body` or of anything in it.
fn any_stmt(body: &[Stmt], test: &dyn Fn(&Stmt) -> bool) -> bool {
    body.iter().any(|stmt| test(stmt) || bodies(stmt).iter().any(|body| any_stmt(body, test)))
}

/// The bodies inside a statement.
fn bodies(stmt: &Stmt) -> Vec<&[Stmt]> {
    match &stmt.kind {
        StmtKind::If(node) => {
            node.arms.iter().map(|arm| &arm.body[..]).chain([&node.otherwise[..]]).collect()
        }
        StmtKind::For(node) => vec![&node.body, &node.otherwise],
        StmtKind::SetBlock(node) => vec![&node.body],
        StmtKind::With(node) => vec![&node.body],
        StmtKind::Macro(node) => vec![&node.body],
        StmtKind::CallBlock(node) => vec![&node.body],
        StmtKind::FilterBlock(node) => vec![&node.body],
        StmtKind::Block(node) => vec![&node.body],
        StmtKind::AutoEscape(node) => vec![&node.body],
        StmtKind::Generation(body) => vec![body],
        StmtKind::Message(node) => vec![&node.body],
        _ => vec![],
    }
}

/// Looks for reads of one name, in source order, until something sets it.
struct Finder<'n> {
    name: &'n str,
    found: bool,
    set: bool,
    into_blocks: bool,
    /// Whether `loop.name` and `loop(…)` are no finds, where the loop is the one looked at.
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
            StmtKind::Print(expr) | StmtKind::Do(expr) | StmtKind::Extends(expr) => self.expr(expr),
            StmtKind::If(node) => {
                for arm in &node.arms {
                    self.expr(&arm.test);
                    self.body(&arm.body);
                }
                self.body(&node.otherwise);
                return;
            }
            StmtKind::For(node) => {
                self.expr(&node.iter);
                if self.only_escapes {
                    // A `loop` inside is that loop's own, except in its `if` and its `else`.
                    node.filter.iter().for_each(|test| self.expr(test));
                    self.inner_loop(&node.body);
                    self.body(&node.otherwise);
                    return;
                }
                self.target(&node.target);
                node.filter.iter().for_each(|test| self.expr(test));
            }
            StmtKind::Set(node) => {
                self.expr(&node.value);
                self.target(&node.target);
            }
            StmtKind::SetBlock(node) => self.target(&node.target),
            StmtKind::With(node) => {
                node.bindings.iter().for_each(|(_, value)| self.expr(value));
                node.bindings.iter().for_each(|(target, _)| self.target(target));
            }
            StmtKind::Macro(node) => {
                node.params
                    .iter()
                    .filter_map(|param| param.default.as_ref())
                    .for_each(|value| self.expr(value));
                self.closure(&node.body);
                return;
            }
            StmtKind::CallBlock(node) => {
                self.expr(&node.callee);
                self.args(&node.args);
                self.closure(&node.body);
                return;
            }
            StmtKind::FilterBlock(node) => node.filters.iter().for_each(|filter| self.filter(filter)),
            StmtKind::Block(_) if !self.into_blocks => return,
            StmtKind::Include(node) => self.expr(&node.template),
            StmtKind::Import(node) => self.expr(&node.template),
            StmtKind::FromImport(node) => self.expr(&node.template),
            StmtKind::AutoEscape(node) => self.expr(&node.enabled),
            StmtKind::Message(node) => self.expr(&node.role),
            _ => {}
        }
        if let StmtKind::SetBlock(node) = &stmt.kind {
            node.filters.iter().for_each(|filter| self.filter(filter));
        }
        for body in bodies(stmt) {
            self.body(body);
        }
    }

    /// A body that runs as a function of its own: any use of the name there is through an object.
    fn closure(&mut self, body: &[Stmt]) {
        let only_escapes = std::mem::replace(&mut self.only_escapes, false);
        self.body(body);
        self.only_escapes = only_escapes;
    }

    /// The body of a loop inside: `loop` there is another loop, unless the name is not `loop`.
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

    fn filter(&mut self, filter: &FilterCall) {
        self.args(&filter.args);
    }

    fn args(&mut self, args: &CallArgs) {
        args.positional.iter().for_each(|arg| self.expr(arg));
        args.keywords.iter().for_each(|arg| self.expr(&arg.value));
        args.args.iter().chain(&args.kwargs).for_each(|arg| self.expr(arg));
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Const(_) => {}
            ExprKind::Name(name) => self.read(name),
            ExprKind::List(items)
            | ExprKind::Tuple(items)
            | ExprKind::Concat(items)
            | ExprKind::And(items)
            | ExprKind::Or(items) => items.iter().for_each(|item| self.expr(item)),
            ExprKind::Dict(entries) => entries.iter().for_each(|(key, value)| {
                self.expr(key);
                self.expr(value);
            }),
            ExprKind::Unary(_, operand) => self.expr(operand),
            ExprKind::Binary(node) => {
                self.expr(&node.first);
                node.rest.iter().for_each(|step| self.expr(&step.right));
            }
            ExprKind::Compare(node) => {
                self.expr(&node.first);
                node.rest.iter().for_each(|step| self.expr(&step.right));
            }
            ExprKind::Conditional(node) => {
                node.tests.iter().for_each(|test| self.expr(test));
                self.expr(&node.value);
                node.otherwise.iter().for_each(|value| self.expr(value));
            }
            ExprKind::Postfix(node) => self.postfix(node),
        }
    }

    fn postfix(&mut self, node: &Postfix) {
        let direct = self.only_escapes && is_direct_use(self.name, &node.base, &node.ops);
        if !direct {
            self.expr(&node.base);
        }
        for step in &node.ops {
            match &step.op {
                PostfixOp::Attr(_) => {}
                PostfixOp::Item(key) => self.expr(key),
                PostfixOp::Slice(slice) => {
                    [&slice.start, &slice.stop, &slice.step]
                        .into_iter()
                        .flatten()
                        .for_each(|part| self.expr(part));
                }
                PostfixOp::Call(args) => self.args(args),
                PostfixOp::Filter(filter) => self.filter(filter),
                PostfixOp::Test(test) => self.args(&test.args),
            }
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
        (PostfixOp::Attr(attr), _) => crate::code::LoopField::of(attr).is_some(),
        _ => false,
    }
}
