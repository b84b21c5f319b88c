//! Data with places: the common form of YAML, JSON, TOML and Python literals.

use hinagata_value::ValueType;
use serde_json::{Map, Number, Value};

use crate::place::LineColumn;

/// A value and its line and column in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Line and column.
    pub at: LineColumn,
    /// The value.
    pub data: Data,
}

/// The value of a [`Node`].
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in the order of the file; keys are unique.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// A value at a place.
    pub fn new(at: LineColumn, data: Data) -> Self {
        Self { at, data }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    /// The entries, if it is a map.
    pub fn as_map(&self) -> Option<&[(String, Self)]> {
        match &self.data {
            Data::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.data {
            Data::List(items) => Some(items),
            _ => None,
        }
    }

    /// The value of `key`, if it is a map that has one.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.data == Data::Null
    }

    /// The name of its type with an article, for messages.
    pub fn kind(&self) -> &'static str {
        self.value_type().noun()
    }

    /// Its type.
    pub fn value_type(&self) -> ValueType {
        match &self.data {
            Data::Null => ValueType::Null,
            Data::Bool(_) => ValueType::Boolean,
            Data::Number(number) if number.is_f64() => ValueType::Number,
            Data::Number(_) => ValueType::Integer,
            Data::String(_) => ValueType::String,
            Data::List(_) => ValueType::List,
            Data::Map(_) => ValueType::Object,
        }
    }

    /// The value without its places.
    pub fn to_value(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Number(number) => Value::Number(number.clone()),
            Data::String(text) => Value::String(text.clone()),
            Data::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Data::Map(entries) => Value::Object(
                entries.iter().map(|(key, node)| (key.clone(), node.to_value())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// A node without a place, for data that does not come from a file.
    pub fn from_value(value: &Value) -> Self {
        Self::from_value_at(value, LineColumn::default())
    }

    /// A node in which all nested values have the place `at`.
    pub fn from_value_at(value: &Value, at: LineColumn) -> Self {
        let inner = |value: &Value| Self::from_value_at(value, at);
        let data = match value {
            Value::Null => Data::Null,
            Value::Bool(value) => Data::Bool(*value),
            Value::Number(number) => Data::Number(number.clone()),
            Value::String(text) => Data::String(text.clone()),
            Value::Array(items) => Data::List(items.iter().map(inner).collect()),
            Value::Object(entries) => {
                Data::Map(entries.iter().map(|(key, value)| (key.clone(), inner(value))).collect())
            }
        };
        Self { at, data }
    }
}
