//! The schema of the answer, in the format of each provider.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::request::Notes;
use crate::{answer::LIST_KEY, json::Writer};

/// The schema of the answer for OpenAI.
pub(super) struct OpenAiSchema<'s> {
    name: String,
    schema: Cow<'s, Value>,
    strict: bool,
}

/// Whether a schema is `true`, `false` or empty, which no provider accepts.
pub(super) fn has_no_keywords(schema: &Value) -> bool {
    schema.is_boolean() || schema.as_object().is_some_and(Map::is_empty)
}

impl<'s> OpenAiSchema<'s> {
    /// The schema, closed for strict mode where that loses nothing, and with an object around a list; `None` if it has no
    /// keywords.
    pub(super) fn new(schema: &'s Value, driver: &str, notes: &mut Notes) -> Option<Self> {
        let name = schema_name(schema);
        if has_no_keywords(schema) {
            // The mode for any JSON object is refused unless a message has the word JSON.
            notes.add(format!("{driver} requires a schema with properties; the answer can be any text"));
            return None;
        }
        let is_list = schema.get("type").and_then(Value::as_str) == Some("array");
        let schema: Cow<'s, Value> = if is_list {
            notes.add(format!("{driver} requires an object as answer; the list is its member `{LIST_KEY}`"));
            Cow::Owned(wrap_list(schema))
        } else {
            Cow::Borrowed(schema)
        };
        Some(match close_objects(&schema, 0).filter(can_be_strict) {
            Some(closed) => Self { name, schema: Cow::Owned(closed), strict: true },
            None => {
                notes.add(format!("{driver} cannot enforce this schema; the model may deviate from it"));
                Self { name, schema, strict: false }
            }
        })
    }

    /// Writes the members of the format.
    pub(super) fn write(&self, in_object: bool, writer: &mut Writer) {
        writer.write_field("type", "json_schema");
        let fields = |writer: &mut Writer| {
            writer.write_field("name", &self.name);
            if self.strict {
                writer.write_key("strict");
                writer.write_value(&Value::Bool(true));
            }
            writer.write_value_field("schema", &self.schema);
        };
        if in_object {
            writer.write_key("json_schema");
            writer.write_object(fields);
        } else {
            fields(writer);
        }
    }
}

/// An object with a list, which keeps its definitions at the root.
fn wrap_list(schema: &Value) -> Value {
    let mut list = schema.clone();
    let mut root = Map::new();
    if let Value::Object(fields) = &mut list {
        for key in ["$defs", "definitions"] {
            root.extend(fields.shift_remove(key).map(|shared| (key.to_owned(), shared)));
        }
        fields.shift_remove("$schema");
    }
    root.insert("type".to_owned(), "object".into());
    root.insert("properties".to_owned(), serde_json::json!({LIST_KEY: list}));
    root.insert("required".to_owned(), serde_json::json!([LIST_KEY]));
    root.insert("additionalProperties".to_owned(), false.into());
    Value::Object(root)
}

