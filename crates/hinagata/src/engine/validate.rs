//! Checks variables against the declarations of a prompt, and reports all problems at once.
//!
//! The reasons are in `docs/design/undefined-variables.md`.

use hinagata_value::Key;
use serde::Serialize;
use serde_json::{Map, Value};

use super::schema::Schemas;
use crate::{
    Code, Error, Hint, PromptId,
    definition::{Parameter, ParameterClass, Parameters, ValueType},
};

/// Names of the engine's own variables, which a caller cannot pass.
pub(crate) const RESERVED: [&str; 4] = ["variables", "args", "system", "environs"];

/// The problems of the variables of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Validation {
    /// Whether the prompt can be rendered.
    pub valid: bool,
    /// Required variables that neither the call nor the agent passes.
    pub missing: Vec<String>,
    /// Required variables of the wrong type.
    pub type_errors: Vec<TypeProblem>,
    /// Other variables of the wrong type; they do not stop a render.
    pub type_warnings: Vec<TypeProblem>,
    /// Variables that do not match their schema.
    pub schema_errors: Vec<SchemaProblem>,
    /// Variables with a reserved name.
    pub reserved: Vec<String>,
    /// Variables that have no effect, because the prompt neither declares nor reads them. If the reads are known only
    /// during a run, likely misspellings of declared names.
    pub unknown: Vec<UnknownVariable>,
}

/// A variable that has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnknownVariable {
    /// The variable.
    pub name: String,
    /// Similar names of variables that were not passed.
    pub near: Vec<String>,
}

/// A variable of the wrong type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TypeProblem {
    /// The variable.
    pub name: String,
    /// The declared type.
    pub expected: &'static str,
    /// The type of the value.
    pub actual: &'static str,
}

/// A variable that does not match its schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchemaProblem {
    /// The variable.
    pub name: String,
    /// The JSON pointer of the problem; empty for the value itself.
    pub path: String,
    /// The problem.
    pub message: String,
}

