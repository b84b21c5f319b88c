//! Reads configurations and reports every invalid field with its path, and every unknown key.
//!
//! Keys can be camelCase or snake_case.

use std::cell::RefCell;

use hinagata::{Diagnostic, Error, Place, Reason, settings::snake_case};
use hinagata_document::type_message;
use hinagata_value::{ValueType, near_names};
use serde_json::{Map, Value};

/// The problems of a configuration.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    problems: Vec<(String, String)>,
    /// Unknown keys as paths, with similar names.
    unknown: Vec<(String, Vec<String>)>,
}

impl Shape {
    /// Records that the field at `path` is invalid.
    pub(crate) fn add_problem(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.problems.push((path.into(), message.into()));
    }

    /// Warnings, or one error for all problems; `locate` finds the place of a field.
    pub(crate) fn finish(self, locate: &Locate<'_>) -> Result<Vec<Diagnostic>, Error> {
        let Some((path, message)) = self.problems.first() else {
            return Ok(self.unknown.iter().map(|unknown| unknown_key_warning(unknown, locate)).collect());
        };
        let more = match self.problems.len() {
            1 => String::new(),
            2 => ", and 1 more problem".to_owned(),
            count => format!(", and {} more problems", count - 1),
        };
        let paths: Vec<&str> = self.problems.iter().map(|(path, _)| path.as_str()).collect();
        let problems: Vec<Value> =
            self.problems.iter().map(|problem| problem_value(problem, locate)).collect();
        let error = Error::definition(Reason::Settings, format!("`{path}` {message}{more}"))
            .with("paths", paths)
            .with("problems", problems);
        Err(locate(path).into_iter().fold(error, Error::at))
    }
}

/// The warning about an unknown key.
fn unknown_key_warning((path, near): &(String, Vec<String>), locate: &Locate<'_>) -> Diagnostic {
    let error = Error::definition(Reason::Settings, format!("unknown setting `{path}`"))
        .with("setting", path.as_str())
        .with_near(near.clone())
        .with_hint("docs/reference/context.md lists the keys of `context` and `agents`");
    let place = locate(path);
    let file = place.as_ref().map_or(hinagata::SETTINGS_FILE, |place| &place.file).to_owned();
    Diagnostic::warning(file, place.into_iter().fold(error, Error::at))
}

/// Finds the place of a field.
pub(crate) type Locate<'l> = dyn Fn(&str) -> Option<Place> + 'l;

/// A problem, with its place.
fn problem_value((path, message): &(String, String), locate: &Locate<'_>) -> Value {
    let mut value = serde_json::json!({"setting": path, "message": format!("`{path}` {message}")});
    if let Some(place) = locate(path) {
        value["file"] = place.file.into();
        value["line"] = place.line.into();
        value["column"] = place.column.into();
    }
    value
}

/// An object of the configuration, and its path.
pub(crate) struct Section<'s> {
    pub(crate) path: String,
    entries: Option<&'s Map<String, Value>>,
    /// The keys that were read, in snake_case.
    read_keys: RefCell<Vec<String>>,
}

impl<'s> Section<'s> {
    /// The whole configuration.
    pub(crate) fn root(value: &'s Value, shape: &mut Shape) -> Self {
        Self::new(String::new(), Some(value), shape)
    }

    fn new(path: String, value: Option<&'s Value>, shape: &mut Shape) -> Self {
        let entries = match value {
            None | Some(Value::Null) => None,
            Some(Value::Object(entries)) => Some(entries),
            Some(other) => {
                shape.add_problem(path.clone(), type_message(ValueType::Object, ValueType::of_value(other)));
                None
            }
        };
        Self { path, entries, read_keys: RefCell::default() }
    }

    /// Reports unknown keys; call it after reading all fields of a section.
    pub(crate) fn finish(&self, shape: &mut Shape) {
        let read_keys = self.read_keys.borrow();
        for key in self.entries.into_iter().flat_map(Map::keys) {
            let snake = snake_case(key);
            if read_keys.contains(&snake) {
                continue;
            }
            // Similar names use the spelling of the author.
            let camel = *key != snake;
            let spelled = |name: &String| if camel { camel_case(name) } else { name.clone() };
            let near = near_names(&snake, read_keys.iter().map(String::as_str)).iter().map(spelled).collect();
            shape.unknown.push((self.field_path(key), near));
        }
    }

