//! Reports unknown filters and tests when a template is compiled.
//!
//! Jinja2 refuses to compile a template that uses an unknown filter or test, except inside `if` and inside
//! a conditional expression. There the error is raised only when the expression runs, so that a template
//! can check first (`{% if 'f' is filter %}`). The exception ends at the next scope: a loop, a macro or
//! another block with its own names inside an `if` is checked again. Print statements after an `extends`
//! are not compiled at all.

use crate::ast::{
    Block, Const, Expr, ExprKind, FilterCall, For, If, Param, Postfix, PostfixOp, Span, Stmt, StmtKind,
    Template, UnaryOp,
};

/// A use of an unknown filter or test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName<'t> {
    /// Whether it is used as a filter or as a test.
    pub kind: NameKind,
    /// Its name.
    pub name: &'t str,
    /// Where it is used.
    pub span: Span,
}

/// What a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A filter.
    Filter,
    /// A test.
    Test,
}

/// Returns the first unknown filter or test of `template` that Jinja2 reports when it compiles. `known`
/// returns whether a name exists.
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

/// Collects every block of `body` in source order.
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

/// Whether `body` contains an `extends`; the parser allows it at the top level and inside `if`.
fn extends_somewhere(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Extends(_) => true,
        StmtKind::If(_) => stmt.bodies().any(extends_somewhere),
        _ => false,
    })
}

/// The surroundings of a statement or expression that decide how it is checked.
#[derive(Clone, Copy)]
struct Frame {
    /// Whether it may never run, so that unknown names are reported at run time only.
    soft: bool,
    /// Whether it is at the top level of the template, not even inside an `if`.
    root: bool,
    /// Whether its print statements are compiled even after an `extends`.
    prints: bool,
}

impl Frame {
    fn conditional_frame(self) -> Self {
        Self { soft: true, root: false, ..self }
    }

    /// The frame of a block with its own names.
    fn inner_frame(self) -> Self {
        Self { soft: false, root: false, ..self }
    }

    /// The frame of a block whose output becomes a value.
    fn captured_frame(self) -> Self {
        Self { prints: true, ..self.inner_frame() }
    }
}

/// Why a walk ends early.
enum Stop<'t> {
    Found(UnknownName<'t>),
    /// Nothing after this place is compiled.
    End,
}

type Walk<'t> = Result<(), Stop<'t>>;

struct Checker<'k> {
    known: &'k dyn Fn(NameKind, &str) -> bool,
    /// Whether the walk has passed an unconditional `extends`.
    extends: bool,
}

impl Checker<'_> {
    fn body<'t>(&mut self, body: &'t [Stmt], frame: Frame) -> Walk<'t> {
        body.iter().try_for_each(|stmt| self.stmt(stmt, frame))
    }

    /// Checks the parts in the order in which Jinja2 compiles them, so that the first error is the same.
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

    /// Checks the expressions of a statement in the frame `outside`, then its bodies in the frame `inside`.
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

    /// Checks operands of `and` or `or`. After a literal that decides the result, Jinja2 compiles no
    /// further operand.
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

    /// Checks the filters and tests after an operand, from the last to the first.
    fn operation_names<'t>(&self, postfix: &'t Postfix, frame: Frame) -> Walk<'t> {
        postfix.ops.iter().rev().try_for_each(|step| match &step.op {
            PostfixOp::Filter(filter) => self.name(NameKind::Filter, &filter.name, filter.span, frame),
            PostfixOp::Test(test) => self.name(NameKind::Test, &test.name, test.span, frame),
            PostfixOp::Attr(_) | PostfixOp::Item(_) | PostfixOp::Slice(_) | PostfixOp::Call(_) => Ok(()),
        })
    }
}

/// The truth of a literal; `None` if the expression must be evaluated.
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
