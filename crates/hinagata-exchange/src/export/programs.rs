//! Formats whose templates are programs: dotprompt and Prompty.

use hinagata_document::Result;
use serde_json::{Map, Value, json};

use super::keys::{START, copy_keys, last_segment, lose_rest, restore_kept, schema_type, with_matter};
use super::pieces::{Piece, PieceKind, own_word, read_pieces};
use super::text::printed_name;
use super::turns::{Turn, read_turns};
use super::{Exporter, handlebars};
use crate::detect::Format;
use crate::names::is_identifier;
use crate::prompt::{PortableBody, PortableLayout, PortableParameter};
use crate::report::LossCode;

pub(super) fn write_dotprompt(exporter: &mut Exporter<'_>) -> Result<Vec<(String, String)>> {
    let mut pieces = Vec::new();
    let structured = matches!(exporter.prompt.body, PortableBody::Messages(_))
        || exporter.prompt.layout != PortableLayout::Keep;
    if structured && exporter.prompt.is_structured() {
        for turn in read_turns(exporter, "user")? {
            match turn {
                Turn::Message(role, inner) => {
                    pieces.push(Piece { kind: PieceKind::Role(role), at: START, source: String::new() });
                    pieces.extend(inner);
                }
                Turn::History(name) => {
                    let source = format!("{{{{ {name} }}}}");
                    pieces.push(Piece { kind: PieceKind::History(name), at: START, source });
                }
            }
        }
    } else if let PortableBody::Text(text) = exporter.prompt.body.clone() {
        pieces = read_pieces(exporter, &exporter.prompt.from, &text)?;
    }
    let body = handlebars::write_template(exporter, &pieces);
    let mut keys = copy_keys(exporter, &["name", "description", "version", "model", "config", "output"]);
    let mut metadata =
        exporter.prompt.header.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let variant = metadata.shift_remove("variant").and_then(|variant| variant.as_str().map(str::to_owned));
    if !metadata.is_empty() {
        keys.insert("metadata".to_owned(), Value::Object(metadata));
    }
    let input = dotprompt_input(exporter);
    if !input.is_empty() {
        keys.insert("input".to_owned(), Value::Object(input));
    }
    restore_kept(exporter, &[Format::Dotprompt], &mut keys);
    lose_rest(exporter, &["name", "description", "version", "model", "config", "output", "metadata"], true);
    if !keys.is_empty() && body.trim() != body {
        exporter.lose_newlines(START);
    }
    let id = last_segment(&exporter.prompt.id);
    let name = match variant {
        Some(variant) => {
            let suffix = format!("_{}", crate::names::to_segment(&variant));
            format!("{}.{variant}.prompt", id.strip_suffix(&suffix).unwrap_or(&id))
        }
        None => format!("{id}.prompt"),
    };
    Ok(vec![(name, with_matter(&keys, &body))])
}

/// The schema and the defaults of the parameters; nothing if they say no more than the template.
fn dotprompt_input(exporter: &Exporter<'_>) -> Map<String, Value> {
    let (mut properties, mut required, mut defaults) = (Map::new(), Vec::new(), Map::new());
    let mut says_more = false;
    for parameter in exporter.prompt.parameters.iter().filter(|parameter| parameter.name != "history") {
        let name = exporter.original_name(&parameter.name);
        let mut property = match &parameter.schema {
            Some(Value::Object(schema)) => schema.clone(),
            _ => Map::new(),
        };
        if let Some(kind) = parameter.kind {
            property.insert("type".to_owned(), json!(schema_type(kind)));
        }
        if let Some(description) = &parameter.description {
            property.insert("description".to_owned(), json!(description));
        }
        says_more |= !property.is_empty() || parameter.required;
        if parameter.required {
            required.push(json!(name));
        }
        if let Some(default) = &parameter.default {
            defaults.insert(name.clone(), default.clone());
        }
        properties.insert(name, Value::Object(property));
    }
    let mut input = Map::new();
    if says_more {
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = Value::Array(required);
        }
        input.insert("schema".to_owned(), schema);
    }
    if !defaults.is_empty() {
        input.insert("default".to_owned(), Value::Object(defaults));
    }
    input
}

