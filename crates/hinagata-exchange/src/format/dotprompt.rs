//! Google's dotprompt: YAML and Handlebars.

use hinagata_document::{Node, Result};
use serde_json::{Value, json};

use super::{picoschema, read_matter};
use crate::draft::{Draft, TextPlace, kind_of};
use crate::language::handlebars::{Dialect, translate};
use crate::names::{file_name, to_segment};
use crate::prompt::{PortableBody, PortableLayout, PortableParameter};
use crate::report::LossCode;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let (entries, body, offset) = read_matter(draft)?;
    let stem = file_name(draft.path).trim_end_matches(".prompt");
    draft.prompt.id = stem.split('.').map(to_segment).collect::<Vec<_>>().join("_");
    draft.prompt.undefined = Some("empty");
    draft.prompt.layout = PortableLayout::Keep;
    draft.prompt.drops_empty = true;
    if let Some((_, variant)) = stem.split_once('.') {
        draft.set("metadata", json!({"variant": variant}));
    }
    let mut schema = None;
    for (key, node) in &entries {
        match key.as_str() {
            "name" | "description" | "version" => draft.set_text(key, node),
            "model" => draft.set_text("model", node),
            "config" => draft.set_config(node.as_map().unwrap_or_default()),
            "metadata" => draft.set("metadata", node.to_value()),
            "variant" => {
                let mut metadata = draft.prompt.header.remove("metadata").unwrap_or_else(|| json!({}));
                metadata["variant"] = node.to_value();
                draft.set("metadata", metadata);
            }
            "input" => schema = input(draft, node),
            "output" => output(draft, node),
            "tools" | "toolDefs" => draft.keep(LossCode::Tools, key, node),
            _ => draft.keep(LossCode::Unknown, key, node),
        }
    }
    // With front matter the body is trimmed.
    let has_matter = offset > 0;
    let start = if has_matter { body.len() - body.trim_start().len() } else { 0 };
    let body = if has_matter { body.trim() } else { body };
    let place = TextPlace::Offset(offset + start);
    let body = draft.with_plain_newlines(body, place);
    for parameter in draft.prompt.parameters.clone() {
        draft.names.variable(&parameter.name);
    }
    let (files, path) = (draft.files, draft.path);
    let partial = |name: &str| {
        let (directory, base) =
            name.rsplit_once('/').map_or(("", name), |(directory, base)| (directory, base));
        let file = match directory {
            "" => format!("_{base}.prompt"),
            _ => format!("{directory}/_{base}.prompt"),
        };
        files.beside(path, &file).map(|text| text.replace("\r\n", "\n"))
    };
    let result = translate(&body, Dialect::Dotprompt, &mut draft.names, schema.as_ref(), &partial);
    let translated = result.map_err(|problem| draft.problem(place, problem))?;
    draft.lose_all(place, translated.losses);
    if translated.has_history {
        draft.declare(PortableParameter {
            name: "history".to_owned(),
            kind: Some("list"),
            default: Some(json!([])),
            description: Some("Earlier messages".to_owned()),
            ..PortableParameter::default()
        });
    }
    draft.prompt.partials = translated.partials;
    draft.prompt.body = PortableBody::Text(translated.text);
    draft.declare_read(false);
    Ok(())
}

/// Reads `input`, and returns the schema of the variables.
fn input(draft: &mut Draft<'_>, node: &Node) -> Option<Value> {
    let schema = node.get("schema").and_then(|named| {
        let schema = picoschema::to_schema(named);
        if schema.is_none() {
            draft.lose(
                LossCode::Schema,
                named,
                "a schema that is named, not given",
                "parameters are read from the template",
            );
        }
        schema
    });
    let defaults = node.get("default").map(Node::to_value).unwrap_or_default();
    let properties = schema.as_ref().and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let required = schema.as_ref().and_then(|schema| schema.get("required")).and_then(Value::as_array);
        let is_required = required.is_some_and(|required| required.iter().any(|entry| entry == name));
        let default = defaults.get(name).cloned();
        let name_here = draft.names.variable(name);
        let types = property.get("type");
        let kind = types.and_then(|kind| kind.as_str().or_else(|| kind.get(0).and_then(Value::as_str)));
        draft.declare(PortableParameter {
            name: name_here,
            required: is_required && default.is_none(),
            kind: kind.and_then(kind_of),
            default,
            description: property.get("description").and_then(Value::as_str).map(str::to_owned),
            schema: property.get("enum").map(|values| json!({"enum": values})),
            aliases: Vec::new(),
        });
    }
    for (name, default) in defaults.as_object().into_iter().flatten() {
        let name = draft.names.variable(name);
        draft.declare(PortableParameter {
            name,
            default: Some(default.clone()),
            ..PortableParameter::default()
        });
    }
    for (key, value) in node.as_map().unwrap_or_default() {
        if !matches!(key.as_str(), "schema" | "default") {
            draft.keep(LossCode::Unknown, &format!("input.{key}"), value);
        }
    }
    schema
}

fn output(draft: &mut Draft<'_>, node: &Node) {
    let mut output = serde_json::Map::new();
    for (key, value) in node.as_map().unwrap_or_default() {
        match key.as_str() {
            "format" => {
                output.insert("format".to_owned(), value.to_value());
            }
            "schema" => match picoschema::to_schema(value) {
                Some(schema) => {
                    output.insert("schema".to_owned(), schema);
                }
                None => draft.lose(LossCode::Schema, value, "a schema that is named, not given", ""),
            },
            _ => draft.keep(LossCode::Unknown, &format!("output.{key}"), value),
        }
    }
    if !output.is_empty() {
        draft.set("output", Value::Object(output));
    }
}
