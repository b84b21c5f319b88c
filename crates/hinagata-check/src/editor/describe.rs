//! What a name means, in words: type, declaration, documentation.

use std::ops::Range;

use hinagata_catalog::definition::{Origin, Parameter, ParameterClass};
use hinagata_template::Language;

use super::{
    Project, Symbol, SymbolKind,
    builtins::find_builtin,
    find_symbol,
    keys::describe_key,
    outline::macro_signature,
    scope::{GoScope, LocalKind, go_scope, jinja_locals, path_shape},
};
use crate::shape::{Kinds, Shape};

/// The most fields of an object that a hover lists.
const MOST_FIELDS: usize = 12;
/// The longest default that a hover shows, in characters.
const LONGEST_DEFAULT: usize = 200;

/// What a name means.
#[derive(Clone, Debug, PartialEq)]
pub struct Hover {
    /// The bytes of the name in the file.
    pub range: Range<usize>,
    /// Markdown.
    pub text: String,
}

/// What the name at the byte `offset` of a file means.
#[must_use]
pub fn describe_symbol(project: &Project, path: &str, text: &str, offset: usize) -> Option<Hover> {
    let Some(symbol) = find_symbol(project, path, text, offset) else {
        return describe_key_at(project, path, text, offset);
    };
    let text = symbol_text(project, path, text, offset, &symbol)?;
    Some(Hover { range: symbol.range, text })
}

fn symbol_text(project: &Project, path: &str, text: &str, offset: usize, symbol: &Symbol) -> Option<String> {
    let name = &*symbol.name;
    match &symbol.kind {
        SymbolKind::Variable | SymbolKind::Parameter => variable_text(project, path, text, offset, name),
        SymbolKind::Member(parents) => {
            // Without names before it, it is a field of the dot.
            let shape = match parents.is_empty() {
                true => shape_at(project, path, text, offset, &[name.to_owned()])?,
                false => path_shape(shape_at(project, path, text, offset, parents)?, [name]),
            };
            Some(format!("`{}.{name}`: {}{}", parents.join("."), kinds_text(&shape), fields_text(&shape)))
        }
        SymbolKind::Local(_) => {
            let shape = shape_at(project, path, text, offset, &[name.to_owned()])?;
            Some(format!("`{name}`: {}, bound in this template{}", kinds_text(&shape), fields_text(&shape)))
        }
        SymbolKind::Filter => builtin_hover("filter", name),
        SymbolKind::Test => builtin_hover("test", name),
        SymbolKind::Tag => builtin_hover("tag", name),
        SymbolKind::Function => {
            tool_text(project, name, text, symbol).or_else(|| builtin_hover("function", name))
        }
        SymbolKind::Macro(file) => {
            let signature = macro_signature(project, file, name)?;
            Some(format!("```jinja\nmacro {signature}\n```\nin `{file}`"))
        }
        SymbolKind::Import(file) => Some(format!("`{name}`: the macros of `{}`", file.as_ref()?)),
        SymbolKind::Block => Some(format!("block `{name}`")),
        SymbolKind::Template => {
            let file = project.template_file(path, name)?;
            let content = project.file_text(&file)?;
            let start: Vec<&str> = content.lines().take(12).collect();
            Some(format!("`{file}`\n\n```\n{}\n```", start.join("\n").replace("```", "` ` `")))
        }
        SymbolKind::Prompt => prompt_text(project, name),
        SymbolKind::Role => Some(format!("the role of a message: `{name}`")),
    }
}

fn builtin_hover(kind: &str, name: &str) -> Option<String> {
    let (_, _, parameters, text) = find_builtin(kind, name)?;
    Some(format!("{kind} `{name}{parameters}`\n\n{text}"))
}

/// What a builtin name does.
pub(super) fn builtin_text(kind: &str, name: &str) -> Option<&'static str> {
    find_builtin(kind, name).map(|row| row.3)
}

fn tool_text(project: &Project, name: &str, text: &str, symbol: &Symbol) -> Option<String> {
    let dotted = format!("{}{name}", dotted_prefix(text, symbol.range.start));
    let (name, tool) = project.tools.get_key_value(&dotted).or_else(|| project.tools.get_key_value(name))?;
    let parameters = tool_parameters(tool.parameters.as_ref());
    let description = tool.description.as_deref().unwrap_or_default();
    Some(format!("tool `{name}({})`\n\n{description}", parameters.join(", ")))
}

fn dotted_prefix(text: &str, end: usize) -> &str {
    let before = &text[..end];
    let start = before.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.')).len();
    &before[start..]
}