/// What a call passes for a parameter.
enum Passed<'v> {
    Fitting(&'v Value),
    WrongType(&'v Value),
    /// Nothing, and that is an error.
    Missing,
    /// Nothing, and nothing has to be passed.
    Absent,
}

impl<'v> Passed<'v> {
    /// The one rule about values of a call: what fits, and what is missing.
    #[inline]
    fn check(parameter: &Parameter, value: Option<&'v Value>) -> Self {
        match value {
            Some(value) if parameter.kind.fits(value) => Self::Fitting(value),
            Some(value) => Self::WrongType(value),
            None if parameter.must_be_passed() => Self::Missing,
            None => Self::Absent,
        }
    }
}

impl Validation {
    /// Checks the variables of the caller and of the agent.
    pub(super) fn check_call<'p>(
        parameters: impl Iterator<Item = (&'p Parameter, &'p Key)>,
        call: &Map<String, Value>,
        agent: Option<&Map<String, Value>>,
        schemas: &Schemas,
    ) -> Self {
        let mut found = Self::default();
        for (parameter, key) in parameters {
            let value =
                key.find_in(call).or_else(|| agent.and_then(|agent| agent.get(parameter.name.as_str())));
            match Passed::check(parameter, value) {
                Passed::Fitting(value) => found.schema_errors.extend(schemas.problems(parameter, value)),
                Passed::WrongType(value) => found.push_type_problem(parameter, value),
                Passed::Missing => found.missing.push(parameter.name.clone()),
                Passed::Absent => {}
            }
        }
        found.reserved = reserved(call);
        found.update_valid();
        found
    }

    /// Ignores reserved names.
    pub(super) fn allow_reserved(&mut self) {
        self.reserved.clear();
        self.update_valid();
    }

    fn update_valid(&mut self) {
        self.valid = self.missing.is_empty()
            && self.type_errors.is_empty()
            && self.schema_errors.is_empty()
            && self.reserved.is_empty();
    }

    fn push_type_problem(&mut self, parameter: &Parameter, value: &Value) {
        let problem = TypeProblem {
            name: parameter.name.clone(),
            expected: parameter.kind.name(),
            actual: ValueType::of_value(value).name(),
        };
        match parameter.class {
            ParameterClass::Required => self.type_errors.push(problem),
            ParameterClass::Optional | ParameterClass::Custom => self.type_warnings.push(problem),
        }
    }

    /// The error that reports every problem; `None` if the variables are valid.
    pub(super) fn into_error(self, id: &PromptId, parameters: &Parameters) -> Option<Error> {
        if self.valid {
            return None;
        }
        let mut sentences: Vec<String> = Vec::new();
        let quoted = |names: &[String]| format!("`{}`", names.join("`, `"));
        match self.missing.as_slice() {
            [] => {}
            [one] => sentences.push(format!("the required variable `{one}` is missing")),
            many => sentences.push(format!("the required variables {} are missing", quoted(many))),
        }
        for TypeProblem { name, expected, actual } in &self.type_errors {
            sentences.push(format!("`{name}` must be {}, not {}", noun_of(expected), noun_of(actual)));
        }
        for SchemaProblem { name, path, message } in &self.schema_errors {
            sentences.push(format!("`{name}{path}`: {message}"));
        }
        if !self.unknown.is_empty() {
            let names: Vec<String> = self.unknown.iter().map(|unknown| unknown.name.clone()).collect();
            let noun = if names.len() == 1 { "variable" } else { "variables" };
            sentences.push(format!("unknown {noun} {}", quoted(&names)));
        }
        if !self.reserved.is_empty() {
            sentences.push(format!("{} cannot be passed: the name is reserved", quoted(&self.reserved)));
        }
        let first = self.missing.first().or_else(|| self.type_errors.first().map(|problem| &problem.name));
        let place = first.and_then(|name| parameters.get(name)).and_then(|found| found.place.clone());
        let mut error = Error::new(Code::Validation, sentences.join("; "))
            .with("prompt_id", id.as_str())
            .with("missing", self.missing.clone())
            .with("type_errors", to_value(&self.type_errors));
        if !self.unknown.is_empty() {
            let near = self.unknown.iter().flat_map(|unknown| unknown.near.clone()).collect();
            error = error.with("unknown", to_value(&self.unknown)).with_near(near);
        }
        if !self.schema_errors.is_empty() {
            error = error.with("schema_errors", to_value(&self.schema_errors));
        }
        if !self.reserved.is_empty() {
            error = error.with("reserved", self.reserved.clone());
        }
        if let Some(name) = self.missing.first() {
            let kind = parameters.get(name).map_or(ValueType::Any, |found| found.kind);
            error = error.with_hint(Hint::PassVariable { name: name.clone(), kind });
        }
        Some(match place {
            Some(place) => error.at(place),
            None => error,
        })
    }
}

/// The number of declared values; `None` if a value has a wrong type or a required one is missing.
pub(super) fn count_fitting<'p>(
    parameters: impl Iterator<Item = (&'p Parameter, &'p Key)>,
    call: &Map<String, Value>,
) -> Option<usize> {
    let mut declared = 0;
    for (parameter, key) in parameters {
        match Passed::check(parameter, key.find_in(call)) {
            Passed::Fitting(_) => declared += 1,
            Passed::Absent => {}
            Passed::WrongType(_) | Passed::Missing => return None,
        }
    }
    Some(declared)
}

pub(super) fn reserved(call: &Map<String, Value>) -> Vec<String> {
    /// Up to this size, comparing all names is cheaper than lookups.
    const FEW: usize = 32;
    if call.len() <= FEW && !call.keys().any(|name| RESERVED.contains(&name.as_str())) {
        return Vec::new();
    }
    RESERVED.into_iter().filter(|name| call.contains_key(*name)).map(str::to_owned).collect()
}

fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// The type that a report calls `name`, in a sentence.
fn noun_of(name: &str) -> &'static str {
    ValueType::from_name(name).unwrap_or(ValueType::Null).noun()
}

