//! The nodes that a record of origins refers to.

use hinagata_value::analysis::Analysis;

use crate::ast::{Stmt, StmtKind};

/// Adds the nodes that print to `analysis`.
pub(super) fn collect_nodes(body: &[Stmt], analysis: &mut Analysis) {
    for stmt in body {
        if let StmtKind::Print(value) = &stmt.kind {
            analysis.prints.insert(stmt.span.start, value.span.end);
        }
        stmt.bodies().for_each(|body| collect_nodes(body, analysis));
    }
}
