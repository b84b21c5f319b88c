//! The nodes directly inside a node.
//!
//! Every walk over a tree uses these iterators. Their matches have no wildcard, so the compiler requires
//! that a new kind of node is added here, and then all walks visit it.

use super::{
    Arm, BinaryStep, CallArgs, CompareStep, Expr, ExprKind, FilterCall, Param, PostfixOp, PostfixStep, Stmt,
    StmtKind, Target,
};

/// The possible children of an expression; most of them are empty.
#[derive(Default)]
struct Inside<'t> {
    first: Option<&'t Expr>,
    items: &'t [Expr],
    pairs: &'t [(Expr, Expr)],
    arithmetic: &'t [BinaryStep],
    comparisons: &'t [CompareStep],
    operations: &'t [PostfixStep],
    last: [Option<&'t Expr>; 2],
}

impl Expr {
    /// The expressions directly inside this one, in the order in which Jinja2 visits them: the tests of a
    /// conditional expression come before its value, everything else is in source order.
    pub fn children(&self) -> impl Iterator<Item = &Self> {
        let inside = match &self.kind {
            ExprKind::Const(_) | ExprKind::Name(_) => Inside::default(),
            ExprKind::List(items)
            | ExprKind::Tuple(items)
            | ExprKind::Concat(items)
            | ExprKind::And(items)
            | ExprKind::Or(items) => Inside { items, ..Inside::default() },
            ExprKind::Dict(pairs) => Inside { pairs, ..Inside::default() },
            ExprKind::Unary(_, operand) => Inside { first: Some(operand), ..Inside::default() },
            ExprKind::Postfix(node) => {
                Inside { first: Some(&node.base), operations: &node.ops, ..Inside::default() }
            }
            ExprKind::Binary(node) => {
                Inside { first: Some(&node.first), arithmetic: &node.rest, ..Inside::default() }
            }
            ExprKind::Compare(node) => {
                Inside { first: Some(&node.first), comparisons: &node.rest, ..Inside::default() }
            }
            ExprKind::Conditional(node) => {
                let last = [Some(&node.value), node.otherwise.as_ref()];
                Inside { items: &node.tests, last, ..Inside::default() }
            }
        };
        inside
            .first
            .into_iter()
            .chain(inside.items)
            .chain(inside.pairs.iter().flat_map(|(key, value)| [key, value]))
            .chain(inside.arithmetic.iter().map(|step| &step.right))
            .chain(inside.comparisons.iter().map(|step| &step.right))
            .chain(inside.operations.iter().flat_map(|step| step.op.exprs()))
            .chain(inside.last.into_iter().flatten())
    }
}

impl PostfixOp {
    /// The expressions directly inside this operation, in source order.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (parts, args) = match self {
            Self::Attr(_) => ([None, None, None], None),
            Self::Item(key) => ([Some(key), None, None], None),
            Self::Slice(slice) => ([slice.start.as_ref(), slice.stop.as_ref(), slice.step.as_ref()], None),
            Self::Call(args) => ([None, None, None], Some(args)),
            Self::Filter(filter) => ([None, None, None], Some(&filter.args)),
            Self::Test(test) => ([None, None, None], Some(&test.args)),
        };
        parts.into_iter().flatten().chain(args.into_iter().flat_map(CallArgs::exprs))
    }
}

impl CallArgs {
    /// The values of all arguments: by position, by name, `*`, `**`.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let keyword_values = self.keywords.iter().map(|keyword| &keyword.value);
        self.positional.iter().chain(keyword_values).chain(self.args.as_deref()).chain(self.kwargs.as_deref())
    }
}

/// The possible expressions of a statement outside its bodies; most of them are empty.
#[derive(Default)]
struct Head<'t> {
    arms: &'t [Arm],
    bindings: &'t [(Target, Expr)],
    params: &'t [Param],
    parts: [Option<&'t Expr>; 2],
    args: Option<&'t CallArgs>,
    filters: &'t [FilterCall],
}

impl Stmt {
    /// The expressions of this statement that are not inside one of its bodies, in source order.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let single_expr = |expr| Head { parts: [Some(expr), None], ..Head::default() };
        let head = match &self.kind {
            StmtKind::Text(_)
            | StmtKind::Block(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Generation(_) => Head::default(),
            StmtKind::Print(expr) | StmtKind::Extends(expr) | StmtKind::Do(expr) => single_expr(expr),
            StmtKind::If(node) => Head { arms: &node.arms, ..Head::default() },
            StmtKind::For(node) => {
                Head { parts: [Some(&node.iter), node.filter.as_ref()], ..Head::default() }
            }
            StmtKind::Set(node) => single_expr(&node.value),
            StmtKind::SetBlock(node) => Head { filters: &node.filters, ..Head::default() },
            StmtKind::With(node) => Head { bindings: &node.bindings, ..Head::default() },
            StmtKind::Macro(node) => Head { params: &node.params, ..Head::default() },
            StmtKind::CallBlock(node) => {
                Head { params: &node.params, args: Some(&node.args), ..single_expr(&node.callee) }
            }
            StmtKind::FilterBlock(node) => Head { filters: &node.filters, ..Head::default() },
            StmtKind::Include(node) => single_expr(&node.template),
            StmtKind::Import(node) => single_expr(&node.template),
            StmtKind::FromImport(node) => single_expr(&node.template),
            StmtKind::AutoEscape(node) => single_expr(&node.enabled),
            StmtKind::Message(node) => single_expr(&node.role),
        };
        head.arms
            .iter()
            .map(|arm| &arm.test)
            .chain(head.bindings.iter().map(|(_, value)| value))
            .chain(head.params.iter().filter_map(|param| param.default.as_ref()))
            .chain(head.parts.into_iter().flatten())
            .chain(head.args.into_iter().flat_map(CallArgs::exprs))
            .chain(head.filters.iter().flat_map(|filter| filter.args.exprs()))
    }

