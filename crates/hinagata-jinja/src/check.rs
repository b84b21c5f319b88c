//! Filters and tests that do not exist.
//!
//! Jinja2 refuses to compile a template that uses one, unless the use may never happen: inside `if`
//! and inside a conditional expression it is left to the run, so that a template can ask first
//! (`{% if 'f' is filter %}`). The rule is about the innermost scope. A loop, a macro or any other
//! block with names of its own inside an `if` is compiled strictly again. What is printed behind an
//! `extends` is not compiled at all.

use crate::ast::{
    Block, Const, Expr, ExprKind, FilterCall, For, If, Param, Postfix, PostfixOp, Span, Stmt, StmtKind,
    Template, UnaryOp,
};

/// A filter or a test that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName<'t> {
    /// Which of the two it is.
    pub kind: NameKind,
    /// Its name.
    pub name: &'t str,
    /// Where it is used.
    pub span: Span,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A filter.
    Filter,
    /// A test.
    Test,
}

/// The first filter or test of `template` that does not exist and that Jinja2 reports when it
/// compiles; `known` says which do exist.
#[must_use]
pub fn check_names<'t>(
    template: &'t Template,
    known: &dyn Fn(NameKind, &str) -> bool,
) -> Option<UnknownName<'t>> {
    let mut blocks = Vec::new();
    collect_blocks(&template.body, &mut blocks);
    let mut checker = Checker { known, extends: false };
    let root = Frame { soft: false, root: true, prints: !extends_somewhere(&template.body) };
    let found = match checker.body(&template.body, root) {
        Err(Stop::Found(unknown)) => Some(unknown),
        Err(Stop::End) | Ok(()) => None,
    };
    found.or_else(|| {
        let inside = Frame { soft: false, root: false, prints: true };
        blocks.iter().find_map(|block| match checker.body(&block.body, inside) {
            Err(Stop::Found(unknown)) => Some(unknown),
            Err(Stop::End) | Ok(()) => None,
        })
    })
}

/// Every block of `body`, in source order.
fn collect_blocks<'t>(body: &'t [Stmt], blocks: &mut Vec<&'t Block>) {
    for stmt in body {
        if let StmtKind::Block(block) = &stmt.kind {
            blocks.push(block);
        }
        for body in stmt.bodies() {
            collect_blocks(body, blocks);
        }
    }
}

/// Whether there is an `extends`; the parser allows it at the top and inside `if`.
fn extends_somewhere(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Extends(_) => true,
        StmtKind::If(_) => stmt.bodies().any(extends_somewhere),
        _ => false,
    })
}

/// Where a statement or expression stands.
#[derive(Clone, Copy)]
struct Frame {
    /// Whether it may never run, so that unknown names are left to the run.
    soft: bool,
    /// Whether it is at the top of the template, outside even of `if`.
    root: bool,
    /// Whether what it prints is compiled even behind an `extends`.
    prints: bool,
}

impl Frame {
    fn conditional_frame(self) -> Self {
        Self { soft: true, root: false, ..self }
    }

    /// A block with names of its own.
    fn inner_frame(self) -> Self {
        Self { soft: false, root: false, ..self }
    }

    /// A block whose output is a value.
    fn captured_frame(self) -> Self {
        Self { prints: true, ..self.inner_frame() }
    }
}

/// Why a walk ends early.
enum Stop<'t> {
    Found(UnknownName<'t>),
    /// Nothing behind this place is compiled.
    End,
}

type Walk<'t> = Result<(), Stop<'t>>;

struct Checker<'k> {
    known: &'k dyn Fn(NameKind, &str) -> bool,
    /// Whether an `extends` that always runs was passed.
    extends: bool,
}

