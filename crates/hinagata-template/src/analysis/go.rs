//! The analysis of a Go template in the common form.

use hinagata_gotemplate::{
    Set,
    analysis::{self as go, PathPart as GoPart, Usage as GoUsage},
};

use super::{
    Analysis, NameUse, Nodes, Passes, Path, PathPart, Position, RoleUse, TemplateUse, TemplateUseKind, Usage,
    VariableUse, WHOLE,
};
use crate::Template;

/// The analysis of the templates of `set`, the compiled form of `template`.
pub(super) fn analyze(template: &Template, set: &Set) -> Analysis {
    let Some(found) = set.analyze(template.name()) else { return Analysis::default() };
    let text = template.source().text();
    let name = |name: &str, at: go::Position| NameUse { name: name.to_owned(), position: position(at) };
    let variables = found.variables.iter().map(|item| VariableUse {
        path: path(&item.path),
        usage: usage(item.usage),
        position: position(item.position),
    });
    let outside = found.templates.iter().filter(|used| !used.defined);
    let roles = found.functions.iter().filter(|function| &*function.name == "role");
    Analysis {
        variables: variables.collect(),
        functions: found.functions.iter().map(|function| name(&function.name, function.position)).collect(),
        templates: outside.map(template_use).collect(),
        macros: found.defines.iter().map(|define| name(&define.name, define.position)).collect(),
        roles: roles.map(|role| role_use(text, position(role.position))).collect(),
        nodes: Nodes {
            prints: found.prints.iter().map(|print| (print.start, print.end)).collect(),
            loops: found.loops.iter().map(|(at, over)| (at.start, path(over))).collect(),
        },
        ..Analysis::default()
    }
}

fn template_use(used: &go::TemplateUse) -> TemplateUse {
    let passes = match &*used.data {
        [] => Passes::Nothing,
        data if data.iter().any(go::Path::is_whole) => Passes::Everything,
        data => Passes::Data(data.iter().map(path).collect()),
    };
    TemplateUse {
        kind: TemplateUseKind::Call,
        names: vec![used.name.to_string()],
        dynamic: false,
        ignore_missing: false,
        position: position(used.position),
        passes,
    }
}

/// A message that starts; its role is written down where a string follows the function.
fn role_use(text: &str, position: Position) -> RoleUse {
    let rest = text.get(position.end as usize..).unwrap_or_default().trim_start();
    let quoted = |quote: char| Some(rest.strip_prefix(quote)?.split_once(quote)?.0.to_owned());
    RoleUse { role: quoted('"').or_else(|| quoted('`')), position }
}

/// A path whose first key is the variable.
fn path(path: &go::Path) -> Path {
    let part = |part: &GoPart| match part {
        GoPart::Key(key) => PathPart::Key(key.clone()),
        GoPart::Index(index) => PathPart::Index(*index),
        GoPart::Each => PathPart::Each,
    };
    match path.parts.split_first() {
        Some((GoPart::Key(root), rest)) => {
            Path { root: root.clone(), parts: rest.iter().map(part).collect() }
        }
        _ => Path { root: WHOLE.into(), parts: path.parts.iter().map(part).collect() },
    }
}

fn usage(usage: GoUsage) -> Usage {
    match usage {
        GoUsage::Value => Usage::Value,
        GoUsage::Default => Usage::Default,
        GoUsage::Condition => Usage::Condition,
    }
}

fn position(position: go::Position) -> Position {
    Position { start: position.start, end: position.end, line: position.line, column: position.column }
}
