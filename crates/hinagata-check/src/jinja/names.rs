//! Names that a template binds and reads.

use std::collections::{HashMap, HashSet};

use hinagata_jinja::ast::{Expr, ExprKind, PostfixOp, Stmt, StmtKind, Target, TargetKind};

use crate::{builtins::has_builtin, check::Tree, shape::Shape};

/// Collects the names that a body binds at any depth, except those of loops and parameters, which end with their body.
pub(super) fn collect_bound(body: &[Stmt], bound: &mut HashSet<String>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Set(node) => collect_target(&node.target, bound),
            StmtKind::SetBlock(node) => collect_target(&node.target, bound),
            StmtKind::Macro(node) => drop(bound.insert(node.name.name.to_string())),
            StmtKind::Import(node) => drop(bound.insert(node.name.name.to_string())),
            StmtKind::FromImport(node) => bound.extend(
                node.names.iter().map(|name| name.alias.as_ref().unwrap_or(&name.name).name.to_string()),
            ),
            _ => {}
        }
        stmt.bodies().for_each(|body| collect_bound(body, bound));
    }
}

fn collect_target(target: &Target, bound: &mut HashSet<String>) {
    match &target.kind {
        TargetKind::Name(name) => drop(bound.insert(name.to_string())),
        TargetKind::Attr { .. } => {}
        TargetKind::Tuple(targets) => targets.iter().for_each(|target| collect_target(target, bound)),
    }
}

/// Collects the names that a body reads.
pub(super) fn collect_read(body: &[Stmt], read: &mut HashSet<String>) {
    for stmt in body {
        stmt.exprs().for_each(|expr| names_of(expr, read));
        stmt.bodies().for_each(|body| collect_read(body, read));
    }
}

/// Collects the names in an expression.
pub(super) fn names_of(expr: &Expr, read: &mut HashSet<String>) {
    if let ExprKind::Name(name) = &expr.kind {
        read.insert(name.to_string());
    }
    expr.children().for_each(|child| names_of(child, read));
}

/// Whether a body calls a method with such a name.
pub(super) fn calls_method(body: &[Stmt], is_named: &dyn Fn(&str) -> bool) -> bool {
    body.iter().any(|stmt| {
        stmt.exprs().any(|expr| expr_calls(expr, is_named))
            || stmt.bodies().any(|body| calls_method(body, is_named))
    })
}

fn expr_calls(expr: &Expr, is_named: &dyn Fn(&str) -> bool) -> bool {
    let own = match &expr.kind {
        ExprKind::Postfix(postfix) => {
            postfix.ops.iter().any(|step| matches!(&step.op, PostfixOp::Attr(name) if is_named(name)))
        }
        _ => false,
    };
    own || expr.children().any(|child| expr_calls(child, is_named))
}

/// Makes every name that a template reads unknown, unless `scope` knows it.
pub(super) fn read_freely(tree: &Tree, scope: &mut HashMap<String, Shape>) {
    let Some(Tree::Jinja(tree)) = tree.readable() else { return };
    let mut read = HashSet::new();
    collect_read(&tree.body, &mut read);
    for name in read {
        if !has_builtin("global", &name) {
            scope.entry(name).or_insert(Shape::ANY);
        }
    }
}

/// Whether a filter in an expression has a result that differs from run to run, or a call of something unknown.
pub(super) fn is_repeatable(expr: &Expr, is_bound: &dyn Fn(&str) -> bool) -> bool {
    let own = match &expr.kind {
        ExprKind::Postfix(postfix) => {
            let first_call = matches!(postfix.ops.first().map(|step| &step.op), Some(PostfixOp::Call(_)));
            let callee = match &postfix.base.kind {
                ExprKind::Name(name) if first_call => matches!(&**name, "range" | "dict") && !is_bound(name),
                _ => true,
            };
            callee
                && !postfix
                    .ops
                    .iter()
                    .any(|step| matches!(&step.op, PostfixOp::Filter(filter) if &*filter.name == "random"))
        }
        _ => true,
    };
    own && expr.children().all(|child| is_repeatable(child, is_bound))
}
