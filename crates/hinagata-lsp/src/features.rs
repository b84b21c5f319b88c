//! Answers to questions about a document, from one snapshot.

use std::{collections::BTreeMap, ops};

use hinagata_check::{
    editor::{
        CompletionKind, OutlineItem, OutlineKind, call_signature, complete_source, describe_symbol,
        find_definition, find_references, fold_ranges, outline_source, rename_scope, template_links,
        type_hints,
    },
    format_file,
};
use hinagata_template::highlight_source;
use hinagata_value::{HighlightKind, Limits};
use lsp_server::ResponseError;
use serde_json::{Value, json};

use crate::{
    actions,
    documents::Document,
    position::TextLines,
    protocol::{
        Position, PositionParams, Range, RangeParams, ReferenceParams, RenameParams, invalid_params,
        read_params, request_failed, unknown_method,
    },
    snapshot::Snapshot,
    values::describe_values,
};

/// The methods that ask about one document.
pub(crate) const METHODS: [&str; 16] = [
    "textDocument/codeAction",
    "textDocument/completion",
    "textDocument/definition",
    "textDocument/documentHighlight",
    "textDocument/documentLink",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/formatting",
    "textDocument/hover",
    "textDocument/inlayHint",
    "textDocument/prepareRename",
    "textDocument/references",
    "textDocument/rename",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/range",
    "textDocument/signatureHelp",
];

/// The types of semantic tokens; their numbers are sent.
pub(crate) const TOKEN_TYPES: [&str; 11] = [
    "macro",
    "keyword",
    "variable",
    "property",
    "function",
    "method",
    "string",
    "number",
    "operator",
    "comment",
    "enumMember",
];

/// The most items of a completion and of a list of symbols.
const MOST: usize = 2_000;

