//! What can be asserted: one row per check in [`CheckKind`], read by [`Check::from_value`], run by `run.rs`.

mod assertion;
mod expression;
mod run;
mod text;

use std::sync::Arc;

use fancy_regex::Regex;
use jsonschema::Validator;
use serde_json::Value;

pub use assertion::{Assertion, ExpectedError, PathQuery, Target};
pub(crate) use run::combine_verdicts;
#[cfg(feature = "llm")]
pub(crate) use run::pretty_json;
pub use run::{AnswerFacts, Grade, Services, Subject, Verdict};
#[cfg(feature = "llm")]
pub(crate) use text::find_json;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        /// What kind of thing is asserted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CheckKind {
            $($(#[$doc])* $variant,)*
        }

        impl CheckKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in test files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// Equals a text, or a value as JSON.
    Equals "equals";
    /// Contains a text.
    Contains "contains";
    /// Contains every text of a list.
    ContainsAll "contains-all";
    /// Contains one text of a list.
    ContainsAny "contains-any";
    /// Contains a text in any case.
    IContains "icontains";
    /// Contains every text of a list in any case.
    IContainsAll "icontains-all";
    /// Contains one text of a list in any case.
    IContainsAny "icontains-any";
    /// Starts with a text.
    StartsWith "starts-with";
    /// A regular expression finds something.
    Regex "regex";
    /// Is JSON that follows a schema, if there is one.
    IsJson "is-json";
    /// Contains JSON that follows a schema, if there is one.
    ContainsJson "contains-json";
    /// Is well-formed XML.
    IsXml "is-xml";
    /// Contains well-formed XML.
    ContainsXml "contains-xml";
    /// Has a number of words.
    WordCount "word-count";
    /// Few edits lead to a text.
    Levenshtein "levenshtein";
    /// The answer took at most a number of milliseconds.
    Latency "latency";
    /// The answer cost at most a number of dollars.
    Cost "cost";
    /// Why the answer ended.
    FinishReason "finish-reason";
    /// The answer calls tools that the request offers, with arguments that follow their schemas.
    ToolsCall "is-valid-openai-tools-call";
    /// A model grades the result.
    Rubric "llm-rubric";
    /// Follows a JSON Schema.
    Schema "schema";
    /// Has a number of tokens.
    Tokens "tokens";
    /// Equals the snapshot.
    Snapshot "snapshot";
    /// The roles of the messages.
    Roles "roles";
    /// Templates read no undefined variable.
    NoUndefined "no-undefined";
    /// The render ends with an error.
    Error "error";
    /// An expression of Jinja holds.
    Expression "expression";
    /// A JSONPath selects something.
    Exists "path";
    /// Several assertions with a threshold of their own.
    Set "assert-set";
}

impl CheckKind {
    /// The kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The names of all kinds.
    #[must_use]
    pub fn all_names() -> Vec<&'static str> {
        Self::ALL.iter().map(|kind| kind.name()).collect()
    }
}

/// The value of a check as a file states it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckValue {
    /// The value.
    pub value: Option<Value>,
    /// The threshold beside it.
    pub threshold: Option<f64>,
    /// The model that grades.
    pub model: Option<String>,
    /// Whether texts of the value are templates over the variables of the case.
    pub is_template: bool,
}

/// Which of several texts have to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// All of them.
    All,
    /// One of them.
    Any,
}

/// Something that has to hold, ready to run.
#[derive(Clone, Debug)]
pub enum Check {
    /// Equals a text or a value.
    Equals(Value),
    /// Contains texts.
    Contains {
        /// The texts.
        texts: Vec<String>,
        /// Which of them.
        needed: Needed,
        /// Whether upper and lower case are the same.
        ignore_case: bool,
    },
    /// Starts with a text.
    StartsWith(String),
    /// A regular expression finds something.
    Regex(Arc<Regex>),
    /// Is JSON, and follows a schema.
    IsJson(Option<Arc<Validator>>),
    /// Contains JSON that follows a schema.
    ContainsJson(Option<Arc<Validator>>),
    /// Is XML with these elements, each a path of names with dots.
    IsXml(Vec<String>),
    /// Contains XML with these elements.
    ContainsXml(Vec<String>),
    /// Has so many words.
    WordCount {
        /// At least.
        min: u64,
        /// At most.
        max: u64,
    },
    /// Few edits lead to a text.
    Levenshtein {
        /// The text.
        text: String,
        /// Most edits.
        most: u64,
    },
    /// Most milliseconds of the answer.
    Latency(f64),
    /// Most dollars of the answer.
    Cost(f64),
    /// Why the answer ended.
    FinishReason(String),
    /// Valid calls of tools.
    ToolsCall,
    /// A model grades the result.
    Rubric {
        /// What the model has to judge.
        text: String,
        /// The model.
        model: Option<String>,
        /// The least score.
        threshold: Option<f64>,
    },
    /// Follows a JSON Schema.
    Schema(Arc<Validator>),
    /// Has so many tokens of a model.
    Tokens {
        /// The model.
        model: Option<String>,
        /// At least.
        min: u64,
        /// At most.
        max: u64,
    },
    /// Equals a snapshot, which may have a name.
    Snapshot(Option<String>),
    /// The roles of the messages, in order.
    Roles(Vec<String>),
    /// Templates read no undefined variable.
    NoUndefined,
    /// The render ends with an error.
    Error(ExpectedError),
    /// An expression of Jinja is true, or a score that is high enough.
    Expression {
        /// The expression.
        text: String,
        /// The least score.
        threshold: Option<f64>,
    },
    /// A path selects something.
    Exists,
    /// Several assertions.
    Set {
        /// The assertions.
        assertions: Vec<Assertion>,
        /// The share of their weights that has to pass; all of them without it.
        threshold: Option<f64>,
    },
    /// A check whose value is a template.
    Template {
        /// The kind of the check.
        kind: CheckKind,
        /// The value, with templates.
        value: CheckValue,
    },
}