    /// The statements directly inside this one, body by body in source order.
    pub fn bodies(&self) -> impl Iterator<Item = &[Self]> {
        let (arms, bodies): (&[Arm], [&[Self]; 2]) = match &self.kind {
            StmtKind::Text(_)
            | StmtKind::Print(_)
            | StmtKind::Set(_)
            | StmtKind::Extends(_)
            | StmtKind::Include(_)
            | StmtKind::Import(_)
            | StmtKind::FromImport(_)
            | StmtKind::Do(_)
            | StmtKind::Break
            | StmtKind::Continue => (&[], [&[], &[]]),
            StmtKind::If(node) => (&node.arms, [&node.otherwise, &[]]),
            StmtKind::For(node) => (&[], [&node.body, &node.otherwise]),
            StmtKind::SetBlock(node) => (&[], [&node.body, &[]]),
            StmtKind::With(node) => (&[], [&node.body, &[]]),
            StmtKind::Macro(node) => (&[], [&node.body, &[]]),
            StmtKind::CallBlock(node) => (&[], [&node.body, &[]]),
            StmtKind::FilterBlock(node) => (&[], [&node.body, &[]]),
            StmtKind::Block(node) => (&[], [&node.body, &[]]),
            StmtKind::AutoEscape(node) => (&[], [&node.body, &[]]),
            StmtKind::Generation(body) => (&[], [body, &[]]),
            StmtKind::Message(node) => (&[], [&node.body, &[]]),
        };
        arms.iter().map(|arm| &*arm.body).chain(bodies)
    }
}

#[cfg(test)]
mod tests {
    use hinagata_value::{Budget, Limits};

    use super::*;
    use crate::{ParseOptions, ast::Template, parse};

    fn tree(source: &str) -> Template {
        let budget = Budget::new(Limits::default());
        let options = ParseOptions { generation: true, ..ParseOptions::default() };
        parse("t", source, &options, &budget).expect("the template parses")
    }

    /// Collects the names that expressions read, in the order of the walk.
    fn names(body: &[Stmt], found: &mut Vec<String>) {
        fn expr_names(expr: &Expr, found: &mut Vec<String>) {
            if let ExprKind::Name(name) = &expr.kind {
                found.push(name.to_string());
            }
            expr.children().for_each(|child| expr_names(child, found));
        }
        for stmt in body {
            stmt.exprs().for_each(|expr| expr_names(expr, found));
            stmt.bodies().for_each(|body| names(body, found));
        }
    }

    fn walk_names(source: &str) -> String {
        let mut found = Vec::new();
        names(&tree(source).body, &mut found);
        found.join(" ")
    }

    #[test]
    fn every_expression_of_an_expression_is_a_child() {
        for (source, expected) in [
            ("{{ [a, (b, c), {d: e, f: g}] }}", "a b c d e f g"),
            ("{{ -a + b * c ** d ~ e // f }}", "a b c d e f"),
            ("{{ a < b <= c and not d or e in f }}", "a b c d e f"),
            ("{{ a.b[c][d:e:f](g, h=i, *j, **k)|l(m) is n(o) }}", "a c d e f g i j k m o"),
            ("{{ a if b else c }}", "b a c"),
        ] {
            assert_eq!(walk_names(source), expected, "{source}");
        }
    }

    #[test]
    fn every_expression_and_body_of_a_statement_is_reached() {
        for (source, expected) in [
            ("{% if a %}{{ b }}{% elif c %}{{ d }}{% else %}{{ e }}{% endif %}", "a c b d e"),
            ("{% for x in a if b %}{{ c }}{% else %}{{ d }}{% endfor %}", "a b c d"),
            ("{% set x = a %}{% set y|f(b) %}{{ c }}{% endset %}", "a b c"),
            ("{% with x = a, y = b %}{{ c }}{% endwith %}{% do d %}", "a b c d"),
            ("{% macro m(x=a) %}{{ b }}{% endmacro %}", "a b"),
            ("{% call(x=a) b(c) %}{{ d }}{% endcall %}", "a b c d"),
            ("{% filter f(a) %}{{ b }}{% endfilter %}{% block b %}{{ c }}{% endblock %}", "a b c"),
            ("{% extends a %}{% include b %}{% import c as x %}{% from d import y %}", "a b c d"),
            ("{% autoescape a %}{{ b }}{% endautoescape %}{% message c %}{{ d }}{% endmessage %}", "a b c d"),
            ("{% generation %}{{ a }}{% endgeneration %}", "a"),
        ] {
            assert_eq!(walk_names(source), expected, "{source}");
        }
    }
}
