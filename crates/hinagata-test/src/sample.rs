//! Values for prompts without cases, from their declarations.

use hinagata::Engine;
use hinagata_value::ValueType;
use serde_json::{Map, Value, json};

/// Deepest nesting of a sample value.
const DEEPEST: usize = 8;

/// A value for each parameter that a call must pass. Values say what they are, so that a render shows where they go.
pub(crate) fn sample_variables(engine: &Engine, prompt: &str) -> Map<String, Value> {
    let Ok(inherited) = engine.definition(prompt) else { return Map::new() };
    let parameters = inherited.parameters.iter().filter(|parameter| parameter.must_be_passed());
    parameters
        .map(|parameter| {
            let value = match &parameter.schema {
                Some(schema) => sample_of_schema(schema, &parameter.name, 0),
                None => sample_of_type(parameter.kind, &parameter.name),
            };
            (parameter.name.clone(), value)
        })
        .collect()
}

fn sample_of_type(kind: ValueType, name: &str) -> Value {
    match kind {
        ValueType::Integer => json!(1),
        ValueType::Number => json!(1.5),
        ValueType::Boolean => json!(true),
        ValueType::List => json!([format!("<{name}>")]),
        ValueType::Object => json!({"value": format!("<{name}>")}),
        _ => format!("<{name}>").into(),
    }
}

/// A value that follows the common keywords of a schema.
fn sample_of_schema(schema: &Value, name: &str, depth: usize) -> Value {
    for key in ["const", "default"] {
        if let Some(value) = schema.get(key) {
            return value.clone();
        }
    }
    for key in ["examples", "enum"] {
        if let Some(value) = schema.get(key).and_then(Value::as_array).and_then(|values| values.first()) {
            return value.clone();
        }
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(inner) = schema.get(key).and_then(Value::as_array).and_then(|all| all.first())
            && depth < DEEPEST
        {
            return sample_of_schema(inner, name, depth + 1);
        }
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str).unwrap_or("string"),
        _ if schema.get("properties").is_some() => "object",
        _ => "string",
    };
    let least = |key: &str| schema.get(key).and_then(Value::as_f64);
    match kind {
        "integer" => json!(least("minimum").unwrap_or(1.0).ceil() as i64),
        "number" => json!(least("minimum").unwrap_or(1.5)),
        "boolean" => json!(true),
        "null" => Value::Null,
        "array" => match schema.get("items") {
            Some(items) if depth < DEEPEST => json!([sample_of_schema(items, name, depth + 1)]),
            _ => json!([format!("<{name}>")]),
        },
        "object" => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let fields = properties.into_iter().flatten().filter(|_| depth < DEEPEST);
            fields
                .map(|(key, inner)| (key.clone(), sample_of_schema(inner, key, depth + 1)))
                .collect::<Map<_, _>>()
                .into()
        }
        _ => {
            let text = format!("<{name}>");
            let length = least("minLength").unwrap_or(0.0) as usize;
            match text.len() < length.min(10_000) {
                true => format!("{text}{}", "x".repeat(length.min(10_000) - text.len())).into(),
                false => text.into(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_their_schemas() {
        let schema = json!({
            "type": "object",
            "properties": {
                "body": {"type": "string"}, "kind": {"enum": ["a", "b"]},
                "tags": {"type": "array", "items": {"type": "integer", "minimum": 3}},
            },
        });
        let value = sample_of_schema(&schema, "ticket", 0);
        assert_eq!(value, json!({"body": "<body>", "kind": "a", "tags": [3]}));
        let validator = jsonschema::validator_for(&schema).expect("is a schema");
        assert!(validator.is_valid(&value));
    }

    #[test]
    fn samples_name_the_parameter() {
        let engine = Engine::open("no/such/workspace");
        assert_eq!(sample_variables(&engine, "general_system")["agent_name"], json!("<agent_name>"));
    }
}
