//! The analysis of a Jinja template in the common form.

use hinagata_jinja::{
    Source,
    analysis::{self as jinja, TemplateUseKind as JinjaUse},
    ast::{Span, Stmt, StmtKind},
    parse,
};
use hinagata_value::{Budget, Limits, Result};

use super::{Analysis, NameUse, Nodes, Passes, Position, RoleUse, TemplateUse, TemplateUseKind, VariableUse};
use crate::Template;

/// The analysis in both forms: that of the language knows the scopes.
pub(super) fn analyze(template: &Template, limits: &Limits) -> Result<(Analysis, jinja::Analysis)> {
    let (name, text) = (template.name(), template.source().text());
    let tree = parse(name, text, &template.options().jinja, &Budget::new(limits.clone()))?;
    let found = jinja::analyze(&tree);
    let source = Source::new(name, text);
    let mut common = common(&found, &source);
    collect(&tree.body, &found, &mut common.nodes);
    Ok((common, found))
}

fn common(found: &jinja::Analysis, source: &Source) -> Analysis {
    let at = |span: Span| {
        let (line, column) = source.line_column(span.start);
        Position { start: span.start, end: span.end, line, column }
    };
    let name = |name: &str, span: Span| NameUse { name: name.to_owned(), position: at(span) };
    let variables = found.variables.iter().map(|item| VariableUse {
        path: item.path.clone(),
        usage: item.usage,
        position: at(item.span),
    });
    let called = found.functions.iter().filter(|function| !function.local);
    let templates = found.templates.iter().enumerate().map(|(number, template)| TemplateUse {
        kind: kind(template.kind),
        names: template.names.iter().map(ToString::to_string).collect(),
        dynamic: template.dynamic,
        ignore_missing: template.ignore_missing,
        position: at(template.span),
        passes: if template.with_context { Passes::Scope(number) } else { Passes::Nothing },
    });
    let roles = found
        .roles
        .iter()
        .map(|role| RoleUse { role: role.role.as_deref().map(str::to_owned), position: at(role.span) });
    Analysis {
        variables: variables.collect(),
        functions: called.map(|function| name(&function.name, function.span)).collect(),
        filters: found.filters.iter().map(|filter| name(&filter.name, filter.span)).collect(),
        tests: found.tests.iter().map(|test| name(&test.name, test.span)).collect(),
        templates: templates.collect(),
        blocks: found.blocks.iter().map(|block| name(&block.name, block.span)).collect(),
        macros: found.macros.iter().map(|item| name(&item.name, item.span)).collect(),
        roles: roles.collect(),
        nodes: Nodes::default(),
    }
}

fn kind(kind: JinjaUse) -> TemplateUseKind {
    match kind {
        JinjaUse::Extends => TemplateUseKind::Extends,
        JinjaUse::Include => TemplateUseKind::Include,
        JinjaUse::Import | JinjaUse::FromImport => TemplateUseKind::Import,
    }
}

/// Collects what prints and what loops; a tree is as deep as the parser allows.
fn collect(body: &[Stmt], found: &jinja::Analysis, nodes: &mut Nodes) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Print(value) => {
                nodes.prints.insert(stmt.span.start, value.span.end);
            }
            StmtKind::If(node) => {
                node.arms.iter().for_each(|arm| collect(&arm.body, found, nodes));
                collect(&node.otherwise, found, nodes);
            }
            StmtKind::For(node) => {
                let iterated = (node.iter.span.start, node.iter.span.end);
                // Only where all of the expression is a path, the turn is the place in the data.
                let first = found.variables.partition_point(|item| item.span.start < iterated.0);
                let mut from_here =
                    found.variables[first..].iter().take_while(|item| item.span.start == iterated.0);
                if let Some(item) = from_here.find(|item| item.span.end == iterated.1) {
                    nodes.loops.insert(stmt.span.start, item.path.clone());
                }
                collect(&node.body, found, nodes);
                collect(&node.otherwise, found, nodes);
            }
            StmtKind::SetBlock(node) => collect(&node.body, found, nodes),
            StmtKind::With(node) => collect(&node.body, found, nodes),
            StmtKind::Macro(node) => collect(&node.body, found, nodes),
            StmtKind::CallBlock(node) => collect(&node.body, found, nodes),
            StmtKind::FilterBlock(node) => collect(&node.body, found, nodes),
            StmtKind::Block(node) => collect(&node.body, found, nodes),
            StmtKind::AutoEscape(node) => collect(&node.body, found, nodes),
            StmtKind::Message(node) => collect(&node.body, found, nodes),
            StmtKind::Generation(body) => collect(body, found, nodes),
            _ => {}
        }
    }
}