/// A template as other programs with Jinja read it; words of ours are lost.
fn foreign_jinja(exporter: &mut Exporter<'_>, source: &str) -> String {
    if let Some(word) = own_word(source) {
        let what = format!("`{word}`, which works in this program only");
        exporter.lose(LossCode::Expression, START, what, "the text of the tag");
    }
    // Other programs have neither the map of all variables nor the files of this workspace.
    let variables = crate::language::jinja::read_variables(source);
    if exporter.parameter("variables").is_none() && variables.iter().any(|name| name == "variables") {
        let what = "`variables`, the map of all variables".to_owned();
        exporter.lose(LossCode::Expression, START, what, "the text of the tag");
    }
    source.strip_suffix('\n').unwrap_or(source).to_owned()
}

pub(super) fn write_prompty(exporter: &mut Exporter<'_>) -> Result<Vec<(String, String)>> {
    let mut keys = copy_keys(exporter, &["name"]);
    let header = exporter.prompt.header.clone();
    let mut add = |key: &str, value: Option<&Value>| {
        if let Some(value) = value {
            keys.insert(key.to_owned(), value.clone());
        }
    };
    add("displayName", header.get("title"));
    add("description", header.get("description"));
    let mut metadata = header.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for (from, to) in [("tags", "tags"), ("version", "version")] {
        if let Some(value) = header.get(from) {
            metadata.insert(to.to_owned(), value.clone());
        }
    }
    if let Some(author) = header.get("author").and_then(Value::as_str) {
        metadata.insert("authors".to_owned(), author.split(", ").collect());
    }
    if !metadata.is_empty() {
        keys.insert("metadata".to_owned(), Value::Object(metadata));
    }
    let mut model = Map::new();
    if let Some(name) = exporter.header_text("model") {
        let (provider, id) = name.split_once('/').map_or((None, name), |(provider, id)| (Some(provider), id));
        model.insert("id".to_owned(), json!(id));
        if let Some(provider) = provider {
            model.insert("provider".to_owned(), json!(provider));
        }
    }
    if let Some(config) = header.get("config") {
        model.insert("options".to_owned(), config.clone());
    }
    if !model.is_empty() {
        keys.insert("model".to_owned(), Value::Object(model));
    }
    let mut turns = read_turns(exporter, "user")?;
    let media = print_media(exporter, &mut turns);
    let histories: Vec<String> = turns
        .iter()
        .filter_map(|turn| match turn {
            Turn::History(name) => Some(name.clone()),
            Turn::Message(..) => None,
        })
        .collect();
    if !exporter.prompt.parameters.is_empty() {
        let inputs =
            exporter.prompt.parameters.iter().map(|parameter| prompty_input(parameter, &histories, &media));
        keys.insert("inputs".to_owned(), inputs.collect());
    }
    if let Some(outputs) = prompty_outputs(exporter) {
        keys.insert("outputs".to_owned(), outputs);
    }
    restore_kept(exporter, &[Format::Prompty], &mut keys);
    let written = [
        "name",
        "title",
        "description",
        "metadata",
        "tags",
        "version",
        "author",
        "model",
        "config",
        "output",
    ];
    lose_rest(exporter, &written, true);
    let mut body = String::new();
    for turn in turns {
        if !body.is_empty() && !body.ends_with('\n') {
            body.push('\n');
        }
        match turn {
            Turn::History(name) => body.push_str(&format!("{{{{{name}}}}}\n")),
            Turn::Message(role, pieces) => {
                body.push_str(&format!("{role}:\n"));
                let text = jinja_of_pieces(exporter, &pieces);
                let lines = text.lines().any(|line| {
                    let word = line.trim().trim_start_matches('#').trim().strip_suffix(':');
                    word.is_some_and(|word| {
                        ["system", "user", "assistant", "developer", "tool", "function"]
                            .iter()
                            .any(|role| role.eq_ignore_ascii_case(word.trim()))
                    })
                });
                if lines {
                    let what = "a line of text that names a role".to_owned();
                    exporter.lose(LossCode::Role, START, what, "");
                }
                if text.trim_matches('\n') != text {
                    exporter.lose_newlines(START);
                }
                body.push_str(&text);
                // Without a line there is no message.
                if text.is_empty() {
                    body.push('\n');
                }
            }
        }
    }
    if !body.is_empty() && !body.ends_with('\n') {
        body.push('\n');
    }
    Ok(vec![(format!("{}.prompty", last_segment(&exporter.prompt.id)), with_matter(&keys, &body))])
}