/// Answers the request `method` about a document.
pub(crate) fn answer_request(
    snapshot: &Snapshot,
    document: &Document,
    method: &str,
    params: Value,
) -> Result<Value, ResponseError> {
    let offset = |position: Position| snapshot.offset(position, document);
    match method {
        "textDocument/codeAction" => {
            let params: RangeParams = read_params(params)?;
            let range = offset(params.range.start)..offset(params.range.end);
            Ok(actions::code_actions(snapshot, document, range))
        }
        "textDocument/completion" => Ok(complete_at(snapshot, document, &read_params(params)?)),
        "textDocument/definition" => {
            let params: PositionParams = read_params(params)?;
            let text = &document.text;
            let found = find_definition(&snapshot.project, &snapshot.path, text, offset(params.position));
            Ok(found.iter().map(|place| snapshot.location(place, document)).collect())
        }
        "textDocument/documentHighlight" => {
            let params: PositionParams = read_params(params)?;
            let found =
                find_references(&snapshot.project, &snapshot.path, &document.text, offset(params.position));
            let here = found.into_iter().filter(|place| place.file == snapshot.path);
            Ok(here.map(|place| json!({"range": snapshot.range(place.range, document)})).collect())
        }
        "textDocument/documentLink" => {
            let links = template_links(&snapshot.project, &snapshot.path, &document.text);
            let link = |link: hinagata_check::editor::TemplateLink| json!({"range": snapshot.range(link.range, document), "target": snapshot.uri_of(&link.file)});
            Ok(links.into_iter().map(link).collect())
        }
        "textDocument/documentSymbol" => {
            let items = outline_source(&snapshot.project, &snapshot.path, &document.text);
            Ok(items.iter().map(|item| document_symbol(snapshot, document, item)).collect())
        }
        "textDocument/foldingRange" => {
            let folds = fold_ranges(&snapshot.project, &snapshot.path, &document.text);
            let fold = |fold: hinagata_check::editor::Fold| {
                let kind = if fold.is_comment { "comment" } else { "region" };
                json!({"startLine": fold.start, "endLine": fold.end, "kind": kind})
            };
            Ok(folds.into_iter().map(fold).collect())
        }
        "textDocument/formatting" => format_document(snapshot, document),
        "textDocument/hover" => {
            let params: PositionParams = read_params(params)?;
            let at = offset(params.position);
            let found = describe_symbol(&snapshot.project, &snapshot.path, &document.text, at);
            Ok(found.map_or(Value::Null, |hover| {
                let (project, previews) = (&snapshot.project, &snapshot.previews);
                let values = describe_values(project, previews, (&snapshot.path, &document.text), at);
                let text = values.into_iter().fold(hover.text, |text, values| format!("{text}\n\n{values}"));
                json!({
                    "contents": {"kind": "markdown", "value": text},
                    "range": snapshot.range(hover.range, document),
                })
            }))
        }
        "textDocument/inlayHint" => {
            let params: RangeParams = read_params(params)?;
            let within = offset(params.range.start)..=offset(params.range.end);
            let hints = type_hints(&snapshot.project, &snapshot.path, &document.text);
            let hint = |hint: hinagata_check::editor::TypeHint| {
                let position = snapshot.range(hint.offset..hint.offset, document).start;
                json!({"position": position, "label": format!(": {}", hint.text), "kind": 1})
            };
            Ok(hints.into_iter().filter(|hint| within.contains(&hint.offset)).map(hint).collect())
        }
        "textDocument/prepareRename" => {
            let params: PositionParams = read_params(params)?;
            let scope =
                rename_scope(&snapshot.project, &snapshot.path, &document.text, offset(params.position));
            let scope = scope.map_err(|refusal| request_failed(refusal.0))?;
            let range = snapshot.range(scope.symbol.range, document);
            Ok(json!({"range": range, "placeholder": scope.symbol.name}))
        }
        "textDocument/references" => {
            let params: ReferenceParams = read_params(params)?;
            let at = offset(params.position);
            let mut found = find_references(&snapshot.project, &snapshot.path, &document.text, at);
            if !params.context.include_declaration {
                let defined = find_definition(&snapshot.project, &snapshot.path, &document.text, at);
                found.retain(|place| !defined.contains(place));
            }
            Ok(found.iter().map(|place| snapshot.location(place, document)).collect())
        }
        "textDocument/rename" => rename_symbol(snapshot, document, &read_params(params)?),
        "textDocument/semanticTokens/full" => Ok(semantic_tokens(snapshot, document, 0..document.text.len())),
        "textDocument/semanticTokens/range" => {
            let params: RangeParams = read_params(params)?;
            Ok(semantic_tokens(snapshot, document, offset(params.range.start)..offset(params.range.end)))
        }
        "textDocument/signatureHelp" => {
            let params: PositionParams = read_params(params)?;
            let found =
                call_signature(&snapshot.project, &snapshot.path, &document.text, offset(params.position));
            Ok(found.map_or(Value::Null, |help| {
                let parameters: Value = help.parameters.iter().map(|label| json!({"label": label})).collect();
                let active = help.active.min(help.parameters.len().saturating_sub(1));
                let mut signature = json!({"label": help.label, "parameters": parameters});
                if let Some(text) = help.documentation {
                    signature["documentation"] = json!({"kind": "markdown", "value": text});
                }
                json!({"signatures": [signature], "activeSignature": 0, "activeParameter": active})
            }))
        }
        _ => Err(unknown_method(method, &METHODS)),
    }
}

fn complete_at(snapshot: &Snapshot, document: &Document, params: &PositionParams) -> Value {
    let offset = snapshot.offset(params.position, document);
    let Some(found) = complete_source(&snapshot.project, &snapshot.path, &document.text, offset) else {
        return json!({"isIncomplete": false, "items": []});
    };
    let range = snapshot.range(found.range, document);
    let items: Vec<Value> = found
        .items
        .iter()
        .take(MOST)
        .map(|item| {
            let mut shown = json!({
                "label": item.label,
                "kind": completion_kind(item.kind),
                "sortText": format!("{}{}", sort_rank(item.kind), item.label),
                "textEdit": {"range": range, "newText": item.label},
            });
            if let Some(detail) = &item.detail {
                shown["detail"] = detail.as_str().into();
            }
            if let Some(text) = &item.documentation {
                shown["documentation"] = json!({"kind": "markdown", "value": text});
            }
            shown
        })
        .collect();
    json!({"isIncomplete": found.items.len() > MOST, "items": items})
}

