//! The nodes that a record of origins refers to.

use hinagata_value::analysis::Analysis;

use crate::ast::{Stmt, StmtKind};

/// Adds the nodes that print to `analysis`.
pub(super) fn collect_nodes(body: &[Stmt], analysis: &mut Analysis) {
    for stmt in body {
        let end = match &stmt.kind {
            StmtKind::Print(value) => Some(value.span.end),
            StmtKind::FilterBlock(block) => block.filters.last().map(|filter| filter.span.end),
            StmtKind::CallBlock(block) => Some(block.call_span.end),
            _ => None,
        };
        if let Some(end) = end {
            analysis.prints.insert(stmt.span.start, end);
        }
        stmt.bodies().for_each(|body| collect_nodes(body, analysis));
    }
}
