//! What can be written at a place.

use std::{collections::BTreeSet, ops::Range};

use hinagata_catalog::definition::ParameterClass;
use hinagata_jinja::ast::{CallArgs, Expr, ExprKind, FilterCall, Postfix, PostfixOp, PostfixStep, Span};
use hinagata_template::{Language, TemplateUseKind, builtin_names};
use serde_json::json;

use super::{
    Parsed, Project, Region,
    describe::{builtin_text, kinds_text, parameter_text},
    keys::{complete_keys, in_front_matter},
    scope::{GoScope, LocalKind, Locals, go_scope, jinja_locals, path_shape},
    symbol::parent_path,
};
use crate::{
    check::is_about_arguments,
    probe::{JinjaProbe, Outcome, has_samples, placeholder, placeholder_name, samples},
    shape::{Fields, Kinds, Shape},
};

/// The roles of messages.
const ROLES: [&str; 5] = ["system", "user", "assistant", "developer", "tool"];

/// What can be written at a place.
#[derive(Clone, Debug, Default)]
pub struct Completion {
    /// The bytes of the file that an item replaces.
    pub range: Range<usize>,
    /// The items.
    pub items: Vec<CompletionItem>,
}

/// Something that can be written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompletionItem {
    /// The text.
    pub label: String,
    /// What it is.
    pub kind: CompletionKind,
    /// Its type, or what it is for, in one line.
    pub detail: Option<String>,
    /// More about it, as Markdown.
    pub documentation: Option<String>,
}

/// What an item of a completion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompletionKind {
    /// A variable, or a part of one.
    Variable,
    /// A filter.
    Filter,
    /// A test.
    Test,
    /// A function of the language.
    Function,
    /// A tool.
    Tool,
    /// A macro.
    Macro,
    /// A tag.
    Tag,
    /// Another template.
    Template,
    /// A block.
    Block,
    /// A role.
    Role,
    /// A key of a file.
    Key,
    /// The id of a prompt.
    Prompt,
}

impl CompletionKind {
    /// The name for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::Filter => "filter",
            Self::Test => "test",
            Self::Function => "function",
            Self::Tool => "tool",
            Self::Macro => "macro",
            Self::Tag => "tag",
            Self::Template => "include",
            Self::Block => "block",
            Self::Role => "role",
            Self::Key => "key",
            Self::Prompt => "prompt",
        }
    }
}

impl CompletionItem {
    pub(super) fn new(label: impl Into<String>, kind: CompletionKind) -> Self {
        Self { label: label.into(), kind, detail: None, documentation: None }
    }

    pub(super) fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into()).filter(|text: &String| !text.is_empty());
        self
    }
}

/// What can be written at the byte `offset` of a file; `None` where nothing is known.
#[must_use]
pub fn complete_source(project: &Project, path: &str, text: &str, offset: usize) -> Option<Completion> {
    let before = text.get(..offset)?;
    let region = match in_front_matter(before) {
        true => None,
        false => project.region_at(path, text, offset),
    };
    if let Some((region, inner)) = region {
        let (start, mut items) = complete_template(project, path, &region, inner)?;
        items.sort();
        items.dedup_by(|one, other| one.label == other.label);
        return Some(Completion { range: region.in_file(start)..offset, items });
    }
    if let Some(found) = complete_prompt_name(project, before) {
        return Some(Completion { range: found.0..offset, items: found.1 });
    }
    let (start, items) = complete_keys(path, text, offset)?;
    (!items.is_empty()).then_some(Completion { range: start..offset, items })
}

/// The ids of prompts, behind a key whose value is one.
fn complete_prompt_name(project: &Project, before: &str) -> Option<(usize, Vec<CompletionItem>)> {
    let line = before.rsplit('\n').next()?;
    let (key, value) = line.split_once([':', '='])?;
    let key = key.trim_matches([' ', '\t', '"', '\'', '-', '{']);
    if !matches!(key, "extends" | "prompt_id") {
        return None;
    }
    let word = value.trim_start_matches([' ', '"', '\'']);
    let catalog = project.catalog.as_ref()?;
    // What the caller may not see is not listed.
    let ids: BTreeSet<String> = catalog.list().into_iter().map(|listing| listing.id.to_string()).collect();
    let items = ids.into_iter().map(|id| CompletionItem::new(id, CompletionKind::Prompt)).collect();
    Some((before.len() - word.len(), items))
}

