//! Where names are defined and used, across files, packs and languages; and which of them can be renamed.

use std::{
    collections::{BTreeSet, VecDeque},
    ops::Range,
};

use hinagata_catalog::source::{Entry, RootKind};
use hinagata_document::LineColumn;
use hinagata_template::{Language, TemplateUseKind, highlight_source};
use hinagata_value::{HighlightKind, Limits};

use super::{Lines, Project, Region, Symbol, SymbolKind, find_symbol, symbol::locals_at};

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRange {
    /// The file, as a path from the workspace root.
    pub file: String,
    /// Its bytes.
    pub range: Range<usize>,
}

impl FileRange {
    fn new(file: &str, range: Range<usize>) -> Self {
        Self { file: file.to_owned(), range }
    }

    /// What places are sorted by.
    fn key(&self) -> (&str, usize, usize) {
        (&self.file, self.range.start, self.range.end)
    }
}

/// Why a name cannot be renamed, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameRefusal(pub String);

/// Everything that changes when a name is renamed.
#[derive(Clone, Debug)]
pub struct RenameScope {
    /// The symbol.
    pub symbol: Symbol,
    /// The places of its name, sorted.
    pub places: Vec<FileRange>,
}

/// Where the name at the byte `offset` of a file is defined.
#[must_use]
pub fn find_definition(project: &Project, path: &str, text: &str, offset: usize) -> Vec<FileRange> {
    let Some(symbol) = find_symbol(project, path, text, offset) else { return Vec::new() };
    let name = &*symbol.name;
    match &symbol.kind {
        SymbolKind::Variable | SymbolKind::Parameter => declarations(project, path, name),
        SymbolKind::Member(parents) => parents.first().map_or_else(Vec::new, |first| {
            let local = project.region_at(path, text, offset).and_then(|(region, inner)| {
                let range = locals_at(project, &region, inner).get(first)?.range;
                Some(FileRange::new(path, region.range_in_file(range.0 as usize..range.1 as usize)))
            });
            local.map_or_else(|| declarations(project, path, first), |place| vec![place])
        }),
        SymbolKind::Local(range) => vec![FileRange::new(path, range.clone())],
        SymbolKind::Macro(file) => macro_place(project, file, name).into_iter().collect(),
        SymbolKind::Import(file) => file.iter().map(|file| FileRange::new(file, 0..0)).collect(),
        SymbolKind::Block => block_places(project, path, name),
        SymbolKind::Template => {
            project.template_file(path, name).map(|file| FileRange::new(&file, 0..0)).into_iter().collect()
        }
        SymbolKind::Prompt => prompt_place(project, name).into_iter().collect(),
        SymbolKind::Filter | SymbolKind::Test | SymbolKind::Function | SymbolKind::Role | SymbolKind::Tag => {
            Vec::new()
        }
    }
}

/// The places where the name at the byte `offset` of a file stands, its definition among them.
#[must_use]
pub fn find_references(project: &Project, path: &str, text: &str, offset: usize) -> Vec<FileRange> {
    let Some(symbol) = find_symbol(project, path, text, offset) else { return Vec::new() };
    symbol_places(project, path, text, offset, &symbol)
}

fn symbol_places(
    project: &Project,
    path: &str,
    text: &str,
    offset: usize,
    symbol: &Symbol,
) -> Vec<FileRange> {
    let name = &*symbol.name;
    let mut places = match &symbol.kind {
        SymbolKind::Variable | SymbolKind::Parameter => variable_places(project, path, name).1,
        SymbolKind::Local(range) => local_places(project, path, text, offset, name, range),
        SymbolKind::Macro(file) => macro_places(project, file, name),
        SymbolKind::Block => block_family(project, path, name),
        SymbolKind::Template => {
            project.template_file(path, name).map_or_else(Vec::new, |file| include_places(project, &file))
        }
        SymbolKind::Prompt => prompt_places(project, name),
        SymbolKind::Filter | SymbolKind::Test | SymbolKind::Function => {
            used_places(project, name, &symbol.kind)
        }
        SymbolKind::Member(_) | SymbolKind::Import(_) | SymbolKind::Role | SymbolKind::Tag => {
            vec![FileRange::new(path, symbol.range.clone())]
        }
    };
    places.sort_by(|one, other| one.key().cmp(&other.key()));
    places.dedup();
    places
}