impl Checker<'_> {
    fn body<'t>(&mut self, body: &'t [Stmt], frame: Frame) -> Walk<'t> {
        body.iter().try_for_each(|stmt| self.stmt(stmt, frame))
    }

    /// In the order in which Jinja2 compiles the parts, so that the first complaint is the same.
    fn stmt<'t>(&mut self, stmt: &'t Stmt, frame: Frame) -> Walk<'t> {
        match &stmt.kind {
            StmtKind::Text(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Block(_) => Ok(()),
            StmtKind::Print(_) if self.extends && !frame.prints => Ok(()),
            StmtKind::Extends(_) if self.extends => Err(Stop::End),
            StmtKind::Extends(_) => {
                self.exprs(stmt.exprs(), frame)?;
                self.extends |= frame.root;
                Ok(())
            }
            StmtKind::If(node) => self.arms(node, frame.conditional_frame()),
            StmtKind::For(node) => self.for_loop(node, frame),
            StmtKind::SetBlock(node) => {
                self.body(&node.body, frame.captured_frame())?;
                self.filters(&node.filters, frame.captured_frame())
            }
            StmtKind::FilterBlock(node) => {
                self.body(&node.body, frame.inner_frame())?;
                self.filters(&node.filters, frame.inner_frame())
            }
            StmtKind::Macro(node) => self.function(&node.params, &node.body, frame),
            StmtKind::CallBlock(node) => {
                self.function(&node.params, &node.body, frame)?;
                self.expr(&node.callee, frame)?;
                self.exprs(node.args.exprs(), frame)
            }
            StmtKind::AutoEscape(_) => self.parts(stmt, frame.inner_frame(), frame.inner_frame()),
            StmtKind::Print(_)
            | StmtKind::Do(_)
            | StmtKind::Set(_)
            | StmtKind::With(_)
            | StmtKind::Include(_)
            | StmtKind::Import(_)
            | StmtKind::FromImport(_)
            | StmtKind::Generation(_)
            | StmtKind::Message(_) => self.parts(stmt, frame, frame.inner_frame()),
        }
    }

    /// The expressions of a statement in the frame `outside`, then its bodies in the frame `inside`.
    fn parts<'t>(&mut self, stmt: &'t Stmt, outside: Frame, inside: Frame) -> Walk<'t> {
        self.exprs(stmt.exprs(), outside)?;
        stmt.bodies().try_for_each(|body| self.body(body, inside))
    }

    fn arms<'t>(&mut self, node: &'t If, frame: Frame) -> Walk<'t> {
        for arm in &node.arms {
            self.expr(&arm.test, frame)?;
            self.body(&arm.body, frame)?;
        }
        self.body(&node.otherwise, frame)
    }

    fn for_loop<'t>(&mut self, node: &'t For, frame: Frame) -> Walk<'t> {
        node.filter.iter().try_for_each(|filter| self.expr(filter, frame.inner_frame()))?;
        if !node.recursive {
            self.expr(&node.iter, frame)?;
        }
        self.body(&node.body, frame.inner_frame())?;
        self.body(&node.otherwise, frame.inner_frame())?;
        if node.recursive { self.expr(&node.iter, frame) } else { Ok(()) }
    }

    fn function<'t>(&mut self, params: &'t [Param], body: &'t [Stmt], frame: Frame) -> Walk<'t> {
        let frame = frame.captured_frame();
        params
            .iter()
            .filter_map(|param| param.default.as_ref())
            .try_for_each(|default| self.expr(default, frame))?;
        self.body(body, frame)
    }

    fn filters<'t>(&mut self, filters: &'t [FilterCall], frame: Frame) -> Walk<'t> {
        filters
            .iter()
            .rev()
            .try_for_each(|filter| self.name(NameKind::Filter, &filter.name, filter.span, frame))?;
        self.exprs(filters.iter().flat_map(|filter| filter.args.exprs()), frame)
    }

    fn name<'t>(&self, kind: NameKind, name: &'t str, span: Span, frame: Frame) -> Walk<'t> {
        if frame.soft || (self.known)(kind, name) {
            return Ok(());
        }
        Err(Stop::Found(UnknownName { kind, name, span }))
    }

    fn exprs<'t>(&mut self, exprs: impl IntoIterator<Item = &'t Expr>, frame: Frame) -> Walk<'t> {
        exprs.into_iter().try_for_each(|expr| self.expr(expr, frame))
    }

    fn expr<'t>(&mut self, expr: &'t Expr, frame: Frame) -> Walk<'t> {
        match &expr.kind {
            ExprKind::And(operands) => self.operands(operands, false, frame),
            ExprKind::Or(operands) => self.operands(operands, true, frame),
            ExprKind::Conditional(_) => self.exprs(expr.children(), frame.conditional_frame()),
            ExprKind::Postfix(postfix) => {
                self.operation_names(postfix, frame)?;
                self.exprs(expr.children(), frame)
            }
            ExprKind::Const(_)
            | ExprKind::Name(_)
            | ExprKind::List(_)
            | ExprKind::Tuple(_)
            | ExprKind::Dict(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(_)
            | ExprKind::Concat(_)
            | ExprKind::Compare(_) => self.exprs(expr.children(), frame),
        }
    }

    /// Operands of `and` or `or`: where literals decide the result, the rest is not compiled.
    fn operands<'t>(&mut self, operands: &'t [Expr], decides: bool, frame: Frame) -> Walk<'t> {
        let mut literal = true;
        for operand in operands {
            self.expr(operand, frame)?;
            let truth = if literal { literal_truth(operand) } else { None };
            if truth == Some(decides) {
                return Ok(());
            }
            literal = truth.is_some();
        }
        Ok(())
    }

    /// The filters and tests behind an operand, from the last to the first.
    fn operation_names<'t>(&self, postfix: &'t Postfix, frame: Frame) -> Walk<'t> {
        postfix.ops.iter().rev().try_for_each(|step| match &step.op {
            PostfixOp::Filter(filter) => self.name(NameKind::Filter, &filter.name, filter.span, frame),
            PostfixOp::Test(test) => self.name(NameKind::Test, &test.name, test.span, frame),
            PostfixOp::Attr(_) | PostfixOp::Item(_) | PostfixOp::Slice(_) | PostfixOp::Call(_) => Ok(()),
        })
    }
}

/// Whether a literal counts as true; `None` if it takes more than a look.
fn literal_truth(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Const(Const::None) => Some(false),
        ExprKind::Const(Const::Bool(value)) => Some(*value),
        ExprKind::Const(Const::Int(value)) => Some(*value != 0),
        ExprKind::Const(Const::HugeInt(_)) => Some(true),
        ExprKind::Const(Const::Float(value)) => Some(*value != 0.0),
        ExprKind::Const(Const::Str(value)) => Some(!value.is_empty()),
        ExprKind::List(items) | ExprKind::Tuple(items)
            if items.iter().all(|item| literal_truth(item).is_some()) =>
        {
            Some(!items.is_empty())
        }
        ExprKind::Dict(pairs) if pairs.is_empty() => Some(false),
        ExprKind::Unary(UnaryOp::Not, operand) => literal_truth(operand).map(|value| !value),
        _ => None,
    }
}
