//! The types of values in declarations and messages.

use serde_json::Value as Json;

/// The type of a value, and the only place that says how messages name it.
///
/// `hinagata-module` uses no other crate of the project, so it has its own names of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    List,
    /// An object.
    Object,
    /// Any value.
    Any,
    /// The content of a file. The value is its name.
    File,
    /// Null. Values have this type; nothing can be declared with it.
    Null,
}

impl ValueType {
    /// The names in declarations, with their types. The first name of a type is used in output.
    pub const NAMES: [(&'static str, Self); 17] = [
        ("string", Self::String),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("list", Self::List),
        ("dict", Self::Object),
        ("any", Self::Any),
        ("file", Self::File),
        ("str", Self::String),
        ("text", Self::String),
        ("int", Self::Integer),
        ("float", Self::Number),
        ("bool", Self::Boolean),
        ("array", Self::List),
        ("object", Self::Object),
        ("map", Self::Object),
        ("tuple", Self::List),
    ];

    /// The type with this name in a declaration.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, kind)| kind)
    }

    /// The type of `value`. A number is an integer or a number; a string is never a file.
    #[must_use]
    pub fn of_value(value: &Json) -> Self {
        match value {
            Json::Null => Self::Null,
            Json::Bool(_) => Self::Boolean,
            Json::Number(number) if number.is_f64() => Self::Number,
            Json::Number(_) => Self::Integer,
            Json::String(_) => Self::String,
            Json::Array(_) => Self::List,
            Json::Object(_) => Self::Object,
        }
    }

    /// Whether `value` has this type. True and false are not integers, and 3.0 is not one either.
    #[must_use]
    pub fn fits(self, value: &Json) -> bool {
        match self {
            Self::Any => true,
            Self::String | Self::File => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
            Self::Null => value.is_null(),
        }
    }

    /// The name on the wire: `string`, `dict`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::List => "list",
            Self::Object => "dict",
            Self::Any => "any",
            Self::File => "file",
            Self::Null => "null",
        }
    }

    /// The name in a sentence: `a string`, `an object`.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::List => "a list",
            Self::Object => "an object",
            Self::Any => "any value",
            Self::File => "a file name",
            Self::Null => "null",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_are_those_of_json() {
        for (kind, value, expected) in [
            (ValueType::Integer, json!(3), true),
            (ValueType::Integer, json!(3.0), false),
            (ValueType::Number, json!(3), true),
            (ValueType::Integer, json!(true), false),
            (ValueType::Boolean, json!(0), false),
            (ValueType::Object, json!({}), true),
            (ValueType::List, json!([]), true),
            (ValueType::String, json!(null), false),
            (ValueType::Any, json!(null), true),
            (ValueType::File, json!("notes.md"), true),
        ] {
            assert_eq!(kind.fits(&value), expected, "{kind:?} {value}");
        }
    }

    #[test]
    fn a_value_fits_its_own_type() {
        for value in [json!(null), json!(true), json!(1), json!(1.5), json!("a"), json!([]), json!({})] {
            assert!(ValueType::of_value(&value).fits(&value), "{value}");
        }
    }

    #[test]
    fn the_name_of_a_type_is_the_first_that_declares_it() {
        for (_, kind) in ValueType::NAMES {
            let first = ValueType::NAMES.into_iter().find(|(_, other)| *other == kind);
            assert_eq!(first.map(|(name, _)| name), Some(kind.name()));
            assert_eq!(ValueType::from_name(kind.name()), Some(kind));
        }
        assert_eq!(ValueType::from_name("null"), None);
    }
}
