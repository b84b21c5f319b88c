//! The shape of a file: what can be folded, its outline, the templates that it uses, the types of its loops.

use std::ops::Range;

use hinagata_jinja::ast::{Stmt, StmtKind, TargetKind};
use hinagata_template::Language;

use crate::tolerant::find_tags;

use super::{
    Lines, Parsed, Project, Region, describe::kinds_text, region::owner_definition, scope::jinja_locals,
};
use crate::shape::Kinds;

/// Lines that can be folded, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fold {
    /// The first line, which stays visible.
    pub start: usize,
    /// The last line.
    pub end: usize,
    /// Whether it is a comment.
    pub is_comment: bool,
}

/// An entry of the outline of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlineItem {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: OutlineKind,
    /// More about it.
    pub detail: Option<String>,
    /// Its bytes in the file.
    pub range: Range<usize>,
    /// The bytes of its name.
    pub name_range: Range<usize>,
}

/// What an entry of an outline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlineKind {
    /// A parameter.
    Parameter,
    /// A macro, or a named template of Go.
    Macro,
    /// A block.
    Block,
    /// A message.
    Message,
}

/// A place that names another template.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateLink {
    /// The bytes of the name in the file.
    pub range: Range<usize>,
    /// The file with the template.
    pub file: String,
}

/// The type of a name that a template binds.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeHint {
    /// The byte behind the name.
    pub offset: usize,
    /// The type.
    pub text: String,
}

/// What can be folded: blocks, comments over several lines, front matter.
#[must_use]
pub fn fold_ranges(project: &Project, path: &str, text: &str) -> Vec<Fold> {
    let lines = Lines::new(text);
    let mut folds = Vec::new();
    let mut add = |range: Range<usize>, is_comment: bool| {
        let (start, end) = (lines.line_at(range.start), lines.line_at(range.end.saturating_sub(1)));
        if end > start {
            folds.push(Fold { start, end, is_comment });
        }
    };
    for region in project.regions(path, text) {
        let start = region.in_file(0);
        if start > 0 && text.starts_with("---") && text[..start].trim_end().ends_with("---") {
            add(0..text[..start].trim_end().len(), false);
        }
        for (range, is_comment) in blocks_of(&region) {
            add(region.range_in_file(range), is_comment);
        }
    }
    folds.sort();
    folds.dedup();
    folds
}

/// The bytes of blocks and comments of a template, by the words that open and end them.
fn blocks_of(region: &Region) -> Vec<(Range<usize>, bool)> {
    let text = &*region.text;
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut found = Vec::new();
    for (start, end, is_closed) in find_tags(text) {
        if !is_closed {
            continue;
        }
        let tag = &text[start..end];
        let inner = tag[2..].trim_start_matches(['-', '+']).trim_start();
        if tag.starts_with("{#") || inner.starts_with("/*") {
            found.push((start..end, true));
            continue;
        }
        let word: String = inner.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let is_end = match region.language {
            Language::Jinja => tag.starts_with("{%") && word.starts_with("end"),
            Language::Go => word == "end",
        };
        if is_end {
            let name = word.trim_start_matches("end").to_owned();
            let at = match region.language {
                Language::Jinja => open.iter().rposition(|(known, _)| *known == name),
                Language::Go => open.len().checked_sub(1),
            };
            if let Some(at) = at {
                found.push((open[at].1..end, false));
                open.truncate(at);
            }
            continue;
        }
        let opens = match region.language {
            Language::Jinja => tag.starts_with("{%"),
            Language::Go => matches!(word.as_str(), "if" | "range" | "with" | "block" | "define"),
        };
        if opens {
            open.push((word, start));
        }
    }
    found
}

/// The parameters, macros, blocks and messages of a file, in the order of their places.
#[must_use]
pub fn outline_source(project: &Project, path: &str, text: &str) -> Vec<OutlineItem> {
    let mut items = Vec::new();
    let definition = project.catalog.as_ref().and_then(|catalog| owner_definition(catalog, path));
    let lines = Lines::new(text);
    for parameter in definition.iter().flat_map(|definition| definition.parameters.iter()) {
        let Some(place) = parameter.place.as_ref().filter(|place| place.file == path) else { continue };
        let line = lines.line_range((place.line as usize).saturating_sub(1), text);
        let at = text[line.clone()].find(&parameter.name).map_or(line.start, |at| line.start + at);
        let name_range = at..(at + parameter.name.len()).min(line.end.max(at));
        items.push(OutlineItem {
            name: parameter.name.clone(),
            kind: OutlineKind::Parameter,
            detail: Some(parameter.kind.name().to_owned()),
            range: line.start.min(name_range.start)..line.end.max(name_range.end),
            name_range,
        });
    }
    for region in project.regions(path, text) {
        let read = project.read_region(&region);
        let blocks = blocks_of(&region);
        let mut add = |name: &str, kind: OutlineKind, detail: Option<String>, start: usize| {
            let start = region.text[..start.min(region.text.len())]
                .rfind('{')
                .map_or(start, |at| at.saturating_sub(1));
            let whole = blocks
                .iter()
                .find(|(range, _)| range.start.abs_diff(start) <= 2)
                .map(|(range, _)| range.clone());
            let range = whole.unwrap_or(start..(start + 2).min(region.text.len()));
            let at = region.text[range.clone()].find(name).map_or(range.start, |at| range.start + at);
            let name_range = at..(at + name.len()).min(range.end.max(at));
            items.push(OutlineItem {
                name: name.to_owned(),
                kind,
                detail,
                range: region.range_in_file(range),
                name_range: region.range_in_file(name_range),
            });
        };
        for found in &read.analysis.macros {
            let names: Vec<&str> = found.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            add(
                &found.name,
                OutlineKind::Macro,
                Some(format!("({})", names.join(", "))),
                found.position.start as usize,
            );
        }
        for found in &read.analysis.blocks {
            add(&found.name, OutlineKind::Block, None, found.position.start as usize);
        }
        for found in &read.analysis.roles {
            let role = found.role.as_deref().unwrap_or("computed");
            add(role, OutlineKind::Message, None, found.position.start as usize);
        }
    }
    for item in &mut items {
        item.range.start = item.range.start.min(item.name_range.start);
        item.range.end = item.range.end.max(item.name_range.end);
    }
    items.sort_by_key(|item| (item.range.start, item.range.end));
    items
}