/// The files with a text in which `name` stands, and the text.
fn files_with(project: &Project, name: &str) -> Vec<(String, std::sync::Arc<str>)> {
    let files = project.template_files().into_iter();
    files
        .filter_map(|file| {
            let text = project.file_text(&file)?;
            text.contains(name).then_some((file, text))
        })
        .collect()
}

/// The declarations of a parameter in the prompts that use a file, and in their parents.
fn declarations(project: &Project, path: &str, name: &str) -> Vec<FileRange> {
    let mut places = Vec::new();
    for source in project.users_of(path) {
        let Some((inherited, _)) = project.variables_of(&source) else { continue };
        let Some(place) = inherited.parameters.get(name).and_then(|parameter| parameter.place.clone()) else {
            continue;
        };
        if let Some(text) = project.file_text(&place.file) {
            let at = LineColumn { line: place.line, column: place.column };
            let range = declared_name(&text, at, name);
            places.push(FileRange::new(&place.file, range));
        }
    }
    places.sort_by(|one, other| one.key().cmp(&other.key()));
    places.dedup();
    places
}

/// The bytes of a name that is declared near a place.
fn declared_name(text: &str, at: LineColumn, name: &str) -> Range<usize> {
    let lines = Lines::new(text);
    let offset = lines.offset_of(at, text);
    let line = lines.line_at(offset);
    // The place may be that of the value, or of the object that declares it.
    let near = [line, line.saturating_sub(1), line + 1, line + 2];
    let found = near.into_iter().find_map(|line| {
        let range = lines.line_range(line, text);
        let word = word_places(&text[range.clone()], name).into_iter().next()?;
        Some(range.start + word..range.start + word + name.len())
    });
    found.unwrap_or(offset..offset)
}

/// The bytes at which a word stands in a text.
fn word_places(text: &str, name: &str) -> Vec<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: &usize| {
        let before = text[..*at].chars().next_back();
        let behind = text[*at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    };
    text.match_indices(name).map(|(at, _)| at).filter(is_whole).collect()
}

/// The prompts that share a variable with the users of a file through templates that they use together, and the places where
/// the variable stands in all of them.
fn variable_places(project: &Project, path: &str, name: &str) -> (BTreeSet<String>, Vec<FileRange>) {
    let mut prompts: BTreeSet<String> = BTreeSet::new();
    let mut files: BTreeSet<String> = BTreeSet::new();
    let mut places = Vec::new();
    let mut waiting: VecDeque<String> = project.users_of(path).into_iter().collect();
    // A file of no prompt.
    if waiting.is_empty() {
        places.extend(places_in_file(project, path, name));
    }
    while let Some(source) = waiting.pop_front() {
        if !prompts.insert(source.clone()) {
            continue;
        }
        for file in files_of(project, &source) {
            if !files.insert(file.clone()) {
                continue;
            }
            let found = places_in_file(project, &file, name);
            if !found.is_empty() {
                waiting.extend(project.users_of(&file));
            }
            places.extend(found);
        }
    }
    (prompts, places)
}

/// The files that a prompt uses, its own and those of its parents among them.
fn files_of(project: &Project, source: &str) -> Vec<String> {
    let known = project.users.read().ok();
    let mut files: BTreeSet<String> = known
        .map(|known| {
            known.iter().filter(|(_, users)| users.contains(source)).map(|(file, _)| file.clone()).collect()
        })
        .unwrap_or_default();
    if let Some((inherited, _)) = project.variables_of(source) {
        let chain = std::iter::once(&inherited.definition).chain(&inherited.parents);
        files.extend(chain.flat_map(|definition| definition.files.iter().map(|read| read.file.clone())));
    }
    files.into_iter().collect()
}