/// The schema without what strict mode does not need: objects that require all their properties are closed, words of an
/// enumeration are strings, and the dialect is not named. Every value that follows it follows the original.
fn close_objects(schema: &Value, depth: u32) -> Option<Value> {
    let Value::Object(fields) = schema else { return Some(schema.clone()) };
    if depth > DEEPEST {
        return None;
    }
    let inner = |value: &Value| close_objects(value, depth + 1);
    let mut all = Map::new();
    for (key, value) in fields {
        let value = match (key.as_str(), value) {
            ("$schema", _) => continue,
            ("properties" | "$defs", Value::Object(members)) => {
                let each = |(name, value): (&String, &Value)| Some((name.clone(), inner(value)?));
                Value::Object(members.iter().map(each).collect::<Option<_>>()?)
            }
            ("anyOf", Value::Array(choices)) => {
                Value::Array(choices.iter().map(inner).collect::<Option<_>>()?)
            }
            ("items", value) => inner(value)?,
            _ => value.clone(),
        };
        all.insert(key.clone(), value);
    }
    if all.contains_key("properties") {
        all.entry("type").or_insert_with(|| "object".into());
        all.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    let words = all.get("enum").and_then(Value::as_array);
    if words.is_some_and(|words| words.iter().all(Value::is_string)) {
        all.entry("type").or_insert_with(|| "string".into());
    }
    Some(Value::Object(all))
}

/// Whether OpenAI's strict mode supports `schema`.
pub(super) fn can_be_strict(schema: &Value) -> bool {
    is_strict(schema, 0) && schema.get("type").and_then(Value::as_str) == Some("object")
}

/// The title of the schema, with only the characters that are valid in a name.
fn schema_name(schema: &Value) -> String {
    let title = schema.get("title").and_then(Value::as_str).unwrap_or_default();
    let allowed =
        |character: char| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' };
    let name: String = title.trim().chars().take(64).map(allowed).collect();
    if name.chars().any(|character| character.is_ascii_alphanumeric()) { name } else { "answer".to_owned() }
}

/// Schemas that are nested deeper are not converted.
const DEEPEST: u32 = 64;

/// Whether strict mode supports it: every object requires all its properties and allows no others.
fn is_strict(schema: &Value, depth: u32) -> bool {
    let Value::Object(fields) = schema else { return false };
    if depth > DEEPEST || fields.keys().any(|key| !STRICT_KEYS.contains(&key.as_str())) {
        return false;
    }
    let inner = |value: &Value| is_strict(value, depth + 1);
    let all = |key: &str| match fields.get(key) {
        Some(Value::Object(map)) => map.values().all(inner),
        Some(Value::Array(list)) => list.iter().all(inner),
        Some(_) => false,
        None => true,
    };
    let closed = match fields.get("properties") {
        Some(Value::Object(properties)) => {
            let required: Vec<&str> = fields
                .get("required")
                .and_then(Value::as_array)
                .map(|names| names.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default();
            fields.get("additionalProperties") == Some(&Value::Bool(false))
                && properties.keys().all(|name| required.contains(&name.as_str()))
        }
        Some(_) => false,
        None => fields.get("type").and_then(Value::as_str) != Some("object"),
    };
    closed
        && all("properties")
        && all("$defs")
        && all("anyOf")
        && fields.get("items").is_none_or(inner)
        && (fields.contains_key("type") || fields.contains_key("anyOf") || fields.contains_key("$ref"))
}

const STRICT_KEYS: [&str; 14] = [
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "$defs",
    "$ref",
    "minimum",
    "maximum",
];

/// The schema in Gemini's format; `None` if that format cannot express it.
pub(super) fn to_gemini(schema: &Value) -> Option<Value> {
    to_gemini_at(schema, 0)
}

fn to_gemini_at(schema: &Value, depth: u32) -> Option<Value> {
    let Value::Object(fields) = schema else { return None };
    if depth > DEEPEST {
        return None;
    }
    let mut all = Map::new();
    let inner = |value: &Value| to_gemini_at(value, depth + 1);
    for (key, value) in fields {
        let value = match key.as_str() {
            "$schema" => continue,
            "type" => match value {
                Value::String(name) => Value::String(gemini_type(name)?),
                Value::Array(names) => {
                    let (nulls, others): (Vec<_>, Vec<_>) = names.iter().partition(|name| *name == "null");
                    let [one] = others.as_slice() else { return None };
                    if !nulls.is_empty() {
                        all.insert("nullable".to_owned(), Value::Bool(true));
                    }
                    Value::String(gemini_type(one.as_str()?)?)
                }
                _ => return None,
            },
            "properties" => {
                let Value::Object(properties) = value else { return None };
                let each = |(name, value): (&String, &Value)| Some((name.clone(), inner(value)?));
                Value::Object(properties.iter().map(each).collect::<Option<_>>()?)
            }
            "items" => inner(value)?,
            "anyOf" => Value::Array(value.as_array()?.iter().map(inner).collect::<Option<_>>()?),
            "enum" if value.as_array()?.iter().all(Value::is_string) => value.clone(),
            "title" | "description" | "format" | "nullable" | "required" | "minimum" | "maximum"
            | "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties"
            | "pattern" | "propertyOrdering" | "default" | "example" => value.clone(),
            _ => return None,
        };
        all.insert(key.clone(), value);
    }
    if all.contains_key("enum") && !all.contains_key("type") {
        all.insert("type".to_owned(), "STRING".into());
    }
    Some(Value::Object(all))
}

fn gemini_type(name: &str) -> Option<String> {
    ["string", "number", "integer", "boolean", "array", "object", "null"]
        .contains(&name)
        .then(|| name.to_ascii_uppercase())
}

/// Bounds that Anthropic does not enforce; they become part of the description.
const ANTHROPIC_WORDS: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "pattern",
];

/// The schema in Anthropic's format: objects are closed, and bounds are part of the description. `None` if it requires
/// open objects.
pub(super) fn to_anthropic(schema: &Value) -> Option<Value> {
    to_anthropic_at(schema, 0)
}

fn to_anthropic_at(schema: &Value, depth: u32) -> Option<Value> {
    let Value::Object(fields) = schema else { return None };
    if depth > DEEPEST {
        return None;
    }
    let inner = |value: &Value| to_anthropic_at(value, depth + 1);
    let (mut all, mut words) = (Map::new(), Vec::new());
    for (key, value) in fields {
        let value = match key.as_str() {
            "$schema" => continue,
            word if ANTHROPIC_WORDS.contains(&word) => {
                words.push(format!("{key}: {}", crate::json::to_compact_string(value)));
                continue;
            }
            "properties" | "$defs" | "definitions" => {
                let each = |(name, value): (&String, &Value)| Some((name.clone(), inner(value)?));
                Value::Object(value.as_object()?.iter().map(each).collect::<Option<_>>()?)
            }
            "items" => inner(value)?,
            "anyOf" | "allOf" => Value::Array(value.as_array()?.iter().map(inner).collect::<Option<_>>()?),
            "additionalProperties" if *value != Value::Bool(false) => return None,
            "oneOf" | "not" | "if" | "then" | "else" | "patternProperties" | "prefixItems" => return None,
            _ => value.clone(),
        };
        all.insert(key.clone(), value);
    }
    if all.get("type").and_then(Value::as_str) == Some("object") || all.contains_key("properties") {
        all.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    if !words.is_empty() {
        let words = words.join(", ");
        let description = match all.get("description").and_then(Value::as_str) {
            Some(description) => format!("{description} ({words})"),
            None => words,
        };
        all.insert("description".to_owned(), description.into());
    }
    Some(Value::Object(all))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_closed_schemas_are_strict() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
            "additionalProperties": false});
        assert!(is_strict(&closed, 0));
        let mut open = closed.clone();
        open["required"] = json!([]);
        assert!(!is_strict(&open, 0));
        assert!(!is_strict(&json!({"type": "object"}), 0));
        assert!(is_strict(&json!({"type": "array", "items": closed}), 0));
        assert!(!is_strict(&json!({"oneOf": []}), 0));
    }

    #[test]
    fn gemini_has_types_in_large_letters() {
        let schema = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]},
            "b": {"enum": ["x"]}}, "required": ["a"]});
        assert_eq!(
            to_gemini(&schema),
            Some(json!({"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": true},
                "b": {"enum": ["x"], "type": "STRING"}}, "required": ["a"]}))
        );
        assert_eq!(to_gemini(&json!({"type": "object", "additionalProperties": false})), None);
    }

    #[test]
    fn anthropic_has_closed_objects_and_bounds_in_words() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "number", "minimum": 0}}});
        assert_eq!(
            to_anthropic(&schema),
            Some(
                json!({"type": "object", "properties": {"n": {"type": "number", "description": "minimum: 0"}},
                "additionalProperties": false})
            )
        );
        assert_eq!(to_anthropic(&json!({"type": "object", "additionalProperties": true})), None);
    }

    #[test]
    fn a_name_has_only_the_characters_that_are_allowed() {
        assert_eq!(schema_name(&json!({"title": "My answer!"})), "My_answer_");
        assert_eq!(schema_name(&json!({"title": "答え"})), "answer");
        assert_eq!(schema_name(&json!({})), "answer");
    }
}