impl Check {
    /// Whether it looks at the error of a render.
    #[must_use]
    pub fn is_about_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }

    /// The check of a kind with this value.
    ///
    /// # Errors
    /// A message: the value does not suit the kind.
    pub fn from_value(kind: CheckKind, all: CheckValue) -> Result<Self, String> {
        if all.is_template {
            return Ok(Self::Template { kind, value: all });
        }
        let CheckValue { value, threshold, model, .. } = all;
        let name = kind.name();
        let contains = |needed, ignore_case| {
            let texts = text_list(name, value.as_ref(), needed)?;
            Ok(Self::Contains { texts, needed, ignore_case })
        };
        match kind {
            CheckKind::Equals => value.map(Self::Equals).ok_or_else(|| missing_value(name)),
            CheckKind::Contains => one_text(name, value.as_ref()).map(|text| Self::Contains {
                texts: vec![text],
                needed: Needed::All,
                ignore_case: false,
            }),
            CheckKind::IContains => one_text(name, value.as_ref()).map(|text| Self::Contains {
                texts: vec![text],
                needed: Needed::All,
                ignore_case: true,
            }),
            CheckKind::ContainsAll => contains(Needed::All, false),
            CheckKind::ContainsAny => contains(Needed::Any, false),
            CheckKind::IContainsAll => contains(Needed::All, true),
            CheckKind::IContainsAny => contains(Needed::Any, true),
            CheckKind::StartsWith => one_text(name, value.as_ref()).map(Self::StartsWith),
            CheckKind::Regex => {
                let text = one_text(name, value.as_ref())?;
                let regex =
                    Regex::new(&text).map_err(|error| format!("invalid regular expression: {error}"))?;
                Ok(Self::Regex(Arc::new(regex)))
            }
            CheckKind::IsJson => optional_schema(value.as_ref()).map(Self::IsJson),
            CheckKind::ContainsJson => optional_schema(value.as_ref()).map(Self::ContainsJson),
            CheckKind::IsXml => xml_elements(value.as_ref()).map(Self::IsXml),
            CheckKind::ContainsXml => xml_elements(value.as_ref()).map(Self::ContainsXml),
            CheckKind::WordCount => {
                let (min, max) = count_range(name, value.as_ref())?;
                Ok(Self::WordCount { min, max })
            }
            CheckKind::Levenshtein => {
                let most = threshold.unwrap_or(5.0);
                if !(0.0..=1e9).contains(&most) {
                    return Err("`threshold` must be a number of edits".to_owned());
                }
                Ok(Self::Levenshtein { text: one_text(name, value.as_ref())?, most: most as u64 })
            }
            CheckKind::Latency => amount(name, value.as_ref(), threshold).map(Self::Latency),
            CheckKind::Cost => amount(name, value.as_ref(), threshold).map(Self::Cost),
            CheckKind::FinishReason => one_text(name, value.as_ref()).map(Self::FinishReason),
            CheckKind::ToolsCall => Ok(Self::ToolsCall),
            CheckKind::Rubric => Ok(Self::Rubric { text: one_text(name, value.as_ref())?, model, threshold }),
            CheckKind::Schema => {
                let schema = value.ok_or_else(|| missing_value(name))?;
                compile_schema(&schema).map(Self::Schema)
            }
            CheckKind::Tokens => tokens_check(name, value.as_ref(), model),
            CheckKind::Snapshot => match value {
                None | Some(Value::Null | Value::Bool(true)) => Ok(Self::Snapshot(None)),
                Some(Value::String(name)) => Ok(Self::Snapshot(Some(name))),
                Some(_) => Err("`snapshot` must be true or a name".to_owned()),
            },
            CheckKind::Roles => text_list(name, value.as_ref(), Needed::All).map(Self::Roles),
            CheckKind::NoUndefined => Ok(Self::NoUndefined),
            CheckKind::Expression => {
                let text = one_text(name, value.as_ref())?;
                expression::compile_expression(&text)?;
                Ok(Self::Expression { text, threshold })
            }
            CheckKind::Exists => Ok(Self::Exists),
            CheckKind::Error | CheckKind::Set => Err(format!("`{name}` cannot be a template")),
        }
    }
}