/// The number of a kind in the protocol.
fn completion_kind(kind: CompletionKind) -> u32 {
    match kind {
        CompletionKind::Variable => 6,
        CompletionKind::Filter | CompletionKind::Test => 2,
        CompletionKind::Function | CompletionKind::Tool | CompletionKind::Macro => 3,
        CompletionKind::Tag => 14,
        CompletionKind::Template => 17,
        CompletionKind::Block => 22,
        CompletionKind::Role => 20,
        CompletionKind::Key => 10,
        CompletionKind::Prompt => 18,
    }
}

/// Variables stand before what every template has.
fn sort_rank(kind: CompletionKind) -> u32 {
    match kind {
        CompletionKind::Variable | CompletionKind::Macro => 0,
        CompletionKind::Tool => 1,
        _ => 2,
    }
}

fn document_symbol(snapshot: &Snapshot, document: &Document, item: &OutlineItem) -> Value {
    let mut symbol = json!({
        "name": item.name,
        "kind": symbol_kind(item.kind),
        "range": snapshot.range(item.range.clone(), document),
        "selectionRange": snapshot.range(item.name_range.clone(), document),
    });
    if let Some(detail) = &item.detail {
        symbol["detail"] = detail.as_str().into();
    }
    symbol
}

fn symbol_kind(kind: OutlineKind) -> u32 {
    match kind {
        OutlineKind::Parameter => 13,
        OutlineKind::Macro => 12,
        OutlineKind::Block => 3,
        OutlineKind::Message => 24,
    }
}

/// The prompts, macros and blocks of workspaces whose names contain `query`.
pub(crate) fn workspace_symbols(snapshots: &[Snapshot], query: &str) -> Value {
    let wanted = query.to_lowercase();
    let mut all: Vec<Value> = Vec::new();
    for snapshot in snapshots {
        let Some(catalog) = &snapshot.project.catalog else { continue };
        let prompts = catalog.roots().iter().flat_map(hinagata::source::Index::iter);
        for entry in prompts.filter(|entry| entry.id().as_str().contains(&wanted)) {
            let definition = entry.definition().ok();
            let Some(file) = definition.as_ref().and_then(|definition| definition.files.first()) else {
                continue;
            };
            all.push(json!({
                "name": entry.id().as_str(),
                "kind": 5,
                "containerName": entry.source(),
                "location": {"uri": snapshot.uri_of(&file.file), "range": Range::default()},
            }));
            if all.len() >= MOST {
                return all.into();
            }
        }
        // Without a word to look for, the files would all have to be read.
        if wanted.len() < 2 {
            continue;
        }
        for file in snapshot.project.template_files() {
            let Some(text) = snapshot.project.file_text(&file) else { continue };
            if !text.to_lowercase().contains(&wanted) {
                continue;
            }
            let lines = TextLines::new(&text);
            for item in outline_source(&snapshot.project, &file, &text) {
                if !item.name.to_lowercase().contains(&wanted) || item.kind == OutlineKind::Message {
                    continue;
                }
                let range = lines.range_at(item.name_range, &text, snapshot.encoding);
                all.push(json!({
                    "name": item.name,
                    "kind": symbol_kind(item.kind),
                    "containerName": file,
                    "location": {"uri": snapshot.uri_of(&file), "range": range},
                }));
                if all.len() >= MOST {
                    return all.into();
                }
            }
        }
    }
    all.into()
}

fn rename_symbol(
    snapshot: &Snapshot,
    document: &Document,
    params: &RenameParams,
) -> Result<Value, ResponseError> {
    let new = &*params.new_name;
    let mut letters = new.chars();
    let starts = letters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    if !starts || !letters.all(|c| c.is_alphanumeric() || c == '_') {
        return Err(invalid_params(format!(
            "`{new}` is not a name: letters, digits and `_`, no digit first"
        )));
    }
    let offset = snapshot.offset(params.position, document);
    let scope = rename_scope(&snapshot.project, &snapshot.path, &document.text, offset);
    let scope = scope.map_err(|refusal| request_failed(refusal.0))?;
    let is_taken = match scope.symbol.kind {
        hinagata_check::editor::SymbolKind::Variable | hinagata_check::editor::SymbolKind::Parameter => {
            snapshot.project.fields_of(&snapshot.path).known.contains_key(new)
        }
        _ => false,
    };
    if is_taken && new != scope.symbol.name {
        return Err(request_failed(format!("`{new}` is declared already")));
    }
    let mut changes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for place in &scope.places {
        let range = snapshot.range_in(&place.file, place.range.clone(), document);
        changes
            .entry(snapshot.uri_of(&place.file))
            .or_default()
            .push(json!({"range": range, "newText": new}));
    }
    Ok(json!({"changes": changes}))
}

