//! Checks that paths start at a known name and can have a value.

use hinagata_document::{Error, LineColumn, Reason, Result};
use hinagata_module::nearest_names;
use hinagata_template::Position;
use serde_json::{Value, json};

use super::spec::PathUse;
use crate::definition::{Parameter, Parameters, TemplateText, ValueType};

/// Names that every render has.
const ALWAYS: [&str; 4] = ["system", "environs", "variables", "args"];

/// The names that can have a value in a call.
pub struct KnownNames<'r> {
    /// Declared variables.
    pub parameters: &'r Parameters,
    /// Other names with values, such as those of variable providers.
    pub others: Vec<String>,
}

impl KnownNames<'_> {
    /// Whether `name` is known.
    pub fn has_name(&self, name: &str) -> bool {
        self.parameters.get(name).is_some()
            || ALWAYS.contains(&name)
            || self.others.iter().any(|known| known == name)
    }

    /// Declared names that are similar to `name`.
    pub fn similar_names(&self, name: &str) -> Vec<String> {
        nearest_names(name, self.parameters.iter().map(|parameter| parameter.name.as_str()))
    }
}

pub(super) fn check_paths(paths: &[PathUse], known_names: &KnownNames<'_>) -> Result<()> {
    let problems: Vec<(&PathUse, String)> = paths
        .iter()
        .filter(|used| !used.local)
        .filter_map(|used| Some((used, problem(used, known_names)?)))
        .collect();
    let Some((first, message)) = problems.first() else { return Ok(()) };
    let message = match problems.len() {
        1 => message.clone(),
        2 => format!("{message}, and 1 more problem"),
        count => format!("{message}, and {} more problems", count - 1),
    };
    let list: Vec<Value> = problems
        .iter()
        .map(|(used, message)| {
            json!({"path": used.path.as_str(), "message": message, "file": used.place.file,
                "line": used.place.line, "column": used.place.column})
        })
        .collect();
    let root = first.path.root();
    let error = Error::definition(Reason::UnknownPath, message)
        .with("path", first.path.as_str())
        .with("problems", list)
        .at(first.place.clone());
    Err(match known_names.has_name(root) {
        true => error.with_hint("correct the path, or the declaration under `context`"),
        false => error
            .with_near(known_names.similar_names(root))
            .with_hint(format!("declare `{root}` under `context`, or correct the path")),
    })
}

/// The error of a template that reads an undeclared variable.
pub fn unknown_variable(
    known_names: &KnownNames<'_>,
    name: &str,
    text: &TemplateText,
    position: Position,
) -> Error {
    let excerpt = text.text.lines().nth(position.line.saturating_sub(1) as usize).map(str::to_owned);
    let at = LineColumn { line: position.line, column: position.column };
    Error::definition(Reason::UnknownPath, format!("`{name}` is not in the context"))
        .with("path", name)
        .with_near(known_names.similar_names(name))
        .with_hint(format!("declare `{name}` under `context`, or correct the name"))
        .at(text.origin.place(&text.file, at, excerpt))
}

fn problem(used: &PathUse, known_names: &KnownNames<'_>) -> Option<String> {
    let root = used.path.root();
    match known_names.parameters.get(root) {
        Some(parameter) => dead_end(used, parameter),
        None if known_names.has_name(root) => None,
        None => Some(format!("the path `{}` starts at `{root}`, which is not in the context", used.path)),
    }
}

/// Why a path can never have a value, according to the declaration of its variable.
fn dead_end(used: &PathUse, parameter: &Parameter) -> Option<String> {
    let step = used.path.steps().next()?;
    if matches!(
        parameter.kind,
        ValueType::String | ValueType::Integer | ValueType::Number | ValueType::Boolean | ValueType::File
    ) {
        let kind = parameter.kind.name();
        return Some(format!("`{}` goes into `{}`, which has type {kind}", used.path, parameter.name));
    }
    let schema = parameter.schema.as_ref()?;
    let properties = schema.get("properties")?.as_object()?;
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    (closed && !properties.contains_key(step))
        .then(|| format!("`{}`: the schema of `{}` has no `{step}`", used.path, parameter.name))
}