    /// Whether the section exists and is an object.
    pub(crate) fn is_present(&self) -> bool {
        self.entries.is_some()
    }

    /// The path of a field.
    pub(crate) fn field_path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The field `key`, a camelCase name; null counts as missing.
    pub(crate) fn get(&self, key: &str) -> Option<&'s Value> {
        self.read_keys.borrow_mut().push(snake_case(key));
        let entries = self.entries?;
        let found = entries.get(key).or_else(|| entries.get(&snake_case(key)));
        found.filter(|value| !value.is_null())
    }

    pub(crate) fn section(&self, key: &str, shape: &mut Shape) -> Section<'s> {
        Section::new(self.field_path(key), self.get(key), shape)
    }

    /// The sections of a list.
    pub(crate) fn sections(&self, key: &str, shape: &mut Shape) -> Vec<Section<'s>> {
        match self.get(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                let section = |(place, item)| {
                    Section::new(format!("{}[{place}]", self.field_path(key)), Some(item), shape)
                };
                items.iter().enumerate().map(section).collect()
            }
            Some(other) => {
                shape.add_problem(
                    self.field_path(key),
                    type_message(ValueType::List, ValueType::of_value(other)),
                );
                Vec::new()
            }
        }
    }

    pub(crate) fn text(&self, key: &str, shape: &mut Shape) -> Option<String> {
        match self.get(key)? {
            Value::String(text) => Some(text.clone()),
            other => {
                shape.add_problem(
                    self.field_path(key),
                    type_message(ValueType::String, ValueType::of_value(other)),
                );
                None
            }
        }
    }

    /// A required string.
    pub(crate) fn required_text(&self, key: &str, shape: &mut Shape) -> String {
        let problems = shape.problems.len();
        match self.text(key, shape) {
            Some(text) if !text.is_empty() => text,
            // The wrong type is already reported.
            _ if shape.problems.len() > problems => String::new(),
            Some(_) => {
                shape.add_problem(self.field_path(key), "must not be empty");
                String::new()
            }
            None => {
                shape.add_problem(self.field_path(key), "is missing");
                String::new()
            }
        }
    }

    pub(crate) fn text_list(&self, key: &str, shape: &mut Shape) -> Vec<String> {
        let all = match self.get(key) {
            None => Some(Vec::new()),
            Some(Value::String(text)) => Some(vec![text.clone()]),
            Some(Value::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            Some(_) => None,
        };
        all.unwrap_or_else(|| {
            shape.add_problem(self.field_path(key), "must be a list of strings");
            Vec::new()
        })
    }

    pub(crate) fn count(&self, key: &str, shape: &mut Shape) -> Option<u64> {
        let value = self.get(key)?;
        let count = value.as_u64();
        if count.is_none() {
            shape.add_problem(
                self.field_path(key),
                format!("must be {}, not {}", ValueType::Integer.noun(), describe_value(value)),
            );
        }
        count
    }

    pub(crate) fn flag(&self, key: &str, shape: &mut Shape) -> Option<bool> {
        let value = self.get(key)?;
        let flag = value.as_bool();
        if flag.is_none() {
            shape.add_problem(
                self.field_path(key),
                format!("must be true or false, not {}", describe_value(value)),
            );
        }
        flag
    }

    /// Variables: an object with arbitrary keys.
    pub(crate) fn variables(&self, key: &str, shape: &mut Shape) -> Map<String, Value> {
        match self.get(key) {
            None => Map::new(),
            Some(Value::Object(entries)) => entries.clone(),
            Some(other) => {
                shape.add_problem(
                    self.field_path(key),
                    type_message(ValueType::Object, ValueType::of_value(other)),
                );
                Map::new()
            }
        }
    }
}

/// A key in camelCase: `max_bytes` becomes `maxBytes`.
pub(crate) fn camel_case(key: &str) -> String {
    let mut camel = String::with_capacity(key.len());
    let mut up = false;
    for character in key.chars() {
        match character {
            '_' => up = true,
            _ if up => {
                camel.push(character.to_ascii_uppercase());
                up = false;
            }
            _ => camel.push(character),
        }
    }
    camel
}

fn describe_value(value: &Value) -> String {
    match value {
        Value::Number(_) | Value::Bool(_) => format!("`{value}`"),
        other => ValueType::of_value(other).noun().to_owned(),
    }
}