type Found = (usize, Vec<CompletionItem>);

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn complete_template(project: &Project, path: &str, region: &Region, inner: usize) -> Option<Found> {
    let text = &*region.text;
    let before = text.get(..inner)?;
    let open = before.rfind("{{").max(before.rfind("{%"))?;
    let written = &before[open + 2..];
    let closer = if before[open..].starts_with("{%") { "%}" } else { "}}" };
    let quote = open_quote(written);
    if quote.is_none() && written.contains(closer) {
        return None;
    }
    let language = region.language;
    let is_block = closer == "%}" || language == Language::Go;
    let tag = written.trim_start_matches(['-', '+']).trim_start();
    let word = tag.split(|c: char| !is_word(c)).next().unwrap_or_default();
    if let Some(quote) = quote {
        let head = written[..quote].trim_end();
        let start = open + 2 + quote + 1;
        let items = match word {
            "include" | "extends" | "import" | "from" if is_block => template_items(project),
            "template" if language == Language::Go => template_items(project),
            "message" if is_block => role_items(),
            _ if head.ends_with("role(") || head.ends_with("role") => role_items(),
            // The key of a variable: `a["`.
            _ if head.ends_with('[') => {
                let at = open + 2 + head.len() - 1;
                let mut parents = parent_path(text, at, language);
                parents.retain(|name| !name.is_empty());
                return Some((start, member_items(project, path, region, inner, &parents)));
            }
            _ => return None,
        };
        return Some((start, items));
    }
    let partial = written.len() - written.trim_end_matches(is_word).len();
    let start = inner - partial;
    let head = written[..written.len() - partial].trim_end();
    let last_word = head.rsplit(|c: char| !is_word(c)).next().unwrap_or_default();
    let items = match language {
        _ if before[..start].ends_with('.') => {
            let parents = parent_path(text, start, language);
            member_items(project, path, region, inner, &parents)
        }
        Language::Jinja
            if head.ends_with('|') || (word == "filter" && is_block && head.trim().ends_with("filter")) =>
        {
            let value = &head[..head.len().saturating_sub(1)];
            filter_items(&value_shape(project, path, region, inner, value))
        }
        Language::Jinja if last_word == "is" || head.ends_with("is not") => {
            builtin_items(language, "test", CompletionKind::Test)
        }
        Language::Jinja if is_block && head.trim_start_matches(['-', '+']).is_empty() => {
            builtin_items(language, "tag", CompletionKind::Tag)
        }
        Language::Jinja if is_block && matches!(last_word, "block" | "endblock") => {
            block_items(project, path, region)
        }
        Language::Go if head.trim_start_matches('-').is_empty() => [
            builtin_items(language, "tag", CompletionKind::Tag),
            builtin_items(language, "function", CompletionKind::Function),
            tool_items(project),
        ]
        .concat(),
        Language::Go => {
            [builtin_items(language, "function", CompletionKind::Function), tool_items(project)].concat()
        }
        Language::Jinja => name_items(project, path, region, inner),
    };
    Some((start, items))
}

/// Where a string that is still open starts.
fn open_quote(inside: &str) -> Option<usize> {
    let mut open: Option<(usize, char)> = None;
    let mut is_escaped = false;
    for (at, c) in inside.char_indices() {
        match open {
            Some(_) if is_escaped => is_escaped = false,
            Some((_, quote)) if c == '\\' && quote != '`' => is_escaped = true,
            Some((_, quote)) if c == quote => open = None,
            None if matches!(c, '"' | '\'' | '`') => open = Some((at, c)),
            _ => {}
        }
    }
    open.map(|(at, _)| at)
}

fn role_items() -> Vec<CompletionItem> {
    ROLES.map(|role| CompletionItem::new(role, CompletionKind::Role)).to_vec()
}