/// Where a variable from outside stands in a file: in its templates and its declarations.
fn places_in_file(project: &Project, file: &str, name: &str) -> Vec<FileRange> {
    let Some(text) = project.file_text(file) else { return Vec::new() };
    if !text.contains(name) {
        return Vec::new();
    }
    let regions = project.regions(file, &text);
    let mut places = Vec::new();
    for region in &regions {
        for range in variable_uses(project, region, name) {
            places.push(FileRange::new(file, region.range_in_file(range)));
        }
    }
    places
        .extend(declared_places(&text, &regions, name).into_iter().map(|range| FileRange::new(file, range)));
    places
}

/// The bytes of a template where it reads the variable `name` from outside.
fn variable_uses(project: &Project, region: &Region, name: &str) -> Vec<Range<usize>> {
    let read = project.read_region(region);
    let mut found: Vec<Range<usize>> = read
        .analysis
        .variables
        .iter()
        .filter(|used| used.path.root.as_ref() == name)
        .filter_map(|used| {
            let (start, end) = (used.position.start as usize, used.position.end as usize);
            let within = region.text.get(start..end.min(region.text.len()))?;
            let at = start + word_places(within, name).into_iter().next()?;
            Some(at..at + name.len())
        })
        .collect();
    found.sort_by_key(|range| range.start);
    found.dedup();
    found
}

/// The bytes outside of templates where a parameter is declared or named: as a key, as the value of `name`, in a list of
/// required names.
fn declared_places(text: &str, regions: &[Region], name: &str) -> Vec<Range<usize>> {
    let is_in_template = |at: usize| regions.iter().any(|region| region.offset_at(at).is_some());
    let mut places = Vec::new();
    for at in word_places(text, name) {
        if is_in_template(at) {
            continue;
        }
        let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = text[line_start..at].trim_end_matches(['"', '\'']).trim_end();
        let behind = text[at + name.len()..].trim_start_matches(['"', '\'']).trim_start_matches(' ');
        let is_key = behind.starts_with(':') && (before.is_empty() || before.ends_with(['{', ',', '-']));
        let key = before.strip_suffix(':').map(|key| key.trim_end().trim_matches(['"', '\'', ' ', '-', '{']));
        let key = key.and_then(|key| key.rsplit([' ', '"', '\'', '{', ',']).next());
        let ends = behind.is_empty() || behind.starts_with(['\n', '\r', ',', '}', '#', ']']);
        let is_named = matches!(key, Some("name" | "history" | "by" | "parameter")) && ends;
        let heading = before.split([':', '[']).next().unwrap_or_default().trim_matches(['"', '\'', ' ', '-']);
        let is_listed = heading == "required" && before.contains('[') && ends;
        let is_item = before == "-" && ends && is_under_required(&text[..line_start]);
        if is_key || is_named || is_listed || is_item {
            places.push(at..at + name.len());
        }
    }
    places
}

/// Whether the items of a list that follows are names of required parameters.
fn is_under_required(before: &str) -> bool {
    let heading = before.lines().rev().find(|line| !line.trim_start().starts_with('-'));
    heading.is_some_and(|line| line.trim().trim_matches('"').starts_with("required"))
}

fn local_places(
    project: &Project,
    path: &str,
    text: &str,
    offset: usize,
    name: &str,
    defined: &Range<usize>,
) -> Vec<FileRange> {
    let Some((region, _)) = project.region_at(path, text, offset) else { return Vec::new() };
    let options = project.template_options();
    let tokens = highlight_source(region.language, &region.text, &options, &Limits::default());
    let is_name = |kind: HighlightKind| matches!(kind, HighlightKind::Variable | HighlightKind::Function);
    tokens
        .iter()
        .filter(|token| is_name(token.kind) && &region.text[token.start..token.end] == name)
        .filter(|token| {
            let range = region.range_in_file(token.start..token.end);
            let symbol = find_symbol(project, path, text, range.start);
            range == *defined
                || symbol.is_some_and(
                    |symbol| matches!(&symbol.kind, SymbolKind::Local(other) if other == defined),
                )
        })
        .map(|token| FileRange::new(path, region.range_in_file(token.start..token.end)))
        .collect()
}

