//! The empty value that replaces the result of a failed call.

use serde_json::{Map, Value};

/// Maximum depth of a schema.
const MAX_DEPTH: usize = 8;

/// An empty value of the type that `schema` declares.
///
/// A list is empty. An object has its declared properties, each of them empty, so that a template which reads a field
/// of the result continues in both languages. Everything else is an empty string, which prints nothing and is false.
pub(crate) fn empty_value(schema: &Value) -> Value {
    empty_at(schema, 0)
}

fn empty_at(schema: &Value, depth: usize) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    match kind(schema) {
        Some("array") => Value::Array(Vec::new()),
        Some("object") => object(properties, depth),
        None if properties.is_some() => object(properties, depth),
        _ => Value::from(""),
    }
}

fn object(properties: Option<&Map<String, Value>>, depth: usize) -> Value {
    let entries = properties.into_iter().flatten().filter(|_| depth < MAX_DEPTH);
    Value::Object(entries.map(|(key, schema)| (key.clone(), empty_at(schema, depth + 1))).collect())
}

/// The type that a schema declares. The first of several.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.first()?.as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_value_has_the_declared_shape() {
        assert_eq!(empty_value(&json!({"type": "array"})), json!([]));
        assert_eq!(empty_value(&json!({"type": "string"})), json!(""));
        assert_eq!(empty_value(&json!(true)), json!(""));
        let schema = json!({"type": ["object", "null"], "properties": {
            "text": {"type": "string"}, "hits": {"type": "array"}, "more": {"properties": {"n": {"type": "integer"}}}}});
        assert_eq!(empty_value(&schema), json!({"text": "", "hits": [], "more": {"n": ""}}));
    }

    #[test]
    fn a_deep_schema_is_truncated() {
        let schema =
            (0..1_000).fold(json!({"type": "string"}), |inner, _| json!({"properties": {"x": inner}}));
        assert!(empty_value(&schema).is_object());
    }
}
