//! Which names a scope sets, and what such a name is before it is set.
//!
//! Jinja2 decides this for a whole scope before it runs: a name that is set anywhere in a scope
//! belongs to the scope. What it is before that depends on what comes first in the source: read
//! first, it is looked up outside; set first, it is undefined.
//!
//! The reasons are in `docs/design/jinja-scopes.md`.

use std::collections::{HashMap, HashSet};

use crate::ast::{Expr, ExprKind, Stmt, StmtKind, Target, TargetKind};

/// What a name of a scope is before the scope sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    /// A parameter or loop target: always set.
    Param,
    /// What the scope outside has under this name.
    Outer,
    /// What the context has under this name.
    Context,
    Undefined,
}

/// What is known of the names of one scope.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    /// What a name is before it is set; names that are only read are here too.
    refs: HashMap<Box<str>, Initial>,
    stored: HashSet<Box<str>>,
    /// The stored names in the order they are met.
    order: Vec<Box<str>>,
}

impl Symbols {
    /// Declares a parameter.
    pub(super) fn declare(&mut self, name: &str) {
        self.refs.insert(name.into(), Initial::Param);
        self.add_store(name);
    }

    fn add_store(&mut self, name: &str) {
        if self.stored.insert(name.into()) {
            self.order.push(name.into());
        }
    }

    pub(super) fn sets(&self, name: &str) -> bool {
        self.stored.contains(name)
    }

    /// The names this scope sets, in the order they are met.
    pub(super) fn stores(&self) -> &[Box<str>] {
        &self.order
    }

    /// Whether this scope reads or sets a name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.refs.contains_key(name)
    }

    pub(super) fn initial(&self, name: &str) -> Initial {
        self.refs.get(name).copied().unwrap_or(Initial::Undefined)
    }
}

/// How a scope around knows a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outer {
    /// It sets it.
    Set,
    /// It only reads it: a name of the context.
    Read,
}

impl From<Outer> for Initial {
    fn from(outer: Outer) -> Self {
        match outer {
            Outer::Set => Self::Outer,
            Outer::Read => Self::Context,
        }
    }
}

/// Goes over the statements of one scope, in the order Jinja2 does; scopes inside are left out.
pub(super) struct Analysis<'o> {
    /// What is known so far, and above it what each open branch adds.
    layers: Vec<Symbols>,
    /// How a scope around this one knows a name, if it does.
    outer: &'o dyn Fn(&str) -> Option<Outer>,
}

impl<'o> Analysis<'o> {
    pub(super) fn new(outer: &'o dyn Fn(&str) -> Option<Outer>) -> Self {
        Self { layers: vec![Symbols::default()], outer }
    }

    pub(super) fn finish(mut self) -> Symbols {
        self.layers.swap_remove(0)
    }

    fn top(&mut self) -> &mut Symbols {
        self.layers.last_mut().expect("the first layer stays")
    }

    pub(super) fn declare(&mut self, name: &str) {
        self.top().declare(name);
    }

    fn knows(&self, name: &str) -> bool {
        self.layers.iter().any(|layer| layer.refs.contains_key(name))
    }

    fn load(&mut self, name: &str) {
        if !self.knows(name) && (self.outer)(name).is_none() {
            self.top().refs.insert(name.into(), Initial::Context);
        }
    }

    fn store(&mut self, name: &str) {
        if !self.knows(name) {
            let initial = (self.outer)(name).map_or(Initial::Undefined, Initial::from);
            self.top().refs.insert(name.into(), initial);
        }
        self.top().add_store(name);
    }

    /// What `visit` adds to the names, as a branch that may not be taken.
    fn branch(&mut self, visit: impl FnOnce(&mut Self)) -> Symbols {
        self.layers.push(Symbols::default());
        visit(self);
        self.layers.pop().unwrap_or_default()
    }

    pub(super) fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Text(_)
            | StmtKind::Block(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::AutoEscape(_)
            | StmtKind::Generation(_)
            | StmtKind::Message(_) => {}
            StmtKind::Print(_)
            | StmtKind::Do(_)
            | StmtKind::Extends(_)
            | StmtKind::With(_)
            | StmtKind::FilterBlock(_)
            | StmtKind::Include(_) => self.exprs(stmt.exprs()),
            StmtKind::If(node) => {
                self.expr(&node.arms[0].test);
                let branches = [
                    self.branch(|this| this.body(&node.arms[0].body)),
                    self.branch(|this| node.arms[1..].iter().for_each(|arm| this.elif(&arm.test, &arm.body))),
                    self.branch(|this| this.body(&node.otherwise)),
                ];
                self.merge(branches);
            }
            StmtKind::For(node) => self.expr(&node.iter),
            StmtKind::Set(node) => {
                self.expr(&node.value);
                self.target(&node.target);
            }
            StmtKind::SetBlock(node) => self.target(&node.target),
            StmtKind::Macro(node) => self.store(&node.name.name),
            StmtKind::CallBlock(node) => {
                self.expr(&node.callee);
                self.exprs(node.args.exprs());
            }
            StmtKind::Import(node) => {
                self.expr(&node.template);
                self.store(&node.name.name);
            }
            StmtKind::FromImport(node) => {
                self.expr(&node.template);
                for name in &node.names {
                    self.store(&name.alias.as_ref().unwrap_or(&name.name).name);
                }
            }
        }
    }

    /// An `elif` is an `if` in a branch of its own, with nothing else beside its body.
    fn elif(&mut self, test: &Expr, body: &[Stmt]) {
        self.expr(test);
        let elif_symbols = self.branch(|this| this.body(body));
        self.merge([elif_symbols, Symbols::default(), Symbols::default()]);
    }

    /// Names that only some branches set are what they are outside where no branch set them.
    fn merge(&mut self, branches: [Symbols; 3]) {
        let mut counts: HashMap<Box<str>, usize> = HashMap::new();
        for name in branches.iter().flat_map(Symbols::stores) {
            if !self.layers.iter().any(|layer| layer.sets(name)) {
                *counts.entry(name.clone()).or_default() += 1;
            }
        }
        for branch in branches {
            for name in branch.stores() {
                self.top().add_store(name);
            }
            self.top().refs.extend(branch.refs);
        }
        for (name, count) in counts {
            if count < 3 {
                let initial = (self.outer)(&name).map_or(Initial::Context, Initial::from);
                self.top().refs.insert(name, initial);
            }
        }
    }

    pub(super) fn target(&mut self, target: &Target) {
        match &target.kind {
            TargetKind::Name(name) => self.store(name),
            TargetKind::Attr { namespace, .. } => self.load(&namespace.name),
            TargetKind::Tuple(targets) => targets.iter().for_each(|target| self.target(target)),
        }
    }

    fn exprs<'t>(&mut self, exprs: impl IntoIterator<Item = &'t Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    pub(super) fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Name(name) = &expr.kind {
            self.load(name);
        }
        self.exprs(expr.children());
    }
}
