//! Converts the arguments of callers, strings or JSON, to the declared types of a prompt's parameters.

use hinagata::{
    definition::{Parameter, ValueType},
    from_text,
};
use rmcp::{ErrorData, model::JsonObject};
use serde_json::{Map, Value, json};

use crate::{
    failure::{invalid_params_with, truncate_for_display},
    parameters::{accepts_empty, enum_values, item_values, value_text},
    prompt::PublicPrompt,
};

/// Maximum bytes of all arguments of a call.
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// The arguments of a call by what became of them.
#[derive(Debug, Default)]
pub(crate) struct CheckedArguments {
    /// Those of the declared type.
    pub(crate) variables: Map<String, Value>,
    /// Those of another type, with a sentence about each.
    pub(crate) problems: Vec<(String, String)>,
}

impl CheckedArguments {
    /// The variables, if every argument has the declared type.
    pub(crate) fn into_variables(self) -> Result<Map<String, Value>, ErrorData> {
        if self.problems.is_empty() { Ok(self.variables) } else { Err(problems_error(&self.problems)) }
    }
}

/// The error that names every wrong argument.
pub(crate) fn problems_error(problems: &[(String, String)]) -> ErrorData {
    let names: Vec<String> = problems.iter().map(|(name, _)| truncate_for_display(name)).collect();
    let sentences: Vec<&str> = problems.iter().map(|(_, problem)| problem.as_str()).collect();
    invalid_params_with(sentences.join("; "), json!({"code": "validation", "arguments": names}))
}

/// Converts the arguments of a call. One that was left blank is not passed.
///
/// # Errors
/// If an argument is unknown, or if they are too large.
pub(crate) fn check_arguments(
    prompt: &PublicPrompt,
    arguments: &JsonObject,
) -> Result<CheckedArguments, ErrorData> {
    let size: usize = arguments.iter().map(|(name, value)| name.len() + json_size(value)).sum();
    if size > MAX_ARGUMENT_BYTES {
        return Err(invalid_params_with(
            format!("the arguments exceed {} KiB", MAX_ARGUMENT_BYTES >> 10),
            json!({"code": "validation", "limit": MAX_ARGUMENT_BYTES}),
        ));
    }
    let (mut checked, mut has_unknown) = (CheckedArguments::default(), false);
    for (name, value) in arguments.iter().filter(|(_, value)| !value.is_null()) {
        let converted = match prompt.inherited.parameters.get(name) {
            Some(parameter) if is_blank(parameter, value) => continue,
            Some(parameter) => convert_argument(parameter, value),
            None if prompt.undeclared.contains(name) => Ok(value.clone()),
            None => {
                has_unknown = true;
                Err(unknown_argument(prompt, name))
            }
        };
        match converted {
            Ok(value) => drop(checked.variables.insert(name.clone(), value)),
            Err(problem) => checked.problems.push((name.clone(), problem)),
        }
    }
    if has_unknown { Err(problems_error(&checked.problems)) } else { Ok(checked) }
}

/// Whether a value says that nothing was entered: hosts and forms pass `""` for a field that was left blank.
fn is_blank(parameter: &Parameter, value: &Value) -> bool {
    let Value::String(text) = value else { return false };
    let is_text = matches!(parameter.kind, ValueType::String | ValueType::Any);
    let blank = if is_text { text.is_empty() } else { text.trim().is_empty() };
    blank && !(is_text && accepts_empty(parameter))
}

fn unknown_argument(prompt: &PublicPrompt, name: &str) -> String {
    let declared = prompt.inherited.parameters.iter().map(|parameter| parameter.name.as_str());
    let all: Vec<&str> = declared.chain(prompt.undeclared.iter().map(String::as_str)).collect();
    let near = hinagata_value::near_names(name, all.iter().copied());
    let sentence = format!("`{}` has no argument `{}`", prompt.name, truncate_for_display(name));
    match near.first() {
        Some(near) => format!("{sentence}; did you mean `{near}`?"),
        None => sentence,
    }
}

/// Converts a value to the declared type: a string is parsed, and a JSON value must already have the type.
fn convert_argument(parameter: &Parameter, value: &Value) -> Result<Value, String> {
    let found = chosen_value(parameter, value).or_else(|| match value {
        Value::String(text) => from_text(parameter, text).ok(),
        other => parameter.kind.fits(other).then(|| other.clone()),
    });
    found.ok_or_else(|| {
        let given = if parameter.secret {
            "the passed value".to_owned()
        } else {
            format!("`{}`", truncate_for_display(&value_text(value)))
        };
        format!("`{}` must be {}, not {given}", parameter.name, type_noun(parameter.kind))
    })
}

/// The declared value that a text chooses, or the items that a list of texts chooses.
fn chosen_value(parameter: &Parameter, value: &Value) -> Option<Value> {
    let choose = |values: &[Value], text: &Value| {
        let text = text.as_str()?;
        values.iter().find(|value| value_text(value) == text).cloned()
    };
    match value {
        Value::String(_) => choose(enum_values(parameter)?, value),
        Value::Array(items) => {
            let values = item_values(parameter)?;
            items.iter().map(|item| choose(values, item)).collect()
        }
        _ => None,
    }
}

/// The declared type in a sentence; lists and objects are written as JSON.
fn type_noun(kind: ValueType) -> &'static str {
    match kind {
        ValueType::List => "a JSON list",
        ValueType::Object => "a JSON object",
        other => other.noun(),
    }
}

/// The approximate size of a value as JSON, in bytes.
fn json_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| json_size(item) + 1).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + json_size(value) + 1).sum(),
        _ => 8,
    }
}
