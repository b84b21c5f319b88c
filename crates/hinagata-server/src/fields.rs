//! Request bodies, read field by field. Fields that no reader took are unknown and reported.

use hinagata_document::{type_message, unknown_field_message};
use hinagata_value::{ValueType, near_names};
use serde_json::{Map, Value};

use crate::problem::Problem;

/// The fields of a body. A field that is `null` counts as missing.
pub(crate) struct Fields {
    rest: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Fields {
    pub(crate) fn new(body: Map<String, Value>) -> Self {
        Self { rest: body, known: Vec::new() }
    }

    pub(crate) fn take_value(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        // The order of the remaining fields does not matter.
        self.rest.swap_remove(name).filter(|value| !value.is_null())
    }

    pub(crate) fn take_string(&mut self, name: &'static str) -> Result<Option<String>, Problem> {
        self.take_typed(name, ValueType::String, |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    pub(crate) fn take_boolean(&mut self, name: &'static str) -> Result<Option<bool>, Problem> {
        self.take_typed(name, ValueType::Boolean, |value| value.as_bool())
    }

    pub(crate) fn take_list(&mut self, name: &'static str) -> Result<Option<Vec<Value>>, Problem> {
        self.take_typed(name, ValueType::List, |value| match value {
            Value::Array(items) => Some(items),
            _ => None,
        })
    }

    /// Takes an object; a missing one is empty.
    pub(crate) fn take_object(&mut self, name: &'static str) -> Result<Map<String, Value>, Problem> {
        let object = self.take_typed(name, ValueType::Object, |value| match value {
            Value::Object(object) => Some(object),
            _ => None,
        });
        object.map(Option::unwrap_or_default)
    }

    /// Takes an object some of whose members have a fixed type, unless they are `null`.
    pub(crate) fn take_object_with(
        &mut self,
        name: &'static str,
        members: &[(&str, ValueType)],
    ) -> Result<Map<String, Value>, Problem> {
        let object = self.take_object(name)?;
        for (member, expected) in members {
            let found = object.get(*member).filter(|value| !value.is_null()).map(ValueType::of_value);
            if let Some(found) = found.filter(|found| found != expected) {
                let message = type_message(*expected, found);
                return Err(Problem::bad_request(format!("`{name}.{member}` {message}")));
            }
        }
        Ok(object)
    }

    fn take_typed<T>(
        &mut self,
        name: &'static str,
        expected: ValueType,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.take_value(name) else { return Ok(None) };
        let found = ValueType::of_value(&value);
        let wrong = || Problem::bad_request(format!("`{name}` {}", type_message(expected, found)));
        read(value).map(Some).ok_or_else(wrong)
    }

    /// The fields that were not taken.
    pub(crate) fn into_rest(self) -> Map<String, Value> {
        self.rest
    }

    /// Reports a field that was not taken.
    pub(crate) fn check_unknown(self) -> Result<(), Problem> {
        let Some(unknown) = self.rest.keys().next() else { return Ok(()) };
        Err(Problem::bad_request(unknown_field_message(unknown))
            .with_member("near", near_names(unknown, self.known.iter().copied()))
            .with_hint(format!("known fields: {}", self.known.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: &Value) -> Fields {
        Fields::new(value.as_object().cloned().expect("is an object"))
    }

    #[test]
    fn fields_have_the_expected_type_or_are_errors() {
        let mut all = fields(&json!({"a": "x", "c": null, "d": {"e": 1}, "f": [1], "g": true}));
        assert_eq!(all.take_string("a").ok(), Some(Some("x".into())));
        assert_eq!(
            (all.take_string("c").ok(), all.take_object("d").ok().map(|map| map.len())),
            (Some(None), Some(1))
        );
        assert_eq!(
            (all.take_list("f").ok().flatten(), all.take_boolean("g").ok()),
            (Some(vec![json!(1)]), Some(Some(true)))
        );
        assert!(all.check_unknown().is_ok());
        let mut invalid = fields(&json!({"a": 1, "b": -1, "d": [], "f": {}, "g": "yes"}));
        assert!(invalid.take_string("a").is_err() && invalid.take_object("d").is_err());
        assert!(invalid.take_list("f").is_err() && invalid.take_boolean("g").is_err());
    }

    #[test]
    fn a_member_of_an_object_has_its_type_or_is_an_error() {
        let take = |value: Value| {
            fields(&json!({"context": value})).take_object_with("context", &[("model", ValueType::String)])
        };
        for fine in [json!({}), json!({"model": null}), json!({"model": "m", "other": 1})] {
            assert!(take(fine).is_ok());
        }
        let problem = take(json!({"model": 1})).expect_err("is no string").to_json();
        assert!(problem["detail"].as_str().is_some_and(|text| text.contains("`context.model`")), "{problem}");
    }

    #[test]
    fn an_unknown_field_is_reported_with_similar_names() {
        let mut all = fields(&json!({"variable": {}}));
        let _ = all.take_object("variables");
        let problem = all.check_unknown().expect_err("is unknown").to_json();
        assert_eq!(
            (&problem["near"], &problem["hint"]),
            (&json!(["variables"]), &json!("known fields: variables"))
        );
    }
}
