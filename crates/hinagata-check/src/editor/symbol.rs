//! What stands at a place of a file.

use std::ops::Range;

use hinagata_document::LineColumn;
use hinagata_template::{Language, builtin_names, highlight_source};
use hinagata_value::{HighlightKind, HighlightToken, Limits};

use super::{
    Lines, Parsed, Project, Region,
    region::{DocumentFile, owner_definition},
    scope::{Local, LocalKind, Locals, go_scope, jinja_locals},
};
use crate::tolerant::find_tags;

/// A name at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// What it is.
    pub kind: SymbolKind,
    /// Its name.
    pub name: String,
    /// Its bytes in the file.
    pub range: Range<usize>,
}

/// What a name is.
#[derive(Clone, Debug, PartialEq)]
pub enum SymbolKind {
    /// A variable from outside of the template.
    Variable,
    /// A part of a variable: the path before it, of which the first name may be local.
    Member(Vec<String>),
    /// A variable that the template binds at this place of the file.
    Local(Range<usize>),
    /// A declaration of a parameter.
    Parameter,
    /// A filter.
    Filter,
    /// A test.
    Test,
    /// A function of the language or a tool.
    Function,
    /// A macro: the file that defines it.
    Macro(String),
    /// The macros of another file.
    Import(Option<String>),
    /// A block.
    Block,
    /// The name of another template.
    Template,
    /// The name of a prompt.
    Prompt,
    /// A role.
    Role,
    /// The name of a tag.
    Tag,
}

/// The symbol at the byte `offset` of a file.
#[must_use]
pub fn find_symbol(project: &Project, path: &str, text: &str, offset: usize) -> Option<Symbol> {
    match project.region_at(path, text, offset) {
        Some((region, inner)) => in_region(project, path, &region, inner).map(|(kind, name, range)| Symbol {
            kind,
            name,
            range: region.range_in_file(range),
        }),
        None => in_document(project, path, text, offset),
    }
}

/// The variable from outside of the template at the byte `offset` of a file, or the part of one, as a path of names.
#[must_use]
pub fn variable_path(project: &Project, path: &str, text: &str, offset: usize) -> Option<Vec<String>> {
    let Symbol { kind, name, .. } = find_symbol(project, path, text, offset)?;
    let mut names = match kind {
        SymbolKind::Variable | SymbolKind::Parameter => Vec::new(),
        SymbolKind::Member(parents) => {
            let (region, inner) = project.region_at(path, text, offset)?;
            let first = parents.first()?;
            let is_local = locals_at(project, &region, inner).contains_key(first);
            Some(parents).filter(|_| !is_local)?
        }
        _ => return None,
    };
    names.push(name);
    Some(names)
}

/// The local names and the token at a place of a template.
pub(super) fn locals_at(project: &Project, region: &Region, inner: usize) -> Locals {
    let mut locals = match project.read_region(region).parsed {
        Some(Parsed::Jinja(tree)) => jinja_locals(&tree, inner as u32, &Default::default()),
        Some(Parsed::Go(_)) => go_scope(&region.text, inner, &Default::default()).locals,
        None => Locals::new(),
    };
    if let Some(local) = &region.local {
        let shape = crate::shape::Shape::ANY;
        locals.insert(local.to_string(), Local { shape, range: (0, 0), kind: LocalKind::Variable });
    }
    locals
}

type Found = (SymbolKind, String, Range<usize>);