/// Pieces as Jinja again, with included templates in their places.
pub(super) fn jinja_of_pieces(exporter: &mut Exporter<'_>, pieces: &[Piece]) -> String {
    let mut text = crate::jinja_text::JinjaText::default();
    for piece in pieces {
        match &piece.kind {
            PieceKind::Text(literal) => text.push_text(literal),
            PieceKind::Print(_) | PieceKind::Media(..) => text.push_print(&piece.source),
            _ => text.push_statements(&piece.source),
        }
    }
    let written = text.finish();
    foreign_jinja(exporter, &written)
}

/// Makes media of a variable a printed variable, which Prompty knows by the kind of the input. Returns the names. Media
/// that it cannot have stays.
fn print_media(exporter: &Exporter<'_>, turns: &mut [Turn]) -> Vec<String> {
    let pieces = turns.iter_mut().filter_map(|turn| match turn {
        Turn::Message(_, pieces) => Some(pieces),
        Turn::History(_) => None,
    });
    let mut all: Vec<&mut Piece> = pieces.flatten().collect();
    let variable = |piece: &Piece| match &piece.kind {
        PieceKind::Media(url, None) => printed_name(url).filter(|name| exporter.parameter(name).is_some()),
        _ => None,
    };
    let mut names: Vec<String> = all.iter().filter_map(|piece| variable(piece)).collect();
    let others = all.iter().filter(|piece| variable(piece).is_none()).map(|piece| match &piece.kind {
        PieceKind::Text(_) => String::new(),
        PieceKind::Print(_) | PieceKind::Media(..) => format!("{{{{ {} }}}}", piece.source),
        _ => piece.source.clone(),
    });
    let read_otherwise: Vec<String> =
        others.flat_map(|source| crate::language::jinja::read_variables(&source)).collect();
    names.retain(|name| !read_otherwise.contains(name));
    for piece in &mut all {
        if let (Some(name), PieceKind::Media(url, None)) = (variable(piece), &piece.kind)
            && names.contains(&name)
        {
            piece.kind = PieceKind::Print(url.clone());
            piece.source = name;
        }
    }
    names
}

fn prompty_input(parameter: &PortableParameter, histories: &[String], media: &[String]) -> Value {
    let mut input = Map::new();
    let name = parameter.aliases.first().filter(|alias| is_identifier(alias)).unwrap_or(&parameter.name);
    input.insert("name".to_owned(), json!(name));
    let kind = match parameter.kind {
        _ if histories.contains(&parameter.name) => Some("thread"),
        _ if media.contains(&parameter.name) => Some("image"),
        Some("number") => Some("float"),
        Some(kind) => Some(schema_type(kind)),
        None => None,
    };
    if let Some(kind) = kind {
        input.insert("kind".to_owned(), json!(kind));
    }
    if let Some(description) = &parameter.description {
        input.insert("description".to_owned(), json!(description));
    }
    if let Some(default) = parameter.default.as_ref().filter(|_| kind != Some("thread")) {
        input.insert("default".to_owned(), default.clone());
    }
    if parameter.required {
        input.insert("required".to_owned(), json!(true));
    }
    if let Some(values) = parameter.schema.as_ref().and_then(|schema| schema.get("enum")) {
        input.insert("enumValues".to_owned(), values.clone());
    }
    Value::Object(input)
}

fn prompty_outputs(exporter: &mut Exporter<'_>) -> Option<Value> {
    let output = exporter.prompt.header.get("output")?;
    let Some(schema) = output.get("schema").cloned() else {
        exporter.lose_key("output");
        return None;
    };
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let property = |(name, property): (&String, &Value)| {
        let mut written = Map::new();
        written.insert("name".to_owned(), json!(name));
        let kind = property.get("type").and_then(Value::as_str).unwrap_or("string");
        written.insert("kind".to_owned(), json!(if kind == "number" { "float" } else { kind }));
        if let Some(description) = property.get("description") {
            written.insert("description".to_owned(), description.clone());
        }
        if required.contains(&json!(name)) {
            written.insert("required".to_owned(), json!(true));
        }
        Value::Object(written)
    };
    Some(schema.get("properties")?.as_object()?.iter().map(property).collect())
}
