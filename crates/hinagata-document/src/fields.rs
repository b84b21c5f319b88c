//! Reads the fields of documents and collects all problems, so that an author sees them at once.

use std::{cell::OnceCell, sync::Arc};

use hinagata_value::ValueType;
use serde_json::{Value, json};

use crate::{Data, Error, Hint, Node, Place, Reason, TextOrigin};

/// Maximum number of problems in one error.
const MAX_PROBLEMS: usize = 50;

/// A document that is being read, and the problems found so far.
#[derive(Debug)]
pub struct Fields<'a> {
    file: &'a str,
    text: &'a str,
    /// `text`, for texts that outlive this reader.
    content: OnceCell<Arc<str>>,
    problems: Vec<Problem>,
    /// Accepted fields that are probably mistakes.
    warnings: Vec<Problem>,
}

#[derive(Debug)]
struct Problem {
    field: String,
    message: String,
    hint: Option<Hint>,
    near: Vec<String>,
    place: Place,
}

impl Problem {
    fn into_error(self, file: &str) -> Error {
        let error = Error::definition(Reason::UnknownName, self.message)
            .with("file", file)
            .with("field", self.field)
            .with_near(self.near)
            .at(self.place);
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// The first 60 characters of an untrusted name, for messages.
pub fn truncate_for_display(name: &str) -> String {
    name.chars().take(60).collect()
}

/// The message about a value of the wrong type, without the name of its field: "must be a list, not a string".
pub fn type_message(expected: ValueType, found: ValueType) -> String {
    format!("must be {}, not {}", expected.noun(), found.noun())
}

/// The message about an unknown field: "unknown field `titel`".
pub fn unknown_field_message(name: &str) -> String {
    format!("unknown field `{}`", truncate_for_display(name))
}

impl<'a> Fields<'a> {
    /// A reader for `file`, whose content is `text`.
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, content: OnceCell::new(), problems: Vec::new(), warnings: Vec::new() }
    }