fn in_region(project: &Project, path: &str, region: &Region, inner: usize) -> Option<Found> {
    let text = &*region.text;
    let tokens = highlight_source(region.language, text, &project.template_options(), &Limits::default());
    let token = tokens.iter().find(|token| token.start <= inner && inner < token.end).or_else(|| {
        // At the end of a word, the word counts.
        tokens.iter().find(|token| token.end == inner && is_word(&text[token.start..token.end]))
    })?;
    let (start, end) =
        find_tags(text).into_iter().map(|(start, end, _)| (start, end)).rfind(|tag| tag.0 <= token.start)?;
    let tag = text.get(start + 2..end.max(start + 2))?.trim_start_matches(['-', '+']).trim_start();
    let word = tag.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let written = &text[token.start..token.end];
    let range = token.start..token.end;
    let is_tag = text[start..].starts_with("{%") || region.language == Language::Go;
    match token.kind {
        HighlightKind::String => {
            let inner = unquoted(written);
            let name = written[inner.clone()].to_owned();
            let range = token.start + inner.start..token.start + inner.end;
            let before = text[start..token.start].trim_end();
            match word {
                "extends" | "include" | "import" | "from" | "template" if is_tag => {
                    Some((SymbolKind::Template, name, range))
                }
                "block" | "define" if region.language == Language::Go => {
                    Some((SymbolKind::Block, name, range))
                }
                "message" if is_tag => Some((SymbolKind::Role, name, range)),
                _ if before.ends_with("role(") || before.ends_with("role") => {
                    Some((SymbolKind::Role, name, range))
                }
                _ => None,
            }
        }
        HighlightKind::Filter => Some((SymbolKind::Filter, written.to_owned(), range)),
        HighlightKind::Test => Some((SymbolKind::Test, written.to_owned(), range)),
        HighlightKind::Keyword => Some((SymbolKind::Tag, written.to_owned(), range)),
        HighlightKind::Property => {
            let name = written.trim_start_matches('.').to_owned();
            let range = token.end - name.len()..token.end;
            let parents = parent_path(text, range.start, region.language);
            // In Go, a field of the dot outside of loops is a variable.
            if parents.is_empty() {
                let is_go = region.language == Language::Go;
                let is_root = is_go && go_scope(text, range.start, &Default::default()).is_root;
                let kind = if is_root { SymbolKind::Variable } else { SymbolKind::Member(parents) };
                return is_go.then_some((kind, name, range));
            }
            member_of_import(project, path, region, inner, &parents, &name)
                .map(|kind| (kind, name.clone(), range.clone()))
                .or(Some((SymbolKind::Member(parents), name, range)))
        }
        HighlightKind::Variable | HighlightKind::Function => {
            if is_tag
                && region.language == Language::Jinja
                && matches!(word, "block" | "endblock")
                && !tag.contains(['(', '|'])
            {
                return Some((SymbolKind::Block, written.to_owned(), range));
            }
            if region.language == Language::Go && written.starts_with('.') {
                let name = written.trim_start_matches('.').to_owned();
                let range = token.end - name.len()..token.end;
                let is_root = go_scope(text, range.start, &Default::default()).is_root;
                let kind = if is_root { SymbolKind::Variable } else { SymbolKind::Member(Vec::new()) };
                return Some((kind, name, range));
            }
            if text[..token.start].ends_with('.') {
                let parents = parent_path(text, token.start, region.language);
                let kind = member_of_import(project, path, region, inner, &parents, written);
                return Some((kind.unwrap_or(SymbolKind::Member(parents)), written.to_owned(), range));
            }
            Some((named(project, path, region, token, word), written.to_owned(), range))
        }
        _ => None,
    }
}

/// What a name at the start of an expression is.
fn named(project: &Project, path: &str, region: &Region, token: &HighlightToken, word: &str) -> SymbolKind {
    let text = &*region.text;
    let name = &text[token.start..token.end];
    let locals = locals_at(project, region, token.start);
    match locals.get(name) {
        Some(Local { kind: LocalKind::Variable, range, .. }) => {
            SymbolKind::Local(region.range_in_file(range.0 as usize..range.1 as usize))
        }
        Some(Local { kind: LocalKind::Macro(_), .. }) => SymbolKind::Macro(path.to_owned()),
        Some(Local { kind: LocalKind::Import(template), .. }) => {
            SymbolKind::Import(template.as_ref().and_then(|name| project.template_file(path, name)))
        }
        Some(Local { kind: LocalKind::Imported(template, _), .. }) => {
            let file = template.as_ref().and_then(|name| project.template_file(path, name));
            SymbolKind::Macro(file.unwrap_or_default())
        }
        // The place that binds the name is before it is bound.
        None if word == "macro" && text[..token.start].trim_end().ends_with("macro") => {
            SymbolKind::Macro(path.to_owned())
        }
        None if matches!(word, "for" | "set" | "with") && is_target(text, token, word) => {
            SymbolKind::Local(region.range_in_file(token.start..token.end))
        }
        None if is_function(project, region.language, name) => SymbolKind::Function,
        None => SymbolKind::Variable,
    }
}

/// Whether a name stands where its tag binds it.
fn is_target(text: &str, token: &HighlightToken, word: &str) -> bool {
    let before = text[..token.start].rfind("{%").map_or("", |at| &text[at..token.start]);
    match word {
        "for" => !before.contains(" in "),
        _ => !before.contains('=') || (word == "with" && before.trim_end().ends_with(',')),
    }
}

