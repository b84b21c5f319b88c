//! The names that a scope sets, and their values before they are set.
//!
//! Jinja2 decides this for a whole scope before it runs: a name that is set anywhere in a scope belongs to
//! the scope. Its value before that depends on the first use in the source: if the first use reads the
//! name, it is looked up outside; if the first use sets it, it is undefined.
//!
//! The reasons are in `docs/design/jinja-scopes.md`.

use std::collections::{HashMap, HashSet};

use crate::ast::{Expr, ExprKind, Stmt, StmtKind, Target, TargetKind};

/// The value of a name before its scope sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    /// A parameter or loop target: always set.
    Param,
    /// The value in the outer scope.
    Outer,
    /// The value in the context.
    Context,
    Undefined,
}

/// The names of one scope.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    /// The initial value of each name, including names that are only read.
    refs: HashMap<Box<str>, Initial>,
    stored: HashSet<Box<str>>,
    /// The stored names in source order.
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

    /// The names that this scope sets, in source order.
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

/// How an enclosing scope uses a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outer {
    /// It sets the name.
    Set,
    /// It only reads the name, from the context.
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

/// Walks the statements of one scope in the order of Jinja2, without inner scopes.
pub(super) struct Analysis<'o> {
    /// The names so far, then the names that each open branch adds.
    layers: Vec<Symbols>,
    /// Returns how an enclosing scope uses a name, if it does.
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

    /// Returns the names that `visit` adds, as a branch that may not run.
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

    /// An `elif` is an `if` in its own branch, without `elif` or `else`.
    fn elif(&mut self, test: &Expr, body: &[Stmt]) {
        self.expr(test);
        let elif_symbols = self.branch(|this| this.body(body));
        self.merge([elif_symbols, Symbols::default(), Symbols::default()]);
    }

    /// Merges branches. A name that only some branches set has the value of the outer scope where no branch
    /// set it.
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
