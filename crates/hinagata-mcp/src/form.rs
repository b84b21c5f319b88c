//! The fields of a form for parameters, with what their declarations say about values.

use hinagata::definition::{Parameter, ValueType};
use serde_json::{Value, json};

use crate::{
    host::Revision,
    parameters::{enum_values, item_values, value_text},
};

/// Formats that fields of the protocol can have.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// The kinds of fields.
enum FieldKind<'p> {
    Text,
    Integer,
    Number,
    Boolean,
    /// A text that is one of these.
    Choice(&'p [Value]),
    /// Several of these texts.
    Choices(&'p [Value]),
    /// A list or an object, written as JSON.
    Json,
}

impl<'p> FieldKind<'p> {
    fn for_parameter(parameter: &'p Parameter, revision: Revision) -> Self {
        let items = item_values(parameter).filter(|_| revision.multi_select);
        match (parameter.kind, enum_values(parameter), items) {
            (ValueType::List, _, Some(items)) => Self::Choices(items),
            (ValueType::List | ValueType::Object, ..) => Self::Json,
            (_, Some(values), _) => Self::Choice(values),
            (ValueType::Integer, ..) => Self::Integer,
            (ValueType::Number, ..) => Self::Number,
            (ValueType::Boolean, ..) => Self::Boolean,
            _ => Self::Text,
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Choices(_) => "array",
            Self::Text | Self::Choice(_) | Self::Json => "string",
        }
    }

    /// The value in the type of the field; `None` if it has another type.
    fn default_value(&self, value: &Value) -> Option<Value> {
        let texts = |values: &[Value]| values.iter().map(value_text).collect::<Vec<String>>();
        match self {
            Self::Text => value.as_str().map(Into::into),
            Self::Integer => value.as_i64().map(Into::into),
            Self::Number => value.as_f64().map(Into::into),
            Self::Boolean => value.as_bool().map(Into::into),
            Self::Choice(values) => {
                Some(value_text(value)).filter(|text| texts(values).contains(text)).map(Into::into)
            }
            Self::Choices(values) => {
                let chosen = texts(value.as_array()?);
                chosen.iter().all(|text| texts(values).contains(text)).then(|| chosen.into())
            }
            Self::Json => Some(value_text(value).into()),
        }
    }
}

/// The field for a parameter. It starts with `typed`, if that can be shown, or with the default.
pub(crate) fn form_field(parameter: &Parameter, typed: Option<&Value>, revision: Revision) -> Value {
    let kind = FieldKind::for_parameter(parameter, revision);
    let mut field = json!({"type": kind.type_name(), "title": parameter.name});
    let mut notes = Vec::new();
    match &kind {
        FieldKind::Choice(values) => field["enum"] = values.iter().map(value_text).collect(),
        FieldKind::Choices(values) => {
            let values: Vec<String> = values.iter().map(value_text).collect();
            field["items"] = json!({"type": "string", "enum": values});
        }
        FieldKind::Json => notes.push("as JSON".to_owned()),
        _ => {}
    }
    add_constraints(parameter, &kind, &mut field, &mut notes);
    let own = parameter.default.as_ref().filter(|_| !parameter.must_be_passed());
    let start = [typed, own].into_iter().flatten().find_map(|value| kind.default_value(value));
    if let Some(start) = start {
        field["default"] = start;
    }
    let own = parameter.description.clone().unwrap_or_default();
    let description = match (own.is_empty(), notes.join("; ")) {
        (_, notes) if notes.is_empty() => own,
        (true, notes) => notes,
        (false, notes) => format!("{own} ({notes})"),
    };
    if !description.is_empty() {
        field["description"] = description.into();
    }
    field
}

/// Adds what the schema says: as a constraint where fields have it, else in words.
fn add_constraints(parameter: &Parameter, kind: &FieldKind<'_>, field: &mut Value, notes: &mut Vec<String>) {
    let Some(Value::Object(schema)) = &parameter.schema else { return };
    for (key, value) in schema {
        let fits = match (kind, key.as_str()) {
            (FieldKind::Integer, "minimum" | "maximum") => value.is_i64(),
            (FieldKind::Number, "minimum" | "maximum") => value.is_number(),
            (FieldKind::Text, "minLength" | "maxLength") => {
                value.as_u64().is_some_and(|n| n <= u32::MAX.into())
            }
            (FieldKind::Text, "format") => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
            (FieldKind::Choices(_), "minItems" | "maxItems") => value.is_u64(),
            _ => false,
        };
        if fits {
            field[key] = value.clone();
        } else if let Some(words) = constraint_words(key) {
            notes.push(format!("{words} {}", value_text(value)));
        }
    }
}

/// A constraint that no field has, in words; `None` for keywords that are no constraints or are shown otherwise.
fn constraint_words(key: &str) -> Option<&'static str> {
    Some(match key {
        "minimum" => "at least",
        "maximum" => "at most",
        "exclusiveMinimum" => "more than",
        "exclusiveMaximum" => "less than",
        "multipleOf" => "a multiple of",
        "minLength" => "shortest length",
        "maxLength" => "longest length",
        "minItems" => "fewest items:",
        "maxItems" => "most items:",
        "pattern" => "matching",
        "format" => "format:",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use hinagata::definition::{Origin, ParameterClass};
    use serde_json::Map;

    use super::*;

    const NEWEST: Revision = Revision { audio: true, links: true, multi_select: true };

    fn parameter(kind: ValueType, schema: Value) -> Parameter {
        Parameter {
            name: "x".to_owned(),
            class: ParameterClass::Optional,
            kind,
            default: None,
            description: None,
            origin: Origin::Default,
            aliases: Vec::new(),
            from: None,
            secret: false,
            schema: Some(schema),
            proposals: None,
            unknown: Map::new(),
            place: None,
            custom: None,
        }
    }

    #[test]
    fn a_field_has_the_constraints_of_its_parameter() {
        for (kind, schema, expected) in [
            (
                ValueType::Integer,
                json!({"minimum": 1, "maximum": 9, "multipleOf": 2}),
                json!({"type": "integer", "title": "x", "minimum": 1, "maximum": 9, "description": "a multiple of 2"}),
            ),
            (
                ValueType::String,
                json!({"minLength": 2, "format": "email", "pattern": "^a"}),
                json!({"type": "string", "title": "x", "minLength": 2, "format": "email", "description": "matching ^a"}),
            ),
            (
                ValueType::Integer,
                json!({"enum": [1, 2, 3]}),
                json!({"type": "string", "title": "x", "enum": ["1", "2", "3"]}),
            ),
            (
                ValueType::List,
                json!({"items": {"enum": ["a", "b"]}, "minItems": 1}),
                json!({"type": "array", "title": "x", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1}),
            ),
            (ValueType::Object, json!({}), json!({"type": "string", "title": "x", "description": "as JSON"})),
        ] {
            assert_eq!(form_field(&parameter(kind, schema), None, NEWEST), expected);
        }
    }

    #[test]
    fn a_field_starts_with_what_was_typed_or_with_the_default() {
        let mut choice = parameter(ValueType::Integer, json!({"enum": [1, 2]}));
        choice.default = Some(json!(2));
        assert_eq!(form_field(&choice, None, NEWEST)["default"], "2");
        assert_eq!(form_field(&choice, Some(&json!("1")), NEWEST)["default"], "1");
        assert_eq!(form_field(&choice, Some(&json!("7")), NEWEST)["default"], "2");
        let number = parameter(ValueType::Integer, json!({}));
        assert_eq!(form_field(&number, Some(&json!("seven")), NEWEST).get("default"), None);
    }

    #[test]
    fn several_choices_are_json_in_revisions_without_them() {
        let list = parameter(ValueType::List, json!({"items": {"enum": ["a", "b"]}}));
        let old = Revision { multi_select: false, ..NEWEST };
        assert_eq!(form_field(&list, None, old)["type"], "string");
    }
}
