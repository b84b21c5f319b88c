//! Keys and texts that several formats write alike.

use hinagata_document::{Code, Error, LineColumn, Result};
use serde_json::{Map, Value, json};

use super::Exporter;
use crate::definition::write_yaml;
use crate::detect::Format;
use crate::jinja_text::quote_string;
use crate::prompt::PortableParameter;
use crate::report::LossCode;

pub(super) const START: LineColumn = LineColumn { line: 1, column: 1 };

/// Puts the keys back that an import kept, if they are of the same format; others are lost.
pub(super) fn restore_kept(exporter: &mut Exporter<'_>, formats: &[Format], target: &mut Map<String, Value>) {
    let kept = exporter.prompt.kept.clone();
    if !kept.is_empty() && !formats.contains(&exporter.prompt.format) {
        return exporter.lose_key(&format!("x-{}", exporter.prompt.format.as_str()));
    }
    for (key, value) in kept {
        insert_below(target, &key, value);
    }
}

/// Inserts a value whose key names the sections above it.
fn insert_below(target: &mut Map<String, Value>, key: &str, value: Value) {
    let section = key.split_once('.').filter(|(first, _)| is_section(first));
    let Some((first, rest)) = section else {
        target.insert(key.to_owned(), value);
        return;
    };
    let below = target.entry(first.to_owned()).or_insert_with(|| json!({}));
    match below {
        Value::Object(below) => insert_below(below, rest, value),
        other => *other = value,
    }
}

fn is_section(key: &str) -> bool {
    matches!(key, "input" | "output" | "config" | "model" | "template")
}

/// Reports keys of the header and details of parameters that the format has no place for.
pub(super) fn lose_rest(exporter: &mut Exporter<'_>, written: &[&str], keeps_parameters: bool) {
    let lost: Vec<String> =
        exporter.prompt.header.keys().filter(|key| !written.contains(&key.as_str())).cloned().collect();
    for key in lost {
        exporter.lose_key(&key);
    }
    let has_details = |parameter: &PortableParameter| {
        parameter.kind.is_some_and(|kind| kind != "list")
            || parameter.description.is_some()
            || parameter.schema.is_some()
            || parameter.default.as_ref().is_some_and(|default| *default != json!([]))
    };
    if !keeps_parameters && exporter.prompt.parameters.iter().any(has_details) {
        let what = "types, defaults and descriptions of parameters".to_owned();
        exporter.lose(LossCode::Schema, START, what, "parameters are read from the template");
    }
}

pub(super) fn copy_keys(exporter: &Exporter<'_>, keys: &[&str]) -> Map<String, Value> {
    let header = &exporter.prompt.header;
    keys.iter().filter_map(|key| Some(((*key).to_owned(), header.get(*key)?.clone()))).collect()
}

pub(super) fn schema_type(kind: &str) -> &str {
    match kind {
        "list" => "array",
        "dict" => "object",
        "file" => "string",
        other => other,
    }
}

pub(super) fn with_matter(keys: &Map<String, Value>, body: &str) -> String {
    match keys.is_empty() {
        true => body.to_owned(),
        false => format!("---\n{}---\n{body}", write_yaml(keys)),
    }
}

pub(super) fn last_segment(id: &str) -> String {
    id.replace('.', "_")
}

/// The name of a skill or command: words joined by `-`.
pub(super) fn kebab_name(exporter: &Exporter<'_>) -> Result<String> {
    let id = exporter.prompt.id.replace(['.', '_'], "-");
    let own = exporter.header_text("name").unwrap_or(&id);
    let is_kebab = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
    };
    let name = if is_kebab(own) { own.to_owned() } else { id };
    if name.len() > 64 || !is_kebab(&name) {
        let message = format!("`{name}` cannot be the name of a skill");
        return Err(Error::new(Code::Validation, message)
            .with_hint("a name has at most 64 lower-case letters of a to z, digits and hyphens"));
    }
    Ok(name)
}

/// A string of TOML; several lines stay lines.
pub(super) fn toml_string(text: &str) -> String {
    let quoted = quote_string(text).replace("\\x", "\\u00");
    match text.contains('\n') && !text.contains("\"\"\"") {
        true => format!(
            "\"\"\"\n{}\"\"\"",
            quoted[1..quoted.len() - 1].replace("\\n", "\n").replace("\\\"", "\"")
        ),
        false => quoted,
    }
}

pub(super) fn pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).map(|text| text + "\n").unwrap_or_default()
}