/// Where a file defines a macro.
fn macro_place(project: &Project, file: &str, name: &str) -> Option<FileRange> {
    let text = project.file_text(file)?;
    project.regions(file, &text).iter().find_map(|region| {
        let analysis = project.read_region(region).analysis;
        let found = analysis.macros.iter().find(|found| found.name == name)?;
        let start = found.position.start as usize;
        let at = start + word_places(region.text.get(start..)?, name).into_iter().next()?;
        Some(FileRange::new(file, region.range_in_file(at..at + name.len())))
    })
}

/// Where a macro is defined, imported and called.
fn macro_places(project: &Project, file: &str, name: &str) -> Vec<FileRange> {
    let mut places: Vec<FileRange> = macro_place(project, file, name).into_iter().collect();
    for (other, text) in files_with(project, name) {
        for region in project.regions(&other, &text) {
            for at in word_places(&region.text, name) {
                let range = region.range_in_file(at..at + name.len());
                let symbol = find_symbol(project, &other, &text, range.start);
                if symbol
                    .is_some_and(|symbol| matches!(&symbol.kind, SymbolKind::Macro(found) if found == file))
                {
                    places.push(FileRange::new(&other, range));
                }
            }
        }
    }
    places
}

/// Where blocks of this name are in a template and in its parents.
fn block_places(project: &Project, path: &str, name: &str) -> Vec<FileRange> {
    let mut places = Vec::new();
    for file in parent_chain(project, path) {
        places.extend(blocks_in(project, &file, name));
    }
    // The parent's block is the definition; without one, the template's own is.
    if places.len() > 1 && places[0].file == path {
        places.remove(0);
    }
    places.truncate(1);
    places
}

fn blocks_in(project: &Project, file: &str, name: &str) -> Vec<FileRange> {
    let Some(text) = project.file_text(file) else { return Vec::new() };
    let mut places = Vec::new();
    for region in project.regions(file, &text) {
        for at in word_places(&region.text, name) {
            let range = region.range_in_file(at..at + name.len());
            let symbol = find_symbol(project, file, &text, range.start);
            if symbol.is_some_and(|symbol| symbol.kind == SymbolKind::Block) {
                places.push(FileRange::new(file, range));
            }
        }
    }
    places
}

/// A template and the templates that it extends, nearest first.
fn parent_chain(project: &Project, path: &str) -> Vec<String> {
    let mut chain = vec![path.to_owned()];
    while let Some(parent) = chain.last().and_then(|file| parent_of(project, file)) {
        if chain.contains(&parent) {
            break;
        }
        chain.push(parent);
    }
    chain
}

fn parent_of(project: &Project, file: &str) -> Option<String> {
    let text = project.file_text(file)?;
    project.regions(file, &text).iter().find_map(|region| {
        let analysis = project.read_region(region).analysis;
        let used = analysis.templates.iter().find(|used| used.kind == TemplateUseKind::Extends)?;
        project.template_file(file, used.names.first()?)
    })
}

/// The blocks of this name in all templates that share a parent with a file.
fn block_family(project: &Project, path: &str, name: &str) -> Vec<FileRange> {
    let top = parent_chain(project, path).pop();
    files_with(project, name)
        .into_iter()
        .filter(|(file, _)| parent_chain(project, file).pop() == top)
        .flat_map(|(file, _)| blocks_in(project, &file, name))
        .collect()
}

/// The places that include, extend or import a file.
fn include_places(project: &Project, file: &str) -> Vec<FileRange> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let mut places = Vec::new();
    for (from, text) in files_with(project, name) {
        for link in super::template_links(project, &from, &text) {
            if link.file == file {
                places.push(FileRange::new(&from, link.range));
            }
        }
    }
    places
}