fn template_items(project: &Project) -> Vec<CompletionItem> {
    let names = project.catalog.as_ref().map(hinagata_catalog::Catalog::template_names).unwrap_or_default();
    names.into_iter().map(|name| CompletionItem::new(name, CompletionKind::Template)).collect()
}

fn builtin_items(language: Language, kind: &str, shown: CompletionKind) -> Vec<CompletionItem> {
    let names = builtin_names(language).into_iter().filter(|(known, _)| *known == kind);
    names
        .map(|(kind, name)| {
            let text = builtin_text(kind, name).unwrap_or_default();
            CompletionItem::new(name, shown).with_detail(text)
        })
        .collect()
}

fn tool_items(project: &Project) -> Vec<CompletionItem> {
    let tools = project.tools.iter().map(|(name, tool)| {
        CompletionItem::new(name, CompletionKind::Tool)
            .with_detail(tool.description.clone().unwrap_or_default())
    });
    let structure = ["role", "media", "resource"].map(|name| {
        let text = builtin_text("function", name).unwrap_or_default();
        CompletionItem::new(name, CompletionKind::Function).with_detail(text)
    });
    tools.chain(structure).collect()
}

/// The names that an expression can start with.
fn name_items(project: &Project, path: &str, region: &Region, inner: usize) -> Vec<CompletionItem> {
    let fields = project.fields_of(path);
    let locals = bound_names(project, region, inner, &fields);
    let mut items: Vec<CompletionItem> = locals
        .iter()
        .map(|(name, local)| match &local.kind {
            LocalKind::Macro(parameters) => CompletionItem::new(name, CompletionKind::Macro)
                .with_detail(format!("{name}({})", parameters.join(", "))),
            LocalKind::Imported(..) => CompletionItem::new(name, CompletionKind::Macro),
            LocalKind::Import(_) | LocalKind::Variable => {
                CompletionItem::new(name, CompletionKind::Variable).with_detail(kinds_text(&local.shape))
            }
        })
        .collect();
    items.extend(
        variable_items(project, path, &fields).into_iter().filter(|item| !locals.contains_key(&item.label)),
    );
    items.extend(
        used_roots(project, region)
            .into_iter()
            .filter(|item| !locals.contains_key(&item.label) && !fields.known.contains_key(&item.label)),
    );
    items.extend(builtin_items(Language::Jinja, "function", CompletionKind::Function));
    items.extend(tool_items(project));
    items
}

/// The variables of the prompts that use a file, and undeclared ones that it reads elsewhere.
fn variable_items(project: &Project, path: &str, fields: &Fields) -> Vec<CompletionItem> {
    let mut items = Vec::new();
    let declared: Vec<_> =
        project.users_of(path).iter().take(8).filter_map(|source| project.variables_of(source)).collect();
    for (name, field) in &fields.known {
        let parameter = declared.iter().find_map(|(inherited, _)| inherited.parameters.get(name));
        let mut item =
            CompletionItem::new(name, CompletionKind::Variable).with_detail(kinds_text(&field.shape));
        if let Some(parameter) = parameter {
            let class = match parameter.class {
                ParameterClass::Required => "required",
                _ => "optional",
            };
            item = item.with_detail(format!("{} ({class})", kinds_text(&field.shape)));
            item.documentation = Some(parameter_text(parameter));
        }
        items.push(item);
    }
    items
}

fn bound_names(project: &Project, region: &Region, inner: usize, fields: &Fields) -> Locals {
    match project.read_region(region).parsed {
        Some(Parsed::Jinja(tree)) => jinja_locals(&tree, inner as u32, fields),
        _ => Locals::new(),
    }
}

