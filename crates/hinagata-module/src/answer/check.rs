//! Checks an answer against the schema that it has to follow.
//!
//! Text becomes a value in five steps: JSON is found in it, repaired, coerced where that loses nothing, validated, and only
//! then returned. A valid answer is never changed, and an invalid one never passes.

use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use super::{LIST_KEY, coerce::Coercion, find, repair};
use crate::{Error, Problem};

/// Most faults of one answer that are reported.
const MOST_FAULTS: usize = 20;

/// How answers are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerMode {
    /// An answer has to be JSON alone that follows the schema.
    Strict,
    /// JSON is found in the answer, repaired, and coerced where that loses nothing.
    #[default]
    Repair,
    /// Answers are not checked.
    Off,
}

impl AnswerMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Repair, Self::Off];

    /// The name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Repair => "repair",
            Self::Off => "off",
        }
    }

    /// The mode with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// A schema that answers have to follow.
#[derive(Clone, Debug)]
pub struct AnswerSchema {
    schema: Arc<Value>,
    validator: Arc<Validator>,
}

/// The value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedAnswer {
    /// The value, which follows the schema.
    pub value: Value,
    /// What was done to the text; empty if it was JSON alone that follows the schema.
    pub repairs: Vec<String>,
}

/// Why an answer does not follow its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerFault {
    /// The path in the value, such as `/items/0/name`; empty for the whole answer.
    pub path: String,
    /// The message: lower case, without a full stop.
    pub message: String,
}

/// A text that may be the value of an answer.
struct Candidate {
    value: Value,
    repairs: Vec<String>,
}

impl AnswerSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// If it is not a JSON Schema.
    pub fn new(schema: Arc<Value>) -> Result<Self, Error> {
        let validator = jsonschema::validator_for(&schema)
            .map_err(|error| Problem::new("", format!("invalid schema of the answer: {error}")))?;
        Ok(Self { schema, validator: Arc::new(validator) })
    }

    /// The schema itself.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The value of an answer; see the documentation of the module.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use hinagata_module::answer::{AnswerMode, AnswerSchema};
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    /// let schema = AnswerSchema::new(Arc::new(schema))?;
    /// let checked = schema.check_answer("Sure:\n```json\n{n: '3',}\n```", AnswerMode::Repair).expect("follows it");
    /// assert_eq!(checked.value, json!({"n": 3}));
    /// assert!(checked.repairs.iter().any(|repair| repair == "added missing quotes"), "{:?}", checked.repairs);
    /// assert!(schema.check_answer("{\"n\": \"three\"}", AnswerMode::Repair).is_err());
    /// # Ok::<(), hinagata_module::Error>(())
    /// ```
    ///
    /// # Errors
    /// Every fault with its path.
    pub fn check_answer(&self, text: &str, mode: AnswerMode) -> Result<CheckedAnswer, Vec<AnswerFault>> {
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            let value = self.unwrap_list(value);
            if self.validator.is_valid(&value) {
                return Ok(CheckedAnswer { value, repairs: Vec::new() });
            }
            if mode == AnswerMode::Strict {
                return Err(self.faults(&value));
            }
        } else if mode == AnswerMode::Strict {
            return Err(vec![AnswerFault {
                path: String::new(),
                message: "the answer is not JSON".to_owned(),
            }]);
        }
        let mut first_faults = None;
        for candidate in candidates(text) {
            match self.check_candidate(candidate) {
                Ok(checked) => return Ok(checked),
                Err(faults) => {
                    first_faults.get_or_insert(faults);
                }
            }
        }
        if let Some(checked) = self.plain_text(text) {
            return Ok(checked);
        }
        Err(first_faults.unwrap_or_else(|| {
            vec![AnswerFault { path: String::new(), message: "the answer contains no JSON".to_owned() }]
        }))
    }

    fn check_candidate(&self, candidate: Candidate) -> Result<CheckedAnswer, Vec<AnswerFault>> {
        let Candidate { value, mut repairs } = candidate;
        let value = self.unwrap_list(value);
        if self.validator.is_valid(&value) {
            return Ok(CheckedAnswer { value, repairs });
        }
        let mut coercion = Coercion::new(&self.schema);
        let value = coercion.coerce_value(value);
        repairs.extend(coercion.into_repairs());
        match self.validator.is_valid(&value) {
            true => Ok(CheckedAnswer { value, repairs }),
            false => Err(self.faults(&value)),
        }
    }

    /// The list in an object, which drivers put around it for providers that require an object.
    fn unwrap_list(&self, value: Value) -> Value {
        match value {
            Value::Object(mut fields) if fields.len() == 1 && fields.contains_key(LIST_KEY) => {
                let inner = fields.get(LIST_KEY).is_some_and(|inner| self.validator.is_valid(inner));
                match inner.then(|| fields.shift_remove(LIST_KEY)).flatten() {
                    Some(list) => list,
                    None => Value::Object(fields),
                }
            }
            other => other,
        }
    }

    /// The answer itself, where the schema wants a string.
    fn plain_text(&self, text: &str) -> Option<CheckedAnswer> {
        let value = Value::String(text.trim().to_owned());
        let repairs = vec!["the text of the answer is the string".to_owned()];
        self.validator.is_valid(&value).then_some(CheckedAnswer { value, repairs })
    }

    fn faults(&self, value: &Value) -> Vec<AnswerFault> {
        let fault = |error: jsonschema::ValidationError<'_>| AnswerFault {
            path: error.instance_path().to_string(),
            message: error.to_string(),
        };
        self.validator.iter_errors(value).take(MOST_FAULTS).map(fault).collect()
    }
}

/// The texts that may be the value, the most likely first: the whole answer, its code blocks, what brackets enclose.
fn candidates(text: &str) -> impl Iterator<Item = Candidate> {
    let whole = text.trim();
    let fenced = find::code_blocks(text).map(|block| (block, Some("taken from a code block")));
    let direct = find::balanced_texts(text).map(|part| (part, Some("taken from between other text")));
    let opened = find::cut_off_text(text).map(|part| (part, Some("taken from behind other text")));
    let is_json = whole.starts_with(['{', '[', '"']) || serde_json::from_str::<Value>(whole).is_ok();
    is_json.then_some((whole, None)).into_iter().chain(fenced).chain(direct).chain(opened).filter_map(
        |(text, how)| {
            let mut repairs: Vec<String> = how.map(str::to_owned).into_iter().collect();
            let value = match serde_json::from_str(text) {
                Ok(value) => value,
                Err(_) => {
                    let repaired = repair::repair_json_with_notes(text)?;
                    repairs.extend(repaired.1.into_iter().map(str::to_owned));
                    repaired.0
                }
            };
            Some(Candidate { value, repairs })
        },
    )
}