    /// The name of the file.
    pub fn file(&self) -> &'a str {
        self.file
    }

    /// The place of `node`.
    pub fn place(&self, node: &Node) -> Place {
        Place::at_line(self.file, self.text, node.at.line, node.at.column)
    }

    /// Adds a problem of a field.
    pub fn problem(&mut self, field: &str, node: &Node, message: impl Into<String>) {
        self.push(field, node, message.into(), None, Vec::new());
    }

    /// Adds a problem of a field, with a hint.
    pub fn problem_with_hint(
        &mut self,
        field: &str,
        node: &Node,
        message: impl Into<String>,
        hint: impl Into<Hint>,
    ) {
        self.push(field, node, message.into(), Some(hint.into()), Vec::new());
    }

    /// Adds a problem for an unknown key.
    pub fn unknown_key(&mut self, field: &str, node: &Node, key: &str, known: &[&str]) {
        let near = hinagata_value::near_names(key, known.iter().copied());
        let hint = near.is_empty().then(|| format!("use {}", known.join(", ")));
        let unknown = unknown_field_message(key);
        let message = if field == "(document)" { unknown } else { format!("{unknown} in `{field}`") };
        let place = self.place_of_key(key, node);
        self.push_at(&format!("{field}.{key}"), place, message, hint.map(Hint::from), near);
    }

    /// Adds a problem for an unknown class of variables.
    pub fn unknown_class(&mut self, field: &str, node: &Node, name: &str, known: &[&str]) {
        let near = hinagata_value::near_names(name, known.iter().copied());
        let hint = format!("use {}", known.join(", "));
        let message = format!("unknown class of variables `{}`", truncate_for_display(name));
        self.push_at(field, self.place_of_key(name, node), message, Some(hint.into()), near);
    }

    /// Adds a warning about a name that has no effect; `message` says why.
    pub fn warn_of_unknown(
        &mut self,
        field: &str,
        node: &Node,
        (name, message): (&str, &str),
        known: &[&str],
    ) {
        let near = hinagata_value::near_names(name, known.iter().copied());
        let hint = format!("use {}", known.join(", "));
        self.warn(field, node, name, message, Some(hint.into()), near);
    }

    /// Adds a warning about a field that has no effect; `message` says why, and `hint` what to do.
    pub fn warn_of_no_effect(
        &mut self,
        field: &str,
        node: &Node,
        (name, message): (&str, &str),
        hint: impl Into<Hint>,
    ) {
        self.warn(field, node, name, message, Some(hint.into()), Vec::new());
    }

    /// Adds a warning about an extra key if it is probably a typo of a known one.
    pub fn warn_of_typo(&mut self, field: &str, node: &Node, key: &str, known: &[&str]) {
        let near = hinagata_value::close_names(key, known.iter().copied());
        if !near.is_empty() {
            self.warn(field, node, key, &unknown_field_message(key), None, near);
        }
    }

    fn warn(
        &mut self,
        field: &str,
        node: &Node,
        name: &str,
        message: &str,
        hint: Option<Hint>,
        near: Vec<String>,
    ) {
        if self.warnings.len() < MAX_PROBLEMS {
            let place = self.place_of_key(name, node);
            let (field, message) = (field.to_owned(), message.to_owned());
            self.warnings.push(Problem { field, message, hint, near, place });
        }
    }

    /// The number of warnings so far.
    pub fn warning_count(&self) -> usize {
        self.warnings.len()
    }

    /// Turns all warnings but the first `known` into problems, for sections in which a typo would remove a protection.
    pub fn refuse_warnings(&mut self, known: usize) {
        let refused = self.warnings.split_off(known.min(self.warnings.len()));
        self.problems.extend(refused);
    }

    /// Removes and returns the warnings so far.
    pub fn take_warnings(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.warnings).into_iter().map(|warning| warning.into_error(self.file)).collect()
    }

    /// Adds a problem for an unknown section.
    pub fn unknown_section(&mut self, node: &Node, name: &str, known: &[&str]) {
        let near = hinagata_value::near_names(name, known.iter().copied());
        let display_name = truncate_for_display(name);
        let hint = match near.first() {
            Some(near) => format!("write `{near}`, or declare `{display_name}` under `custom_sections`"),
            None => format!("use one of {}, or declare it under `custom_sections`", known.join(", ")),
        };
        let (field, message) = (format!("sections.{name}"), format!("unknown section `{display_name}`"));
        self.push_at(&field, self.place_of_key(name, node), message, Some(hint.into()), near);
    }

    /// The place of the key of `node`, which is before the value on its line or on a line above.
    fn place_of_key(&self, key: &str, node: &Node) -> Place {
        /// Maximum number of comments and blank lines between a key and its value.
        const MAX_LINES_BETWEEN: usize = 20;
        let line = node.at.line.max(1) as usize;
        let is_key = |text: &str, at: usize| {
            let inside = |character: char| character.is_alphanumeric() || character == '_';
            let rest = text[at + key.len()..].trim_start_matches(['"', '\'', ']']).trim_start();
            !text[..at].ends_with(inside) && rest.starts_with([':', '='])
        };
        let above = self.text.lines().enumerate().take(line).skip(line.saturating_sub(MAX_LINES_BETWEEN));
        let found = above.collect::<Vec<_>>().into_iter().rev().find_map(|(index, text)| {
            // On the line of the value, the key comes before it.
            let end =
                if index + 1 == line { (node.at.column as usize).saturating_sub(1) } else { usize::MAX };
            let places = text.match_indices(key).filter(|(at, _)| !key.is_empty() && is_key(text, *at));
            let column = |at: usize| text[..at].chars().count();
            places.map(|(at, _)| column(at)).filter(|at| *at < end).last().map(|column| (index, column))
        });
        match found {
            Some((index, column)) => {
                let (line, column) = (u32::try_from(index + 1), u32::try_from(column + 1));
                Place::at_line(self.file, self.text, line.unwrap_or(u32::MAX), column.unwrap_or(u32::MAX))
            }
            None => self.place(node),
        }
    }

    /// Where `text`, the string `node`, is in the file.
    pub fn text_origin(&self, node: &Node, text: &Arc<str>) -> TextOrigin {
        if node.at.column == 0 {
            return TextOrigin::from_line(node.at.line);
        }
        let content = self.content.get_or_init(|| self.text.into());
        let new = if self.file.ends_with(".py") { TextOrigin::from_python } else { TextOrigin::from_string };
        new(Arc::clone(content), node.at, Arc::clone(text))
    }

    /// Adds a problem of a field at `place`.
    pub fn problem_at(&mut self, field: &str, place: Place, message: String) {
        self.push_at(field, place, message, None, Vec::new());
    }

    fn push(&mut self, field: &str, node: &Node, message: String, hint: Option<Hint>, near: Vec<String>) {
        self.push_at(field, self.place(node), message, hint, near);
    }

    fn push_at(&mut self, field: &str, place: Place, message: String, hint: Option<Hint>, near: Vec<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { field: field.to_owned(), message, hint, near, place });
        }
    }

    fn type_problem(&mut self, field: &str, node: &Node, expected: ValueType) {
        let message = format!("`{field}` {}", type_message(expected, node.value_type()));
        self.problem(field, node, message);
    }

    /// The string of a field; anything else is a problem.
    pub fn string(&mut self, field: &str, node: &Node) -> Option<String> {
        match &node.data {
            Data::String(text) => Some(text.clone()),
            Data::Number(_) | Data::Bool(_) => {
                let message = format!("`{field}` {}", type_message(ValueType::String, node.value_type()));
                self.problem_with_hint(field, node, message, "put it in quotes");
                None
            }
            _ => {
                self.type_problem(field, node, ValueType::String);
                None
            }
        }
    }

    /// The string of a field; null is `None` without a problem.
    pub fn optional_string(&mut self, field: &str, node: &Node) -> Option<String> {
        if node.is_null() { None } else { self.string(field, node) }
    }

    /// The boolean of a field; anything else is a problem.
    pub fn boolean(&mut self, field: &str, node: &Node) -> Option<bool> {
        match node.data {
            Data::Bool(value) => Some(value),
            _ => {
                let message = format!("`{field}` must be true or false, not {}", node.kind());
                self.problem(field, node, message);
                None
            }
        }
    }

    /// The entries of a field that is a map; anything else but null is a problem.
    pub fn map<'n>(&mut self, field: &str, node: &'n Node) -> &'n [(String, Node)] {
        node.as_map().unwrap_or_else(|| {
            if !node.is_null() {
                self.type_problem(field, node, ValueType::Object);
            }
            &[]
        })
    }

    /// The items of a field that is a list; anything else but null is a problem.
    pub fn list<'n>(&mut self, field: &str, node: &'n Node) -> &'n [Node] {
        node.as_list().unwrap_or_else(|| {
            if !node.is_null() {
                self.type_problem(field, node, ValueType::List);
            }
            &[]
        })
    }

    /// A list of strings; a single string is a list with one item.
    pub fn strings(&mut self, field: &str, node: &Node) -> Vec<String> {
        if let Some(text) = node.as_str() {
            return vec![text.to_owned()];
        }
        let items = self.list(field, node);
        items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| self.string(&format!("{field}[{index}]"), item))
            .collect()
    }

    /// The value that `parse` returns for a word; `names` lists the valid words.
    pub fn one_of<T>(
        &mut self,
        field: &str,
        node: &Node,
        names: &[&str],
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let word = self.string(field, node)?;
        let found = parse(&word);
        if found.is_none() {
            let near = hinagata_value::near_names(&word, names.iter().copied());
            let display_name = truncate_for_display(&word);
            let hint = format!("use one of {}", names.join(", "));
            self.push(field, node, format!("`{field}` cannot be `{display_name}`"), Some(hint.into()), near);
        }
        found
    }

    /// Returns one error with all problems, if there are any. Its place is that of the first.
    pub fn finish(self) -> Result<(), Error> {
        let Some(first) = self.problems.first() else { return Ok(()) };
        let message = match self.problems.len() {
            1 => first.message.clone(),
            count => format!("{}, and {} more problems", first.message, count - 1)
                .replace(" 1 more problems", " 1 more problem"),
        };
        let list: Vec<Value> = self
            .problems
            .iter()
            .map(|problem| {
                json!({
                    "field": problem.field, "message": problem.message, "hint": problem.hint,
                    "line": problem.place.line, "column": problem.place.column,
                })
            })
            .collect();
        let mut error = Error::definition(Reason::Fields, message)
            .with("file", self.file)
            .with("problems", list)
            .with_near(first.near.clone())
            .at(first.place.clone());
        if let Some(hint) = &first.hint {
            error = error.with_hint(hint);
        }
        Err(error)
    }
}
