//! Data with places: what YAML, JSON and Python literals have in common.

use serde_json::{Map, Number, Value};

use crate::place::At;

/// A value and where it stands in its file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: At,
    pub(crate) data: Data,
}

/// What a [`Node`] holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    pub(crate) fn new(at: At, data: Data) -> Self {
        Self { at, data }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_map(&self) -> Option<&[(String, Self)]> {
        match &self.data {
            Data::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Self]> {
        match &self.data {
            Data::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.data == Data::Null
    }

    /// What it is, with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.data {
            Data::Null => "null",
            Data::Bool(_) => "a boolean",
            Data::Number(_) => "a number",
            Data::String(_) => "a string",
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
        }
    }

    pub(crate) fn to_value(&self) -> Value {
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

    /// A value of nowhere in particular, as a document of a store has it.
    pub(crate) fn from_value(value: &Value) -> Self {
        Self::from_value_at(value, At::default())
    }

    /// A value that was made at `at`, with everything in it.
    pub(crate) fn from_value_at(value: &Value, at: At) -> Self {
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