/// The parts of the value at a path, in the scope of a place.
fn member_items(
    project: &Project,
    path: &str,
    region: &Region,
    inner: usize,
    parents: &[String],
) -> Vec<CompletionItem> {
    let fields = project.fields_of(path);
    if region.language == Language::Go {
        let GoScope { dot, is_root, locals } = go_scope(&region.text, inner, &fields);
        let shape = match parents.split_first() {
            None => dot,
            Some((name, rest)) if name.starts_with('$') => {
                let start = locals.get(name).map_or(Shape::ANY, |local| local.shape.clone());
                path_shape(start, rest.iter().map(String::as_str))
            }
            Some(_) => path_shape(dot, parents.iter().map(String::as_str)),
        };
        let mut items = field_items(project, path, &shape, parents.is_empty() && is_root);
        if parents.is_empty() && is_root {
            let known: BTreeSet<String> = items.iter().map(|item| item.label.clone()).collect();
            items.extend(used_roots(project, region).into_iter().filter(|item| !known.contains(&item.label)));
        }
        return items;
    }
    let Some((first, rest)) = parents.split_first() else { return Vec::new() };
    let locals = bound_names(project, region, inner, &fields);
    if let Some(local) = locals.get(first) {
        if let LocalKind::Import(template) = &local.kind {
            return macro_items(project, path, template.as_deref());
        }
        let shape = path_shape(local.shape.clone(), rest.iter().map(String::as_str));
        return field_items(project, path, &shape, false);
    }
    if *first == "tools" || rest.is_empty() {
        let prefix = format!("{}.", parents.join("."));
        let of_module = project.tools.iter().filter_map(|(name, tool)| {
            let rest = name.strip_prefix(&prefix)?;
            Some(
                CompletionItem::new(rest.split('.').next()?, CompletionKind::Tool)
                    .with_detail(tool.description.clone().unwrap_or_default()),
            )
        });
        let items: Vec<CompletionItem> = of_module.collect();
        if !items.is_empty() {
            return items;
        }
    }
    if matches!(first.as_str(), "system") && rest.is_empty() {
        return SYSTEM
            .iter()
            .map(|(name, text)| CompletionItem::new(*name, CompletionKind::Variable).with_detail(*text))
            .collect();
    }
    let shape = fields.known.get(first).map_or(Shape::ANY, |field| field.shape.clone());
    let shape = path_shape(shape, rest.iter().map(String::as_str));
    let mut items = field_items(project, path, &shape, false);
    if items.is_empty() {
        items = used_members(project, region, parents);
    }
    items
}

/// The facts that every prompt can read.
const SYSTEM: [(&str, &str); 10] = [
    ("agent_id", "the id of the calling agent"),
    ("agent_name", "its name"),
    ("date", "the date of the render"),
    ("datetime", "the date and time of the render"),
    ("language", "the language of the caller"),
    ("model", "the model that the text is for"),
    ("session_id", "the session of the caller"),
    ("time", "the time of the render"),
    ("timezone", "the time zone"),
    ("workspace_path", "the directory of the caller"),
];

/// The variables that the template reads elsewhere.
fn used_roots(project: &Project, region: &Region) -> Vec<CompletionItem> {
    let analysis = project.read_region(region).analysis;
    let roots: BTreeSet<String> = analysis
        .variables
        .iter()
        .filter(|used| !used.path.is_whole())
        .map(|used| used.path.root.to_string())
        .collect();
    roots.into_iter().map(|name| CompletionItem::new(name, CompletionKind::Variable)).collect()
}

/// The parts of a variable that the template reads elsewhere.
fn used_members(project: &Project, region: &Region, parents: &[String]) -> Vec<CompletionItem> {
    let prefix = format!("{}.", parents.join("."));
    let analysis = project.read_region(region).analysis;
    let names: BTreeSet<String> = analysis
        .variables
        .iter()
        .filter_map(|used| {
            let path = used.path.to_string();
            let name: String = path.strip_prefix(&prefix)?.chars().take_while(|c| is_word(*c)).collect();
            (!name.is_empty()).then_some(name)
        })
        .collect();
    names.into_iter().map(|name| CompletionItem::new(name, CompletionKind::Variable)).collect()
}

fn field_items(project: &Project, path: &str, shape: &Shape, is_root: bool) -> Vec<CompletionItem> {
    let Some(fields) = &shape.fields else { return Vec::new() };
    if is_root {
        return variable_items(project, path, fields);
    }
    fields
        .known
        .iter()
        .map(|(name, field)| {
            CompletionItem::new(name, CompletionKind::Variable).with_detail(kinds_text(&field.shape))
        })
        .collect()
}