fn missing_value(name: &str) -> String {
    format!("`{name}` needs a value")
}

/// The text of a plain value.
pub(crate) fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn one_text(name: &str, value: Option<&Value>) -> Result<String, String> {
    let value = value.ok_or_else(|| missing_value(name))?;
    plain_text(value).ok_or_else(|| format!("`{name}` needs a text"))
}

/// A list of texts; a single text is a list with commas.
fn text_list(name: &str, value: Option<&Value>, needed: Needed) -> Result<Vec<String>, String> {
    let texts = match value.ok_or_else(|| missing_value(name))? {
        Value::Array(items) => {
            let texts: Option<Vec<String>> = items.iter().map(plain_text).collect();
            texts.ok_or_else(|| format!("`{name}` needs a list of texts"))?
        }
        Value::String(text) => text.split(',').map(|part| part.trim().to_owned()).collect(),
        other => vec![plain_text(other).ok_or_else(|| format!("`{name}` needs a list of texts"))?],
    };
    if texts.is_empty() && needed == Needed::Any {
        return Err(format!("`{name}` needs at least one text"));
    }
    Ok(texts)
}

fn optional_schema(value: Option<&Value>) -> Result<Option<Arc<Validator>>, String> {
    match value {
        None | Some(Value::Null | Value::Bool(true)) => Ok(None),
        Some(schema) => compile_schema(schema).map(Some),
    }
}

fn compile_schema(schema: &Value) -> Result<Arc<Validator>, String> {
    if !schema.is_object() && !schema.is_boolean() {
        return Err("the JSON Schema must be an object".to_owned());
    }
    jsonschema::validator_for(schema).map(Arc::new).map_err(|error| format!("invalid JSON Schema: {error}"))
}

fn xml_elements(value: Option<&Value>) -> Result<Vec<String>, String> {
    match value {
        None | Some(Value::Null | Value::Bool(true)) => Ok(Vec::new()),
        Some(Value::Object(fields)) => {
            text_list("requiredElements", fields.get("requiredElements"), Needed::All)
        }
        Some(value) => text_list("is-xml", Some(value), Needed::All),
    }
}

/// A count, or a range of counts as `{min, max}`.
fn count_range(name: &str, value: Option<&Value>) -> Result<(u64, u64), String> {
    let wrong = || format!("`{name}` needs a number, or `min` and `max`");
    match value.ok_or_else(|| missing_value(name))? {
        Value::Number(number) => number.as_u64().map(|count| (count, count)).ok_or_else(wrong),
        Value::String(text) => text.trim().parse().map(|count| (count, count)).map_err(|_| wrong()),
        Value::Object(fields) => {
            let bound = |key: &str, otherwise: u64| match fields.get(key) {
                None => Ok(otherwise),
                Some(value) => value.as_u64().ok_or_else(wrong),
            };
            let (min, max) = (bound("min", 0)?, bound("max", u64::MAX)?);
            if !fields.contains_key("min") && !fields.contains_key("max") {
                return Err(wrong());
            }
            if min > max {
                return Err(format!("`min` of `{name}` is more than its `max`"));
            }
            Ok((min, max))
        }
        _ => Err(wrong()),
    }
}

/// A limit, as the value or as the threshold.
fn amount(name: &str, value: Option<&Value>, threshold: Option<f64>) -> Result<f64, String> {
    let amount = threshold.or_else(|| value.and_then(Value::as_f64));
    amount
        .filter(|amount| *amount >= 0.0)
        .ok_or_else(|| format!("`{name}` needs a `threshold`: a number from 0"))
}

fn tokens_check(name: &str, value: Option<&Value>, model: Option<String>) -> Result<Check, String> {
    let named = value.and_then(|value| value.get("model")).and_then(Value::as_str).map(str::to_owned);
    if let Some(fields) = value.and_then(Value::as_object)
        && let Some(unknown) = fields.keys().find(|key| !["model", "min", "max"].contains(&key.as_str()))
    {
        return Err(format!("unknown field `{unknown}` of `{name}`; it has `model`, `min` and `max`"));
    }
    // A single number is a limit: nobody wants a text of exactly so many tokens.
    let (min, max) = match value {
        Some(Value::Number(number)) => {
            (0, number.as_u64().ok_or_else(|| format!("`{name}` needs a number"))?)
        }
        value => count_range(name, value)?,
    };
    Ok(Check::Tokens { model: named.or(model), min, max })
}
