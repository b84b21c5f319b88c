//! Changes values to the types that a schema wants, where that loses nothing.

use serde_json::{Map, Number, Value};

/// Deeper values and schemas are left as they are.
const DEEPEST: u32 = 64;

/// Changes one value, and records what it did.
pub(super) struct Coercion<'s> {
    root: &'s Value,
    path: String,
    repairs: Vec<String>,
}

impl<'s> Coercion<'s> {
    pub(super) fn new(schema: &'s Value) -> Self {
        Self { root: schema, path: String::new(), repairs: Vec::new() }
    }

    pub(super) fn into_repairs(self) -> Vec<String> {
        self.repairs
    }

    /// The value with the types that the schema wants.
    pub(super) fn coerce_value(&mut self, value: Value) -> Value {
        self.coerce(value, self.root, 0)
    }

    fn coerce(&mut self, value: Value, schema: &'s Value, depth: u32) -> Value {
        let Value::Object(fields) = schema else { return value };
        if depth > DEEPEST {
            return value;
        }
        if let Some(target) = fields.get("$ref").and_then(Value::as_str).and_then(|path| self.resolve(path)) {
            return self.coerce(value, target, depth + 1);
        }
        let mut value = value;
        for part in fields.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            value = self.coerce(value, part, depth + 1);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = fields.get(key).and_then(Value::as_array) {
                value = self.coerce_choice(value, choices, depth);
            }
        }
        let value = self.coerce_enum(value, fields);
        let value = self.coerce_type(value, fields);
        self.coerce_inside(value, fields, depth)
    }

    fn resolve(&self, path: &str) -> Option<&'s Value> {
        self.root.pointer(path.strip_prefix('#')?)
    }

    /// The value for the first choice that it then follows. A value that follows one already stays.
    fn coerce_choice(&mut self, value: Value, choices: &'s [Value], depth: u32) -> Value {
        if choices.iter().any(|choice| self.follows(&value, choice)) {
            return value;
        }
        for choice in choices {
            let before = self.repairs.len();
            let changed = self.coerce(value.clone(), choice, depth + 1);
            if self.follows(&changed, choice) {
                return changed;
            }
            self.repairs.truncate(before);
        }
        value
    }

    /// Whether a value follows a part of the schema; references start at the root.
    fn follows(&self, value: &Value, part: &Value) -> bool {
        let mut schema = part.clone();
        if let Value::Object(fields) = &mut schema {
            for key in ["$defs", "definitions"] {
                if let Some(shared) = self.root.get(key) {
                    fields.entry(key).or_insert_with(|| shared.clone());
                }
            }
        }
        jsonschema::validator_for(&schema).is_ok_and(|validator| validator.is_valid(value))
    }

    /// A word of an enumeration in other letters becomes that word, if only one is meant.
    fn coerce_enum(&mut self, value: Value, fields: &Map<String, Value>) -> Value {
        let words = fields.get("enum").and_then(Value::as_array).map(Vec::as_slice);
        let words = words.or_else(|| fields.get("const").map(std::slice::from_ref)).unwrap_or_default();
        let Value::String(text) = &value else { return value };
        if words.is_empty() || words.contains(&value) {
            return value;
        }
        let folded = text.trim().to_lowercase();
        let mut same =
            words.iter().filter(|word| word.as_str().is_some_and(|word| word.to_lowercase() == folded));
        match (same.next(), same.next()) {
            (Some(word), None) => {
                self.record(format!("`{text}` became {word}"));
                word.clone()
            }
            _ => value,
        }
    }

    fn coerce_type(&mut self, value: Value, fields: &Map<String, Value>) -> Value {
        let types: Vec<&str> = match fields.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => return value,
        };
        if types.iter().any(|name| has_type(&value, name)) {
            return value;
        }
        let changed = match &value {
            Value::String(text) => types.iter().find_map(|name| parse_text(text, name)),
            Value::Number(_) | Value::Bool(_) if types.contains(&"string") => {
                Some(Value::String(value.to_string()))
            }
            _ => None,
        };
        match changed {
            Some(changed) => {
                self.record(format!("{value} became {changed}"));
                changed
            }
            None if types.contains(&"array") && !value.is_null() => {
                self.record("one value became a list".to_owned());
                Value::Array(vec![value])
            }
            None => value,
        }
    }

    /// Changes the members of an object and the items of a list.
    fn coerce_inside(&mut self, value: Value, fields: &'s Map<String, Value>, depth: u32) -> Value {
        match value {
            Value::Object(members) => {
                let properties = fields.get("properties").and_then(Value::as_object);
                let others = fields.get("additionalProperties");
                let member = |(key, value): (String, Value)| {
                    let schema = properties.and_then(|known| known.get(&key)).or(others);
                    let value = self.coerce_at(&key, value, schema, depth);
                    (key, value)
                };
                Value::Object(members.into_iter().map(member).collect())
            }
            Value::Array(items) => {
                let first = fields.get("prefixItems").and_then(Value::as_array);
                let others = fields.get("items");
                let item = |(index, item): (usize, Value)| {
                    let schema = first.and_then(|first| first.get(index)).or(others);
                    self.coerce_at(&index.to_string(), item, schema, depth)
                };
                Value::Array(items.into_iter().enumerate().map(item).collect())
            }
            other => other,
        }
    }

    fn coerce_at(&mut self, step: &str, value: Value, schema: Option<&'s Value>, depth: u32) -> Value {
        let Some(schema) = schema else { return value };
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(step);
        let value = self.coerce(value, schema, depth + 1);
        self.path.truncate(length);
        value
    }

    fn record(&mut self, what: String) {
        self.repairs.push(match self.path.as_str() {
            "" => what,
            path => format!("{path}: {what}"),
        });
    }
}

/// Whether a value has a type of JSON Schema.
fn has_type(value: &Value, name: &str) -> bool {
    match (name, value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(number)) => is_integer(number),
        _ => false,
    }
}

fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// The value that a text spells, if it is of this type.
fn parse_text(text: &str, name: &str) -> Option<Value> {
    let text = text.trim();
    match name {
        "integer" | "number" => {
            let number: Number = serde_json::from_str(text).ok()?;
            // More digits than the number keeps would be lost.
            let keeps = number.to_string() == text || !number.is_f64() || text.len() <= 15;
            (keeps && (name == "number" || is_integer(&number))).then_some(Value::Number(number))
        }
        "boolean" => match text.to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        "null" => text.eq_ignore_ascii_case("null").then_some(Value::Null),
        _ => None,
    }
}