fn prompt_entry(project: &Project, name: &str) -> Option<std::sync::Arc<Entry>> {
    project.catalog.as_ref()?.choose(name).ok().map(|choice| choice.entry)
}

/// The file that defines a prompt.
fn prompt_place(project: &Project, name: &str) -> Option<FileRange> {
    let definition = prompt_entry(project, name)?.definition().ok()?;
    Some(FileRange::new(&definition.files.first()?.file, 0..0))
}

fn prompt_places(project: &Project, name: &str) -> Vec<FileRange> {
    let (Some(catalog), Some(entry)) = (&project.catalog, prompt_entry(project, name)) else {
        return Vec::new();
    };
    let found = catalog.prompt_references(&entry);
    found
        .into_iter()
        .filter(|reference| reference.line > 0)
        .filter_map(|reference| {
            let text = project.file_text(&reference.file)?;
            let at = LineColumn { line: reference.line as u32, column: reference.column as u32 };
            let start = Lines::new(&text).offset_of(at, &text);
            let rest = text.get(start..)?;
            let length = if rest.starts_with(name) { name.len() } else { entry.name().len().min(rest.len()) };
            Some(FileRange::new(&reference.file, start..start + length))
        })
        .collect()
}

/// The uses of a filter, a test, a function or a tool in all templates.
fn used_places(project: &Project, name: &str, kind: &SymbolKind) -> Vec<FileRange> {
    let mut places = Vec::new();
    for (file, text) in files_with(project, name) {
        for region in project.regions(&file, &text) {
            let analysis = project.read_region(&region).analysis;
            let used = match kind {
                SymbolKind::Filter => &analysis.filters,
                SymbolKind::Test => &analysis.tests,
                _ => &analysis.functions,
            };
            for used in
                used.iter().filter(|used| used.name == name || used.name.ends_with(&format!(".{name}")))
            {
                let start = used.position.start as usize;
                let within = region.text.get(start..).unwrap_or_default();
                if let Some(at) = word_places(within, name).first() {
                    places.push(FileRange::new(
                        &file,
                        region.range_in_file(start + at..start + at + name.len()),
                    ));
                }
            }
        }
    }
    places
}

/// Everything that changes when the name at the byte `offset` of a file is renamed.
///
/// # Errors
/// The name cannot be renamed: a place is computed, in the store, in a pack or built in.
pub fn rename_scope(
    project: &Project,
    path: &str,
    text: &str,
    offset: usize,
) -> Result<RenameScope, RenameRefusal> {
    let refuse = |text: String| Err(RenameRefusal(text));
    let Some(symbol) = find_symbol(project, path, text, offset) else {
        return refuse("there is no name to rename here".to_owned());
    };
    let name = &*symbol.name;
    match &symbol.kind {
        SymbolKind::Variable | SymbolKind::Parameter => {
            let (prompts, _) = variable_places(project, path, name);
            for source in &prompts {
                check_variable(project, source, name)?;
            }
        }
        SymbolKind::Local(_) | SymbolKind::Macro(_) | SymbolKind::Block => {}
        SymbolKind::Member(_) => {
            return refuse("fields of values are named by the data, not by templates".to_owned());
        }
        SymbolKind::Prompt => {
            return refuse("a prompt has the name of its directory: rename that".to_owned());
        }
        SymbolKind::Template => return refuse("a template has the name of its file: rename that".to_owned()),
        _ => return refuse(format!("`{name}` belongs to the language and cannot be renamed")),
    }
    let places = symbol_places(project, path, text, offset, &symbol);
    for place in &places {
        check_own(project, &place.file)?;
    }
    Ok(RenameScope { symbol, places })
}