/// The change that formats the tags of a template file; none for other files, in which strings hold templates.
fn format_document(snapshot: &Snapshot, document: &Document) -> Result<Value, ResponseError> {
    let text = &*document.text;
    let regions = snapshot.project.regions(&snapshot.path, text);
    let [region] = regions.as_slice() else { return Ok(json!([])) };
    if !text.ends_with(&*region.text) || region.in_file(0) + region.text.len() != text.len() {
        return Ok(json!([]));
    }
    let formatted =
        format_file(&snapshot.path, text).map_err(|error| request_failed(error.message().to_owned()))?;
    if formatted == text {
        return Ok(json!([]));
    }
    // What is equal at both ends stays, so that marks and cursors of the editor do.
    let same = |one: &mut dyn Iterator<Item = char>, other: &mut dyn Iterator<Item = char>| {
        one.zip(other).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>()
    };
    let start = same(&mut text.chars(), &mut formatted.chars());
    let end = same(&mut text[start..].chars().rev(), &mut formatted[start..].chars().rev());
    let range = snapshot.range(start..text.len() - end, document);
    Ok(json!([{"range": range, "newText": &formatted[start..formatted.len() - end]}]))
}

/// The tokens of the templates of a document, as differences of lines, columns, lengths and types.
fn semantic_tokens(snapshot: &Snapshot, document: &Document, within: ops::Range<usize>) -> Value {
    let options = snapshot.project.template_options();
    let mut pieces: Vec<(ops::Range<usize>, u32)> = Vec::new();
    for region in snapshot.project.regions(&snapshot.path, &document.text) {
        for token in highlight_source(region.language, &region.text, &options, &Limits::default()) {
            let range = region.range_in_file(token.start..token.end);
            if range.start < within.end && range.end > within.start && range.start < range.end {
                pieces.push((range, token_type(token.kind)));
            }
        }
    }
    pieces.sort_by_key(|(range, _)| (range.start, range.end));
    let mut data: Vec<u32> = Vec::new();
    let mut last = Position::default();
    let mut covered = 0;
    for (range, kind) in pieces {
        let range = range.start.max(covered)..range.end;
        if range.is_empty() {
            continue;
        }
        covered = range.end;
        for (start, end) in line_parts(&document.text, range) {
            let place = snapshot.range(start..end, document);
            let column = match place.start.line == last.line {
                true => place.start.character - last.character,
                false => place.start.character,
            };
            let length = place.end.character.saturating_sub(place.start.character);
            data.extend([place.start.line - last.line, column, length, kind, 0]);
            last = place.start;
        }
    }
    json!({"data": data})
}

/// The parts of some bytes on each line: clients do not have to know tokens of several lines.
fn line_parts(text: &str, range: ops::Range<usize>) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let mut start = range.start;
    for line in text[range].split_inclusive(['\n', '\r']) {
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        if end > start {
            parts.push((start, end));
        }
        start += line.len();
    }
    parts
}

fn token_type(kind: HighlightKind) -> u32 {
    match kind {
        HighlightKind::Tag => 0,
        HighlightKind::Keyword => 1,
        HighlightKind::Variable => 2,
        HighlightKind::Property => 3,
        HighlightKind::Filter | HighlightKind::Test => 5,
        HighlightKind::Function => 4,
        HighlightKind::String => 6,
        HighlightKind::Number => 7,
        HighlightKind::Operator => 8,
        HighlightKind::Comment => 9,
        HighlightKind::Boolean | HighlightKind::Null => 10,
    }
}