/// The macros of another template.
fn macro_items(project: &Project, path: &str, template: Option<&str>) -> Vec<CompletionItem> {
    let file = template.and_then(|name| project.template_file(path, name));
    let Some((file, text)) = file.and_then(|file| Some((file.clone(), project.file_text(&file)?))) else {
        return Vec::new();
    };
    let regions = project.regions(&file, &text);
    let macros = regions.iter().flat_map(|region| project.read_region(region).analysis.macros);
    macros
        .map(|found| {
            let names: Vec<&str> = found.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            let detail = format!("{}({})", found.name, names.join(", "));
            CompletionItem::new(found.name, CompletionKind::Macro).with_detail(detail)
        })
        .collect()
}

/// The blocks of the parents of a template, and its own.
fn block_items(project: &Project, path: &str, region: &Region) -> Vec<CompletionItem> {
    let mut items = Vec::new();
    let mut analysis = project.read_region(region).analysis;
    let mut from = path.to_owned();
    for _ in 0..20 {
        items.extend(
            analysis.blocks.iter().map(|block| {
                CompletionItem::new(&*block.name, CompletionKind::Block).with_detail(from.clone())
            }),
        );
        let parent = analysis.templates.iter().find(|used| used.kind == TemplateUseKind::Extends);
        let Some(file) = parent.and_then(|used| project.template_file(&from, used.names.first()?)) else {
            break;
        };
        let Some(text) = project.file_text(&file) else { break };
        let Some(region) = project.regions(&file, &text).into_iter().next() else { break };
        analysis = project.read_region(&region).analysis;
        from = file;
    }
    items
}

/// What the expression that `written` ends with can be.
fn value_shape(project: &Project, path: &str, region: &Region, inner: usize, written: &str) -> Shape {
    let written = written.trim_end();
    if written.ends_with(['"', '\'']) {
        return Shape::of_kinds(Kinds::STRING);
    }
    let at = region.text[..inner].rfind(written).map_or(inner, |at| at + written.len());
    let parents = parent_path(&region.text, at, region.language);
    let Some((first, rest)) = parents.split_first() else { return Shape::ANY };
    if written.ends_with(')') {
        return Shape::ANY;
    }
    // The name of a filter before the last bar: what it returns is not followed.
    let before = written.trim_end_matches(|c: char| is_word(c) || c == '.').trim_end();
    if before.ends_with('|') {
        return Shape::ANY;
    }
    let fields = project.fields_of(path);
    let locals = bound_names(project, region, inner, &fields);
    let start = match locals.get(first) {
        Some(local) => local.shape.clone(),
        None => fields.known.get(first).map_or(Shape::ANY, |field| field.shape.clone()),
    };
    path_shape(start, rest.iter().map(String::as_str))
}

/// The filters that do not fail for every value of a shape: the engine itself is asked.
fn filter_items(shape: &Shape) -> Vec<CompletionItem> {
    let all = builtin_items(Language::Jinja, "filter", CompletionKind::Filter);
    if !has_samples(shape) {
        return all;
    }
    let probe = JinjaProbe::new(Default::default());
    let values: Vec<_> =
        samples(&shape.without(Kinds::UNDEFINED | Kinds::NULL)).into_iter().flatten().take(10).collect();
    if values.is_empty() {
        return all;
    }
    let takes = |item: &CompletionItem| {
        values.iter().any(|value| {
            let span = Span::default();
            let filter = FilterCall { name: item.label.as_str().into(), args: CallArgs::default(), span };
            let ops = vec![PostfixStep { op: PostfixOp::Filter(filter), span }];
            let base = placeholder(0, span);
            let expr = Expr { kind: ExprKind::Postfix(Box::new(Postfix { base, ops })), span };
            match probe.eval(expr, &json!({ placeholder_name(0): value })) {
                Outcome::Fails(error) => is_about_arguments(error.message()),
                Outcome::Result(_) | Outcome::Unknown => true,
            }
        })
    };
    all.into_iter().filter(takes).collect()
}
