//! Questions about the declared parameters of a prompt.

use hinagata::definition::{Parameter, Parameters, ValueType};
use serde_json::Value;

/// The values of an enumeration.
pub(crate) fn enum_values(parameter: &Parameter) -> Option<&Vec<Value>> {
    parameter.schema.as_ref()?.get("enum")?.as_array().filter(|values| !values.is_empty())
}

/// A value as a caller would type it.
pub(crate) fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether the parameter takes any text, which may have several words.
pub(crate) fn is_free_text(parameter: &Parameter) -> bool {
    matches!(parameter.kind, ValueType::String | ValueType::Any) && enum_values(parameter).is_none()
}

/// Whether `""` is a value of the parameter, and not a field that was left blank.
pub(crate) fn accepts_empty(parameter: &Parameter) -> bool {
    let is_empty = |value: &Value| value.as_str() == Some("");
    let shortest =
        parameter.schema.as_ref().and_then(|schema| schema.get("minLength")).and_then(Value::as_u64);
    shortest == Some(0)
        || parameter.default.as_ref().is_some_and(is_empty)
        || enum_values(parameter).is_some_and(|values| values.iter().any(is_empty))
}

/// An argument that takes words of a typed line without its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineTarget<'p> {
    pub(crate) name: &'p str,
    /// Whether it takes any text.
    pub(crate) is_text: bool,
}

/// The arguments that take the words of a typed line: the required ones; if there are none, the first optional text; if
/// there is none either, all arguments. The others are passed by name.
pub(crate) fn line_targets<'p>(parameters: &'p Parameters, undeclared: &'p [String]) -> Vec<LineTarget<'p>> {
    let target =
        |parameter: &'p Parameter| LineTarget { name: &parameter.name, is_text: is_free_text(parameter) };
    let required: Vec<_> =
        parameters.iter().filter(|parameter| parameter.must_be_passed()).map(target).collect();
    if !required.is_empty() {
        return required;
    }
    if let Some(first) = parameters.iter().find(|parameter| is_free_text(parameter)) {
        return vec![target(first)];
    }
    let more = undeclared.iter().map(|name| LineTarget { name, is_text: true });
    parameters.iter().map(target).chain(more).collect()
}

/// The names of the places for words: the targets, and further ones for the rest of the line if a target is a text.
pub(crate) fn word_places(targets: &[LineTarget<'_>]) -> Vec<String> {
    /// More words than most lines have, and few enough for a menu.
    const MOST: usize = 20;
    let named = targets.iter().map(|target| target.name.to_owned());
    let more = targets.len() + 1..=MOST;
    let has_text = targets.iter().any(|target| target.is_text);
    named.chain(more.filter(|_| has_text).map(|number| format!("+{number}"))).collect()
}

/// The values of which a list has items.
pub(crate) fn item_values(parameter: &Parameter) -> Option<&Vec<Value>> {
    let items = parameter.schema.as_ref()?.get("items")?;
    items.get("enum")?.as_array().filter(|values| !values.is_empty())
}