/// The parameters of a tool, as `name` or `name?`.
fn tool_parameters(schema: Option<&serde_json::Value>) -> Vec<String> {
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let required: Vec<&str> = schema
        .and_then(|schema| schema.get("required")?.as_array())
        .map(|names| names.iter().filter_map(serde_json::Value::as_str).collect())
        .unwrap_or_default();
    let shown = |(name, schema): (&String, &serde_json::Value)| {
        let kind = schema.get("type").and_then(serde_json::Value::as_str).map(|kind| format!(": {kind}"));
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        format!("{name}{mark}{}", kind.unwrap_or_default())
    };
    properties.into_iter().flatten().map(shown).collect()
}

fn prompt_text(project: &Project, name: &str) -> Option<String> {
    let catalog = project.catalog.as_ref()?;
    let choice = catalog.choose(name).ok()?;
    let definition = choice.entry.definition().ok()?;
    let metadata = &definition.metadata;
    let title = metadata.title.as_deref().unwrap_or(&metadata.name);
    let description = metadata.description.as_deref().unwrap_or_default();
    Some(format!("prompt `{}` in `{}`: {title}\n\n{description}", choice.id, choice.entry.source()))
}

fn variable_text(project: &Project, path: &str, text: &str, offset: usize, name: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let users = project.users_of(path);
    let is_shared = users.len() > 1;
    for source in users.iter().take(8) {
        let Some((inherited, variables)) = project.variables_of(source) else { continue };
        let Some(parameter) = inherited.parameters.get(name) else {
            if !is_shared && variables.fields.known.contains_key(name) {
                parts.push(format!("`{name}`: reserved by the engine, or provided by a pack"));
            }
            continue;
        };
        let shape = variables.fields.known.get(name).map_or(Shape::ANY, |field| field.shape.clone());
        let of = if is_shared { format!(" of `{source}`") } else { String::new() };
        parts.push(format!(
            "`{name}`{of}: {}\n\n{}{}",
            kinds_text(&shape),
            parameter_text(parameter),
            fields_text(&shape)
        ));
    }
    if users.len() > 8 {
        parts.push(format!("and {} more prompts", users.len() - 8));
    }
    if parts.is_empty() {
        let root = shape_at(project, path, text, offset, &[name.to_owned()])?;
        parts.push(format!("`{name}`: {}; not declared", kinds_text(&root)));
    }
    parts.dedup();
    Some(parts.join("\n\n---\n\n"))
}

/// A declaration in words: class, default, source, description. Secrets are masked.
pub(super) fn parameter_text(parameter: &Parameter) -> String {
    let mut lines = Vec::new();
    if let Some(description) = &parameter.description {
        lines.push(description.clone());
    }
    let class = match parameter.class {
        ParameterClass::Required => "required",
        _ => "optional",
    };
    let layers = match &parameter.origin {
        Origin::Default => "set by the call, an agent or the declaration".to_owned(),
        Origin::System => "taken from the facts about the call".to_owned(),
        Origin::Environ => "taken from the shared variables of the store".to_owned(),
        Origin::Project(_) => "taken from the project".to_owned(),
        Origin::Conversation(_) => "taken from the conversation".to_owned(),
    };
    lines.push(format!("{class}; {layers}"));
    match &parameter.default {
        Some(_) if parameter.secret => lines.push("default: •••".to_owned()),
        Some(value) => {
            let shown: String = value.to_string().chars().take(LONGEST_DEFAULT).collect();
            lines.push(format!("default: `{shown}`"));
        }
        None => {}
    }
    if parameter.secret {
        lines.push("secret: its value is never shown".to_owned());
    }
    if let Some(place) = &parameter.place {
        lines.push(format!("declared in `{}`, line {}", place.file, place.line));
    }
    lines.join("\n\n")
}

/// The kinds of a shape in words.
pub(super) fn kinds_text(shape: &Shape) -> String {
    let kinds = shape.kinds.and(Kinds::JSON);
    if kinds == Kinds::JSON || shape.is_unknown() {
        return "any value".to_owned();
    }
    if let Some(values) = &shape.values {
        let texts: Vec<String> = values.iter().take(6).map(ToString::to_string).collect();
        return texts.join(" | ");
    }
    if kinds.is_empty() && shape.kinds.contains(Kinds::UNDEFINED) {
        return "undefined".to_owned();
    }
    kinds.to_noun()
}

fn fields_text(shape: &Shape) -> String {
    let fields = shape.fields.as_ref().or_else(|| shape.items.as_ref()?.fields.as_ref());
    let Some(fields) = fields.filter(|fields| !fields.known.is_empty()) else { return String::new() };
    let lines: Vec<String> = fields
        .known
        .iter()
        .take(MOST_FIELDS)
        .map(|(name, field)| format!("- `{name}`: {}", kinds_text(&field.shape)))
        .collect();
    format!("\n\n{}", lines.join("\n"))
}