/// Checks that a file can be changed: those of packs were approved as they are, built-in ones are compiled in.
fn check_own(project: &Project, file: &str) -> Result<(), RenameRefusal> {
    match project.root_of_file(file) {
        Some(RootKind::Pack(pack)) => Err(RenameRefusal(format!(
            "`{file}` belongs to the pack `{pack}`, whose files count as they were approved"
        ))),
        Some(RootKind::Builtin) => Err(RenameRefusal(format!("`{file}` is built in"))),
        Some(RootKind::Store) => Err(RenameRefusal(format!("`{file}` is a document of the store"))),
        Some(RootKind::Foreign(_) | RootKind::Named) => {
            Err(RenameRefusal(format!("`{file}` is in the format of another program")))
        }
        Some(RootKind::Library(_)) => Err(RenameRefusal(format!("`{file}` belongs to a library"))),
        Some(RootKind::Shared | RootKind::Path(_)) | None => Ok(()),
    }
}

/// Checks that every use of a variable of a prompt is known.
fn check_variable(project: &Project, source: &str, name: &str) -> Result<(), RenameRefusal> {
    let refuse = |text: String| Err(RenameRefusal(text));
    if source.starts_with("store:") {
        return refuse(format!("`{source}` in the store reads `{name}`"));
    }
    let Some((inherited, _)) = project.variables_of(source) else { return Ok(()) };
    let chain = std::iter::once(&inherited.definition).chain(&inherited.parents);
    for definition in chain {
        if definition.hooks.has_any() || !definition.hooks.needs_loading.is_empty() {
            return refuse(format!(
                "`{}` has Python hooks, which read variables by computed names",
                definition.source
            ));
        }
    }
    for file in files_of(project, source) {
        let Some(text) = project.file_text(&file) else { continue };
        let regions = project.regions(&file, &text);
        for region in &regions {
            let analysis = project.read_region(region).analysis;
            let line = |start: u32| Lines::new(&text).line_at(region.in_file(start as usize)) + 1;
            let whole = analysis.variables.iter().find(|used| {
                let root = used.path.root.as_ref();
                (used.path.is_whole() && !is_passed_on(region, used.position.start as usize))
                    || matches!(root, "variables" | "args")
            });
            if let Some(used) = whole {
                let line = line(used.position.start);
                return refuse(format!("`{file}` reads all variables as one value in line {line}"));
            }
            if let Some(used) = analysis.templates.iter().find(|used| used.dynamic) {
                let line = line(used.position.start);
                return refuse(format!("`{file}` uses a template whose name is computed in line {line}"));
            }
        }
        if !variable_uses_in(project, &regions, name) && declared_places(&text, &regions, name).is_empty() {
            continue;
        }
        check_own(project, &file)?;
    }
    Ok(())
}

/// Whether the dot of a Go template is only handed to another template.
fn is_passed_on(region: &Region, start: usize) -> bool {
    let before = region.text[..start.min(region.text.len())].rsplit("{{").next().unwrap_or_default();
    region.language == Language::Go && before.trim_start_matches('-').trim_start().starts_with("template")
}

fn variable_uses_in(project: &Project, regions: &[Region], name: &str) -> bool {
    regions.iter().any(|region| !variable_uses(project, region, name).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::symbol::parent_path;

    #[test]
    fn the_names_before_a_member_are_found() {
        assert_eq!(parent_path("{{ a.b[0].c.", 12, Language::Jinja), ["a", "b", "*", "c"]);
        assert_eq!(parent_path("{{ a['x'].", 10, Language::Jinja), ["a", "x"]);
    }

    #[test]
    fn declarations_of_a_name_are_told_from_prose() {
        let text =
            "description: topic\nparameters:\n  topic: string\n  - name: topic\nrequired: [topic, x]\n";
        let found: Vec<usize> =
            declared_places(text, &[], "topic").into_iter().map(|range| range.start).collect();
        let lines: Vec<usize> = found.iter().map(|at| text[..*at].matches('\n').count()).collect();
        assert_eq!(lines, [2, 3, 4]);
    }
}