/// Converts text to a value of the declared type, for doors that carry only text.
///
/// # Errors
/// If the text is not a value of that type.
pub fn from_text(parameter: &Parameter, text: &str) -> Result<Value, TypeProblem> {
    let wrong =
        || TypeProblem { name: parameter.name.clone(), expected: parameter.kind.name(), actual: "string" };
    let json = || serde_json::from_str::<Value>(text.trim()).ok().filter(|value| parameter.kind.fits(value));
    match parameter.kind {
        ValueType::String | ValueType::Any | ValueType::File => Ok(Value::String(text.to_owned())),
        ValueType::Boolean => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(Value::Bool(true)),
            "false" | "no" | "off" | "0" => Ok(Value::Bool(false)),
            _ => Err(wrong()),
        },
        ValueType::Integer | ValueType::Number | ValueType::List | ValueType::Object | ValueType::Null => {
            json().ok_or_else(wrong)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::definition;

    fn parameters(document: &Value) -> Parameters {
        let id = PromptId::new("p").expect("is an id");
        let document = json!({"userPrompt": "x", "parameters": document});
        definition::definition_from_json(&id, "store:p", &document, definition::Language::Jinja)
            .expect("reads")
            .parameters
    }

    fn check(declared: &Value, given: &Value) -> Validation {
        let call = given.as_object().expect("is a map");
        let parameters = parameters(declared);
        let schemas = Schemas::compile(&parameters).expect("compiles");
        let keys: Vec<Key> = parameters.iter().map(|parameter| Key::new(parameter.name.as_str())).collect();
        Validation::check_call(parameters.iter().zip(&keys), call, None, &schemas)
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let declared = json!([
            {"name": "a", "type": "string", "required": true}, {"name": "b", "type": "integer", "required": true},
            {"name": "c", "type": "list"}, {"name": "d", "type": "number", "required": true},
        ]);
        let found = check(&declared, &json!({"b": true, "c": "x", "d": null, "system": 1}));
        assert_eq!((found.missing.as_slice(), found.valid), (["a".to_owned()].as_slice(), false));
        let names: Vec<_> =
            found.type_errors.iter().map(|problem| (&*problem.name, problem.actual)).collect();
        assert_eq!(names, [("b", "boolean"), ("d", "null")]);
        assert_eq!((found.type_warnings.len(), found.reserved.len()), (1, 1));
        let error =
            found.into_error(&PromptId::new("p").expect("is an id"), &parameters(&declared)).expect("fails");
        assert!(
            error.message().contains("`a` is missing") && error.message().contains("`b` must be an integer")
        );
    }

    #[test]
    fn text_becomes_what_is_declared() {
        let all = parameters(&json!([
            {"name": "i", "type": "integer"}, {"name": "b", "type": "boolean"}, {"name": "l", "type": "list"},
            {"name": "s", "type": "string"}, {"name": "n", "type": "number"},
        ]));
        let convert = |name: &str, text: &str| from_text(all.get(name).expect("is declared"), text).ok();
        assert_eq!(convert("i", " 42 "), Some(json!(42)));
        assert_eq!((convert("i", "4.5"), convert("i", "x")), (None, None));
        assert_eq!((convert("b", "Yes"), convert("b", "off")), (Some(json!(true)), Some(json!(false))));
        assert_eq!((convert("l", "[1]"), convert("l", "1")), (Some(json!([1])), None));
        assert_eq!((convert("s", "42"), convert("n", "4.5")), (Some(json!("42")), Some(json!(4.5))));
    }

    #[cfg(feature = "schema")]
    #[test]
    fn a_schema_is_followed() {
        let declared = json!([{"name": "a", "required": true, "schema": {"type": "integer", "minimum": 3}}]);
        assert!(check(&declared, &json!({"a": 3})).valid);
        let found = check(&declared, &json!({"a": 2}));
        assert_eq!((found.valid, found.schema_errors.len()), (false, 1));
        let secret = json!([{"name": "a", "secret": true, "schema": {"enum": ["x"]}}]);
        let found = check(&secret, &json!({"a": "hunter2"}));
        assert!(!found.schema_errors[0].message.contains("hunter2"), "{found:?}");
    }
}