/// The shape at a path of names, in the scope of a place of a file.
fn shape_at(project: &Project, path: &str, text: &str, offset: usize, names: &[String]) -> Option<Shape> {
    let fields = project.fields_of(path);
    let (first, rest) = names.split_first()?;
    let rest = || rest.iter().map(String::as_str);
    let Some((region, inner)) = project.region_at(path, text, offset) else {
        return Some(path_shape(fields.known.get(first)?.shape.clone(), rest()));
    };
    if region.language == Language::Go {
        let GoScope { dot, locals, .. } = go_scope(&region.text, inner, &fields);
        let start = match locals.get(first) {
            Some(local) => local.shape.clone(),
            None => path_shape(dot, [first.as_str()]),
        };
        return Some(path_shape(start, rest()));
    }
    let locals = match project.read_region(&region).parsed {
        Some(super::Parsed::Jinja(tree)) => jinja_locals(&tree, inner as u32, &fields),
        _ => Default::default(),
    };
    let start = match locals.get(first) {
        Some(local) if local.kind == LocalKind::Variable => local.shape.clone(),
        Some(_) => Shape::ANY,
        None => fields.known.get(first).map_or(Shape::ANY, |field| field.shape.clone()),
    };
    Some(path_shape(start, rest()))
}

/// What a key of a definition is for.
fn describe_key_at(project: &Project, path: &str, text: &str, offset: usize) -> Option<Hover> {
    if project.region_at(path, text, offset).is_some() && !super::keys::in_front_matter(text.get(..offset)?) {
        return None;
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let start = text.get(..offset)?.trim_end_matches(is_part).len();
    let end = start + text[start..].find(|c: char| !is_part(c)).unwrap_or(text.len() - start);
    let behind = text[end..].trim_start_matches(['"', '\'']);
    if !behind.starts_with(':') {
        return None;
    }
    let name = &text[start..end];
    Some(Hover { range: start..end, text: format!("`{name}`: {}", describe_key(name)?) })
}

/// The signature of the call around a place.
#[derive(Clone, Debug, PartialEq)]
pub struct SignatureHelp {
    /// The whole signature.
    pub label: String,
    /// The parameters, as they stand in the label.
    pub parameters: Vec<String>,
    /// The parameter at the place.
    pub active: usize,
    /// What the function does.
    pub documentation: Option<String>,
}

/// The signature of the call around the byte `offset` of a file.
#[must_use]
pub fn call_signature(project: &Project, path: &str, text: &str, offset: usize) -> Option<SignatureHelp> {
    let (region, inner) = project.region_at(path, text, offset)?;
    let before = region.text.get(..inner)?;
    let open = before.rfind("{{").max(before.rfind("{%"))?;
    let inside = &before[open..];
    let (name_end, active) = open_call(inside)?;
    let callee = inside[..name_end].trim_end();
    let start = callee.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.')).len();
    let name = &callee[start..];
    let head = callee[..start].trim_end();
    if name.is_empty() {
        return None;
    }
    let kind = match head {
        _ if head.ends_with('|') => "filter",
        _ if head.ends_with(" is") || head.ends_with("is not") => "test",
        _ => "function",
    };
    if let Some(tool) = project.tools.get(name).filter(|_| kind == "function") {
        let parameters = tool_parameters(tool.parameters.as_ref());
        let label = format!("{name}({})", parameters.join(", "));
        return Some(SignatureHelp { label, parameters, active, documentation: tool.description.clone() });
    }
    if let Some((_, _, parameters, text)) = find_builtin(kind, name) {
        let parameters = split_parameters(parameters);
        let label = format!("{name}({})", parameters.join(", "));
        return Some(SignatureHelp { label, parameters, active, documentation: Some((*text).to_owned()) });
    }
    let in_file = region.in_file(open + start + name.len().saturating_sub(1));
    let symbol = find_symbol(project, path, text, in_file)?;
    let SymbolKind::Macro(file) = symbol.kind else { return None };
    let label = macro_signature(project, &file, &symbol.name)?;
    let parameters = split_parameters(&label[label.find('(')?..]);
    Some(SignatureHelp { label, parameters, active, documentation: None })
}

fn split_parameters(text: &str) -> Vec<String> {
    let inner = text.trim_start_matches('(').trim_end_matches(')');
    inner.split(", ").filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Where the name of the innermost open call ends, and how many commas follow.
fn open_call(inside: &str) -> Option<(usize, usize)> {
    let mut calls: Vec<(usize, usize, char)> = Vec::new();
    let mut quote = None;
    for (at, character) in inside.char_indices().skip(2) {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => calls.push((at, 0, character)),
            (None, ')' | ']' | '}') => drop(calls.pop()),
            (None, ',') => {
                if let Some(call) = calls.last_mut() {
                    call.1 += 1;
                }
            }
            _ => {}
        }
    }
    let (at, commas, bracket) = calls.pop()?;
    (bracket == '(').then_some((at, commas))
}
