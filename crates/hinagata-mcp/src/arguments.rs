//! Converts the arguments of callers, strings or JSON, to the declared types of a prompt's parameters.

use hinagata::{
    definition::{Parameter, ValueType},
    from_text,
};
use rmcp::{ErrorData, model::JsonObject};
use serde_json::{Map, Value, json};

use crate::{
    failure::{invalid_params_with, truncate_for_display},
    prompt::PublicPrompt,
};

/// Maximum bytes of all arguments of a call.
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// Converts the arguments of a call to variables.
pub(crate) fn variables_from_arguments(
    prompt: &PublicPrompt,
    arguments: Option<&JsonObject>,
) -> Result<Map<String, Value>, ErrorData> {
    let Some(arguments) = arguments else { return Ok(Map::new()) };
    let size: usize = arguments.iter().map(|(name, value)| name.len() + json_size(value)).sum();
    if size > MAX_ARGUMENT_BYTES {
        return Err(invalid_params_with(
            format!("the arguments exceed {} KiB", MAX_ARGUMENT_BYTES >> 10),
            json!({"code": "validation", "limit": MAX_ARGUMENT_BYTES}),
        ));
    }
    let (mut variables, mut problems) = (Map::new(), Vec::new());
    for (name, value) in arguments.iter().filter(|(_, value)| !value.is_null()) {
        let converted = match prompt.inherited.parameters.get(name) {
            Some(parameter) => convert_argument(parameter, value),
            None if prompt.undeclared.contains(name) => Ok(value.clone()),
            None => Err(unknown_argument(prompt, name)),
        };
        match converted {
            Ok(value) => {
                variables.insert(name.clone(), value);
            }
            Err(problem) => problems.push((name.clone(), problem)),
        }
    }
    if problems.is_empty() {
        return Ok(variables);
    }
    let names: Vec<String> = problems.iter().map(|(name, _)| truncate_for_display(name)).collect();
    let sentences: Vec<String> = problems.into_iter().map(|(_, problem)| problem).collect();
    Err(invalid_params_with(sentences.join("; "), json!({"code": "validation", "arguments": names})))
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
pub(crate) fn convert_argument(parameter: &Parameter, value: &Value) -> Result<Value, String> {
    let found = match value {
        Value::String(text) => from_text(parameter, text).ok(),
        other => parameter.kind.fits(other).then(|| other.clone()),
    };
    found.ok_or_else(|| {
        let given = if parameter.secret {
            "the passed value".to_owned()
        } else {
            format!("`{}`", truncate_for_display(&crate::prompt::value_text(value)))
        };
        format!("`{}` must be {}, not {given}", parameter.name, type_noun(parameter.kind))
    })
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
