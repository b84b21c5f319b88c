//! The nodes that a record of origins refers to.

use hinagata_value::analysis::Analysis;

use crate::ast::{For, Stmt, StmtKind};

/// Adds the print and loop nodes to `analysis`, whose variables are complete and in source order.
pub(super) fn collect_nodes(body: &[Stmt], analysis: &mut Analysis) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Print(value) => {
                analysis.prints.insert(stmt.span.start, value.span.end);
            }
            StmtKind::For(node) => add_loop(stmt, node, analysis),
            _ => {}
        }
        stmt.bodies().for_each(|body| collect_nodes(body, analysis));
    }
}

/// Adds a loop whose iterated expression is a path: only then is the iteration number an index in the data.
fn add_loop(stmt: &Stmt, node: &For, analysis: &mut Analysis) {
    let iterated = node.iter.span;
    let first = analysis.variables.partition_point(|item| item.position.start < iterated.start);
    let mut from_here =
        analysis.variables[first..].iter().take_while(|item| item.position.start == iterated.start);
    if let Some(item) = from_here.find(|item| item.position.end == iterated.end) {
        analysis.loops.insert(stmt.span.start, item.path.clone());
    }
}
