//! Picoschema, the short schemas of dotprompt.

use hinagata_document::{Data, Node};
use serde_json::{Map, Value, json};

/// The JSON Schema of a node: Picoschema, or a JSON Schema already. `None` for the name of a schema.
pub(crate) fn to_schema(node: &Node) -> Option<Value> {
    match &node.data {
        Data::String(text) => scalar(text),
        Data::Map(_) if is_json_schema(node) => Some(node.to_value()),
        Data::Map(entries) => object(entries),
        _ => None,
    }
}

fn is_json_schema(node: &Node) -> bool {
    let is_type = |kind: &Node| {
        kind.as_str().is_some_and(|kind| {
            matches!(kind, "string" | "boolean" | "null" | "number" | "integer" | "object" | "array")
        })
    };
    node.get("type").is_some_and(is_type)
        || node.get("properties").is_some_and(|properties| properties.as_map().is_some())
}

/// `string, words`: a type and a description.
fn scalar(text: &str) -> Option<Value> {
    let (kind, description) = match text.split_once(',') {
        Some((kind, description)) => (kind.trim(), Some(description.trim())),
        None => (text.trim(), None),
    };
    let mut schema = Map::new();
    match kind {
        "any" => {}
        "string" | "boolean" | "null" | "number" | "integer" => {
            schema.insert("type".to_owned(), json!(kind));
        }
        _ => return None,
    }
    if let Some(description) = description {
        schema.insert("description".to_owned(), json!(description));
    }
    Some(Value::Object(schema))
}

fn object(entries: &[(String, Node)]) -> Option<Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut additional = json!(false);
    for (key, node) in entries {
        if key == "(*)" {
            additional = to_schema(node)?;
            continue;
        }
        let (name, container) = match key.split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').unwrap_or(rest))),
            None => (key.as_str(), None),
        };
        let optional = name.ends_with('?');
        let name = name.trim_end_matches('?').trim();
        let mut schema = match container.map(|container| container.split_once(',').unwrap_or((container, "")))
        {
            None => to_schema(node)?,
            Some((kind, description)) => {
                let mut schema = match kind.trim() {
                    "array" => json!({"type": "array", "items": to_schema(node)?}),
                    "object" => to_schema(node)?,
                    "enum" => json!({"enum": node.to_value()}),
                    _ => return None,
                };
                if !description.trim().is_empty() {
                    schema["description"] = json!(description.trim());
                }
                schema
            }
        };
        if !optional {
            required.push(name.to_owned());
        } else if let Some(kind) = schema.get("type").cloned() {
            schema["type"] = json!([kind, "null"]);
        }
        properties.insert(name.to_owned(), schema);
    }
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": additional});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    Some(schema)
}
