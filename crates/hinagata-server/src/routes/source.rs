//! Sources as editors need them: colours, findings, completion.

use std::{
    collections::BTreeSet,
    sync::{Arc, RwLock},
};

use hinagata::{Catalog, MapUnits, SourceKind, SourceView};
use hinagata_check::{
    CheckOptions, Language, ToolSpec,
    editor::{Completion, Project, ToolDescription, complete_source},
};
use hinagata_value::HighlightKind;
use serde_json::{Value, json};

use super::{files, prompts::read_units};
use crate::{
    answer,
    call::{Answer, Call},
    fields::Fields,
    findings::finding_json,
    problem::Problem,
};

/// `POST /api/source`
pub(super) async fn view_source(mut call: Call) -> Answer {
    let mut fields = Fields::new(call.read_object().await?);
    let path = fields.take_string("path")?.unwrap_or_default();
    let kind = match fields.take_string("kind")? {
        None if path.is_empty() => return Err(Problem::bad_request("the body requires `path` or `kind`")),
        None => SourceKind::from_file_name(&path),
        Some(name) => SourceKind::from_name(&name).ok_or_else(|| {
            let names = SourceKind::ALL.map(SourceKind::as_str);
            Problem::bad_request(format!("unknown kind `{name}`"))
                .with_hint(format!("one of {}", names.join(", ")))
        })?,
    };
    let text = fields.take_string("text")?.ok_or_else(|| Problem::bad_request("missing `text`"))?;
    let units = read_units(fields.take_string("units")?)?;
    let offset = match fields.take_value("offset") {
        None => None,
        Some(value) => Some(
            value
                .as_u64()
                .and_then(|offset| usize::try_from(offset).ok())
                .ok_or_else(|| Problem::bad_request("`offset` must be a number that is not negative"))?,
        ),
    };
    let named = fields.take_string("prompt_id")?;
    fields.check_unknown()?;
    let engine = call.engine();
    let catalog = engine.catalog();
    // Of a file that the caller does not see, only its name counts.
    let known_path = match files::held_file(&call.app, &catalog, &path) {
        Ok(_) => path.clone(),
        Err(_) => completion_name(kind, &path).to_owned(),
    };
    let options = call.app.workspace.check_options(&engine);
    let look = move || {
        let view = engine.view_source(kind, &path, &text)?;
        let counter = Counter::new(&text, units);
        let mut body = view_json(&view, &counter);
        if let Some(offset) = offset.map(|offset| byte_offset(&text, offset, units)) {
            let project = project_of(catalog, options, &known_path, named.as_deref());
            if let Some(found) = complete_source(&project, &known_path, &text, offset) {
                body["completion"] = completion_json(&found, &counter);
            }
        }
        Ok::<Value, hinagata::Error>(body)
    };
    let viewed = tokio::task::spawn_blocking(look).await.map_err(|_| {
        Problem::new(hyper::StatusCode::INTERNAL_SERVER_ERROR, "request", "the source cannot be read")
    })?;
    let mut body = viewed?;
    call.app.places.hide_in_value(&mut body["findings"]);
    answer::json_response(&body)
}

/// The name of a file of this kind, in no directory.
fn completion_name(kind: SourceKind, path: &str) -> &str {
    match (path.rsplit('/').next().unwrap_or_default(), kind) {
        ("", SourceKind::Template(Language::Jinja)) => "source.jinja",
        ("", SourceKind::Template(Language::Go)) => "source.gotmpl",
        ("", SourceKind::Yaml) => "prompt.yaml",
        ("", _) => "source",
        (name, _) => name,
    }
}

/// What is known for a text of a file, or of a template of `prompt`.
fn project_of(catalog: Catalog, options: CheckOptions, path: &str, prompt: Option<&str>) -> Project {
    let source = prompt.and_then(|prompt| Some(catalog.choose(prompt).ok()?.entry.source().to_owned()));
    let users = source.map(|source| (path.to_owned(), BTreeSet::from([source])));
    let describe = |(name, tool): (&String, &ToolSpec)| {
        (name.clone(), ToolDescription { description: None, parameters: tool.parameters.clone() })
    };
    let tools = Arc::new(options.tools.iter().map(describe).collect());
    let users = Arc::new(RwLock::new(users.into_iter().collect()));
    Project { catalog: Some(catalog), options, tools, users, ..Project::default() }
}

fn completion_json(found: &Completion, counter: &Counter) -> Value {
    let items = found.items.iter().map(|item| match &item.detail {
        Some(detail) => json!({"label": item.label, "kind": item.kind.as_str(), "detail": detail}),
        None => json!({"label": item.label, "kind": item.kind.as_str()}),
    });
    json!({
        "start": counter.units_at(found.range.start),
        "end": counter.units_at(found.range.end),
        "items": items.collect::<Vec<_>>(),
    })
}

/// The byte at an offset in units; the end of the text behind it.
fn byte_offset(text: &str, offset: usize, units: MapUnits) -> usize {
    let mut count = 0;
    let at = text.char_indices().find(|(_, c)| {
        let is_there = count >= offset;
        count += unit_length(*c, units);
        is_there
    });
    at.map_or(text.len(), |(at, _)| at)
}

fn unit_length(c: char, units: MapUnits) -> usize {
    match units {
        MapUnits::Utf8 => c.len_utf8(),
        MapUnits::Utf16 => c.len_utf16(),
        MapUnits::Chars => 1,
    }
}

/// Converts bytes of a text to units.
struct Counter {
    /// The number of units before each byte; empty where units are bytes.
    before: Vec<usize>,
}

impl Counter {
    fn new(text: &str, units: MapUnits) -> Self {
        if matches!(units, MapUnits::Utf8) || text.is_ascii() {
            return Self { before: Vec::new() };
        }
        let mut before = Vec::with_capacity(text.len() + 1);
        let mut count = 0;
        for c in text.chars() {
            before.extend(std::iter::repeat_n(count, c.len_utf8()));
            count += unit_length(c, units);
        }
        before.push(count);
        Self { before }
    }

    fn units_at(&self, byte: usize) -> usize {
        if self.before.is_empty() {
            byte
        } else {
            self.before.get(byte).or(self.before.last()).copied().unwrap_or(byte)
        }
    }
}

fn view_json(view: &SourceView, counter: &Counter) -> Value {
    let at = |byte: usize| counter.units_at(byte);
    let number = |kind: HighlightKind| HighlightKind::ALL.iter().position(|known| *known == kind);
    let tokens = view.tokens.iter().map(|token| {
        let start = at(token.start);
        json!([start, at(token.end) - start, number(token.kind)])
    });
    let findings = view.findings.iter().map(|(found, range)| {
        let mut shown = finding_json(found);
        (shown["start"], shown["end"]) = (at(range.start).into(), at(range.end).into());
        shown
    });
    json!({
        "kind": view.kind.as_str(),
        "kinds": HighlightKind::ALL.map(HighlightKind::as_str),
        "tokens": tokens.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
        "variables": view.variables.iter()
            .map(|(path, range)| json!({"path": path, "start": at(range.start), "end": at(range.end)}))
            .collect::<Vec<_>>(),
        "includes": view.includes.iter()
            .map(|(name, range)| json!({"name": name, "start": at(range.start), "end": at(range.end)}))
            .collect::<Vec<_>>(),
    })
}