fn is_function(project: &Project, language: Language, name: &str) -> bool {
    project.options.functions.get(name).is_some()
        || project.tools.contains_key(name)
        || matches!(name, "role" | "media" | "resource")
        || builtin_names(language).iter().any(|(kind, known)| *kind == "function" && *known == name)
}

fn member_of_import(
    project: &Project,
    path: &str,
    region: &Region,
    inner: usize,
    parents: &[String],
    name: &str,
) -> Option<SymbolKind> {
    let [only] = parents else {
        let dotted = format!("{}.{name}", parents.join("."));
        return project.tools.contains_key(&dotted).then_some(SymbolKind::Function);
    };
    let locals = locals_at(project, region, inner);
    match &locals.get(only)?.kind {
        LocalKind::Import(template) => {
            let file = project.template_file(path, template.as_ref()?)?;
            Some(SymbolKind::Macro(file))
        }
        _ => None,
    }
}

/// The names before the last dot of a path that ends at `end`, such as `a` and `b` of `a.b.`.
pub(super) fn parent_path(text: &str, end: usize, language: Language) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
    let mut before = &text[..end];
    let mut names = Vec::new();
    loop {
        // `a[0].b` goes on before the bracket.
        let rest = before.trim_end_matches(is_part);
        let part = &before[rest.len()..];
        let parts = part.split('.').filter(|name| !name.is_empty());
        let mut found: Vec<String> = parts.map(str::to_owned).collect();
        found.append(&mut names);
        names = found;
        match rest.strip_suffix(']').and_then(|inner| Some((inner, inner.rfind('[')?))) {
            Some((inner, at)) if part.starts_with('.') || part.is_empty() => {
                let key = inner[at + 1..].trim_matches(['"', '\'']).to_owned();
                let is_name = key.chars().all(|c| c.is_alphanumeric() || c == '_') && !key.is_empty();
                names.insert(
                    0,
                    if is_name && inner[at + 1..].starts_with(['"', '\'']) { key } else { "*".to_owned() },
                );
                before = &rest[..at];
            }
            _ => break,
        }
    }
    if language == Language::Go {
        names.retain(|name| name != "$");
    }
    names
}

pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
}

/// The bytes between the quotes of a literal.
pub(super) fn unquoted(literal: &str) -> Range<usize> {
    let start = usize::from(literal.starts_with(['"', '\'', '`']));
    let end = match literal.chars().next_back() {
        Some('"' | '\'' | '`') if literal.len() > start => literal.len() - 1,
        _ => literal.len(),
    };
    start..end.max(start)
}

/// The symbol in a definition outside of its templates: a parameter, or the name of a prompt.
fn in_document(project: &Project, path: &str, text: &str, offset: usize) -> Option<Symbol> {
    let catalog = project.catalog.as_ref()?;
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let before = text.get(..offset)?;
    let start = before.trim_end_matches(is_part).len();
    let rest = &text[start..];
    let end = start + rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
    let name = text[start..end].to_owned();
    if name.is_empty() {
        return None;
    }
    if let Some(definition) = owner_definition(catalog, path) {
        let lines = Lines::new(text);
        let line = lines.line_at(start);
        let is_declared =
            definition.parameters.iter().filter(|parameter| parameter.name == name).any(|parameter| {
                parameter.place.as_ref().is_some_and(|place| {
                    let at = LineColumn { line: place.line, column: place.column };
                    place.file == path && lines.line_at(lines.offset_of(at, text)).abs_diff(line) <= 2
                })
            });
        if is_declared {
            return Some(Symbol { kind: SymbolKind::Parameter, name, range: start..end });
        }
    }
    let names_prompts = matches!(
        DocumentFile::from_path(path)?,
        DocumentFile::Template
            | DocumentFile::Definition
            | DocumentFile::Python
            | DocumentFile::Module
            | DocumentFile::Agent
            | DocumentFile::Pack
            | DocumentFile::Vocabulary
    );
    let line = text[..start].rsplit('\n').next().unwrap_or_default();
    let is_value = line.contains([':', '=', '-', '"', '\'', '[']);
    let choice = catalog.choose(&name).ok().filter(|_| names_prompts && is_value)?;
    let is_whole = *choice.id.as_str() == *name || choice.entry.name() == name;
    is_whole.then_some(Symbol { kind: SymbolKind::Prompt, name, range: start..end })
}