/// The templates that a file names, each with the file that has it.
#[must_use]
pub fn template_links(project: &Project, path: &str, text: &str) -> Vec<TemplateLink> {
    let mut links = Vec::new();
    for region in project.regions(path, text) {
        let analysis = project.read_region(&region).analysis;
        for used in &analysis.templates {
            let (start, end) = (used.position.start as usize, used.position.end as usize);
            let end = region
                .text
                .get(start..)
                .and_then(|rest| {
                    let closer = rest.find("%}").or_else(|| rest.find("}}"))?;
                    Some(start + closer)
                })
                .unwrap_or(end)
                .max(end.min(region.text.len()));
            let Some(within) = region.text.get(start..end) else { continue };
            for name in &used.names {
                let at = ['"', '\'', '`']
                    .iter()
                    .find_map(|quote| Some(within.find(&format!("{quote}{name}{quote}"))? + 1));
                let Some(at) = at.map(|at| start + at) else { continue };
                if let Some(file) = project.template_file(path, name) {
                    links.push(TemplateLink { range: region.range_in_file(at..at + name.len()), file });
                }
            }
        }
    }
    links.sort_by_key(|link| link.range.start);
    links
}

/// The types of loop variables and of names that `set` binds, where they are known.
#[must_use]
pub fn type_hints(project: &Project, path: &str, text: &str) -> Vec<TypeHint> {
    let fields = project.fields_of(path);
    let mut hints = Vec::new();
    for region in project.regions(path, text) {
        let Some(Parsed::Jinja(tree)) = project.read_region(&region).parsed else { continue };
        let mut targets: Vec<(u32, u32, u32)> = Vec::new();
        collect_targets(&tree.body, 0, &mut targets);
        for (start, end, inside) in targets {
            let name = &region.text[start as usize..end as usize];
            let locals = jinja_locals(&tree, inside, &fields);
            let Some(local) = locals.get(name) else { continue };
            let kinds = local.shape.kinds.and(Kinds::JSON);
            if local.shape.is_unknown() || kinds == Kinds::JSON || kinds.is_empty() {
                continue;
            }
            let shape = crate::shape::Shape { values: None, ..local.shape.clone() };
            hints.push(TypeHint {
                offset: region.range_in_file(start as usize..end as usize).end,
                text: kinds_text(&shape),
            });
        }
    }
    hints
}

/// The names that loops and assignments bind: their bytes, and a byte where they are bound.
fn collect_targets(body: &[Stmt], depth: usize, targets: &mut Vec<(u32, u32, u32)>) {
    if depth > 60 {
        return;
    }
    for stmt in body {
        match &stmt.kind {
            StmtKind::For(node) => {
                let inside = node.body.first().map_or(stmt.span.end, |first| first.span.start);
                if let TargetKind::Name(_) = node.target.kind {
                    targets.push((node.target.span.start, node.target.span.end, inside));
                }
                collect_targets(&node.body, depth + 1, targets);
                collect_targets(&node.otherwise, depth + 1, targets);
            }
            StmtKind::Set(node) => {
                if let TargetKind::Name(_) = node.target.kind {
                    targets.push((node.target.span.start, node.target.span.end, stmt.span.end + 1));
                }
            }
            StmtKind::If(node) => {
                for arm in &node.arms {
                    collect_targets(&arm.body, depth + 1, targets);
                }
                collect_targets(&node.otherwise, depth + 1, targets);
            }
            StmtKind::Block(node) => collect_targets(&node.body, depth + 1, targets),
            StmtKind::Macro(node) => collect_targets(&node.body, depth + 1, targets),
            StmtKind::With(node) => collect_targets(&node.body, depth + 1, targets),
            StmtKind::Message(node) => collect_targets(&node.body, depth + 1, targets),
            _ => {}
        }
    }
}

/// The signature of a macro that a file defines.
pub(super) fn macro_signature(project: &Project, file: &str, name: &str) -> Option<String> {
    let text = project.file_text(file)?;
    let regions = project.regions(file, &text);
    regions.iter().find_map(|region| {
        let analysis = project.read_region(region).analysis;
        let found = analysis.macros.iter().find(|found| found.name == name)?;
        let shown = |parameter: &hinagata_template::MacroParameter| {
            let mark = if parameter.optional { "?" } else { "" };
            format!("{}{mark}", parameter.name)
        };
        let names: Vec<String> = found.parameters.iter().map(shown).collect();
        Some(format!("{name}({})", names.join(", ")))
    })
}
