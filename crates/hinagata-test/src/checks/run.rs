//! Runs checks on the result of a case.

use std::time::Duration;

use hinagata::{Error, Rendered, Result};
use jsonschema::Validator;
use serde_json::{Map, Value};

use super::{Assertion, Check, CheckValue, Needed, Target, plain_text, text};
use crate::difference::{describe_difference, truncate_text};

/// The answer of a model, as checks see it.
#[derive(Clone, Debug, Default)]
pub struct AnswerFacts {
    /// Its text.
    pub text: String,
    /// The answer as an OpenAI chat completion.
    pub completion: Value,
    /// The body of the request.
    pub request: Value,
    /// How long it took, when it was recorded.
    pub latency: Duration,
    /// What it cost in dollars, if the settings have a price.
    pub cost: Option<f64>,
}

/// What a model says about a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Grade {
    /// Whether it passes.
    pub passed: bool,
    /// The score from 0 to 1.
    pub score: f64,
    /// Why.
    pub reason: String,
}

/// What checks need beside the result.
pub trait Services {
    /// The number of tokens of a text for a model, and whether it is exact.
    ///
    /// # Errors
    /// Those of finding the tokenizer.
    fn count_tokens(&self, model: &str, text: &str) -> Result<u64>;

    /// Lets a model judge a text.
    ///
    /// # Errors
    /// Code `model`.
    fn grade(&self, model: Option<&str>, rubric: &str, text: &str) -> Result<Grade>;

    /// Compares a text with its snapshot, or writes it.
    fn check_snapshot(&self, name: Option<&str>, ending: &str, text: &str) -> Verdict;

    /// The error about undefined variables, if the templates read any.
    fn find_undefined(&self) -> Option<Error>;
}

/// The result of a case, for checks.
pub struct Subject<'s> {
    /// The rendered prompt.
    pub rendered: &'s Rendered,
    /// The variables of the case.
    pub variables: &'s Map<String, Value>,
    /// How long the render took.
    pub render_time: Duration,
    /// The answer of the model.
    pub answer: Option<&'s AnswerFacts>,
}

/// What came out of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whether it holds.
    pub passed: bool,
    /// The score from 0 to 1.
    pub score: f64,
    /// What was found.
    pub message: String,
    /// The difference to what was expected.
    pub difference: Option<String>,
    /// The parts of a set.
    pub parts: Vec<(Assertion, Verdict)>,
}

impl Verdict {
    /// It holds.
    #[must_use]
    pub fn from_success() -> Self {
        Self::from_score(true, 1.0, String::new())
    }

    /// It does not hold.
    #[must_use]
    pub fn from_failure(message: impl Into<String>) -> Self {
        Self::from_score(false, 0.0, message.into())
    }

    fn from_score(passed: bool, score: f64, message: String) -> Self {
        Self { passed, score, message, difference: None, parts: Vec::new() }
    }

    fn from_outcome(outcome: std::result::Result<(), String>) -> Self {
        outcome.map_or_else(Self::from_failure, |()| Self::from_success())
    }

    /// The same with a difference.
    #[must_use]
    pub fn with_difference(mut self, difference: String) -> Self {
        self.difference = Some(difference).filter(|text| !text.is_empty());
        self
    }
}

impl PartialEq for Assertion {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

/// What a check looks at: a text, or a selected value.
enum Found {
    Text(String),
    Json(Value),
}

impl Found {
    fn as_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Json(value) => plain_text(value).unwrap_or_else(|| pretty_json(value)),
        }
    }

    fn as_json(&self) -> std::result::Result<Value, String> {
        match self {
            Self::Json(value) => Ok(value.clone()),
            Self::Text(text) => {
                serde_json::from_str(text.trim()).map_err(|error| format!("not JSON: {error}"))
            }
        }
    }
}

pub(crate) fn pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

impl Assertion {
    /// Runs the assertion.
    ///
    /// # Errors
    /// The result has no such form, or a model does not answer.
    pub fn run_check(&self, subject: &Subject<'_>, services: &dyn Services) -> Result<Verdict> {
        let verdict = match self.find_subject(subject)? {
            Ok(found) => self.check_found(&self.check, &found, subject, services)?,
            Err(message) => Verdict::from_failure(message),
        };
        Ok(if self.is_negated { self.negate(verdict) } else { verdict })
    }

    fn negate(&self, verdict: Verdict) -> Verdict {
        if verdict.passed {
            let what = self.describe();
            return Verdict {
                parts: verdict.parts,
                ..Verdict::from_failure(format!("{what} holds, and must not"))
            };
        }
        Verdict::from_success()
    }

    /// What is asserted, on one line.
    #[must_use]
    pub fn describe(&self) -> String {
        let not = if self.is_negated { "not-" } else { "" };
        let name = self.check.kind_name();
        let path = self.path.as_ref().map(|path| format!(" at {}", path.text)).unwrap_or_default();
        let on = self.target.map(|target| format!(" on {}", target.name())).unwrap_or_default();
        format!("{not}{name}{on}{path}")
    }

    /// The target of the assertion: where none is named, the answer if there is one, else the text.
    pub(crate) fn target_for(&self, has_answer: bool) -> Target {
        self.target.unwrap_or(match self.check {
            Check::Roles(_) => Target::Messages,
            Check::Tokens { .. } => Target::Text,
            _ if has_answer => Target::Answer,
            _ => Target::Text,
        })
    }

    fn find_subject(&self, subject: &Subject<'_>) -> Result<std::result::Result<Found, String>> {
        let found = match self.target_for(subject.answer.is_some()) {
            Target::Text => Found::Text(subject.rendered.text()),
            Target::Messages => Found::Json(messages_json(subject.rendered)),
            Target::Request(format) => match format.driver() {
                Some(driver) => {
                    let options = subject.rendered.request_options();
                    Found::Json(subject.rendered.format_request(driver, &options)?.to_value())
                }
                None => Found::Text(subject.rendered.text()),
            },
            Target::Answer => match subject.answer {
                Some(answer) => Found::Text(answer.text.clone()),
                None => return Ok(Err("the case has no model, so there is no answer".to_owned())),
            },
        };
        let Some(query) = &self.path else { return Ok(Ok(found)) };
        let value = match found.as_json() {
            Ok(value) => value,
            Err(message) => return Ok(Err(message)),
        };
        let nodes = query.path.query(&value).all();
        Ok(match nodes.as_slice() {
            [] => Err(format!("{} selects nothing", query.text)),
            [one] => Ok(Found::Json((*one).clone())),
            many => Ok(Found::Json(many.iter().map(|node| (*node).clone()).collect())),
        })
    }

    fn check_found(
        &self,
        check: &Check,
        found: &Found,
        subject: &Subject<'_>,
        services: &dyn Services,
    ) -> Result<Verdict> {
        let answer =
            || subject.answer.ok_or_else(|| "the case has no model, so there is no answer".to_owned());
        Ok(match check {
            Check::Equals(wanted) => check_equality(wanted, found),
            Check::Contains { texts, needed, ignore_case } => {
                check_contains(&found.as_text(), texts, *needed, *ignore_case)
            }
            Check::StartsWith(start) => {
                let text = found.as_text();
                match text.starts_with(start) {
                    true => Verdict::from_success(),
                    false => Verdict::from_failure(format!(
                        "it starts with {}, not with {}",
                        quote_text(&text),
                        quote_text(start)
                    )),
                }
            }
            Check::Regex(regex) => match regex.is_match(&found.as_text()) {
                Ok(true) => Verdict::from_success(),
                Ok(false) => Verdict::from_failure(format!(
                    "`{}` finds nothing in {}",
                    regex.as_str(),
                    quote_text(&found.as_text())
                )),
                Err(error) => Verdict::from_failure(format!("`{}` gives up: {error}", regex.as_str())),
            },
            Check::IsJson(schema) => Verdict::from_outcome(
                found.as_json().and_then(|value| check_schema(schema.as_deref(), &value)),
            ),
            Check::ContainsJson(schema) => check_contained_json(&found.as_text(), schema.as_deref()),
            Check::IsXml(elements) => Verdict::from_outcome(text::check_xml(&found.as_text(), elements)),
            Check::ContainsXml(elements) => {
                Verdict::from_outcome(text::contains_xml(&found.as_text(), elements))
            }
            Check::WordCount { min, max } => {
                let count = found.as_text().split_whitespace().count() as u64;
                check_range("words", count, *min, *max)
            }
            Check::Levenshtein { text: wanted, most } => {
                let text = found.as_text();
                match text::count_edits(&text, wanted) {
                    Ok(edits) if edits <= *most => Verdict::from_success(),
                    Ok(edits) => Verdict::from_failure(format!("{edits} edits, at most {most} are allowed"))
                        .with_difference(describe_difference(wanted, &text)),
                    Err(message) => Verdict::from_failure(message),
                }
            }
            Check::Latency(most) => {
                let latency = subject.answer.map_or(subject.render_time, |answer| answer.latency);
                let took = latency.as_secs_f64() * 1e3;
                let message = format!("it took {took:.0} ms, at most {most} ms are allowed");
                Verdict::from_outcome(if took <= *most { Ok(()) } else { Err(message) })
            }
            Check::Cost(most) => Verdict::from_outcome(answer().and_then(|answer| match answer.cost {
                Some(cost) if cost <= *most => Ok(()),
                Some(cost) => Err(format!("it cost ${cost:.6}, at most ${most} is allowed")),
                None => Err("the cost is unknown: set `price` of the model in the settings".to_owned()),
            })),
            Check::FinishReason(wanted) => Verdict::from_outcome(answer().and_then(|answer| {
                let reason = answer.completion.pointer("/choices/0/finish_reason").and_then(Value::as_str);
                match reason {
                    Some(reason) if reason == wanted => Ok(()),
                    found => {
                        Err(format!("the answer ended with `{}`, not `{wanted}`", found.unwrap_or("nothing")))
                    }
                }
            })),
            Check::ToolsCall => Verdict::from_outcome(answer().and_then(check_tool_calls)),
            Check::Rubric { text, model, threshold } => {
                let grade = services.grade(model.as_deref(), text, &found.as_text())?;
                let passed = match threshold {
                    Some(threshold) => grade.passed && grade.score >= *threshold,
                    None => grade.passed,
                };
                let least =
                    threshold.map(|least| format!(", at least {least} is needed")).unwrap_or_default();
                let message = format!("graded {:.2}{least}: {}", grade.score, grade.reason);
                Verdict::from_score(passed, grade.score, message)
            }
            Check::Schema(schema) => {
                Verdict::from_outcome(found.as_json().and_then(|value| check_schema(Some(schema), &value)))
            }
            Check::Tokens { model, min, max } => {
                let model = model.as_deref().unwrap_or("gpt-4o");
                check_range("tokens", services.count_tokens(model, &found.as_text())?, *min, *max)
            }
            Check::Snapshot(name) => {
                let ending = if matches!(found, Found::Json(_)) { "json" } else { "txt" };
                let text = match found {
                    Found::Json(value) => format!("{}\n", pretty_json(value)),
                    Found::Text(text) => text.clone(),
                };
                services.check_snapshot(name.as_deref(), ending, &text)
            }
            Check::Roles(wanted) => {
                let roles: Vec<String> =
                    subject.rendered.messages().into_iter().map(|message| message.role).collect();
                let message = || format!("the roles are {}, not {}", roles.join(", "), wanted.join(", "));
                Verdict::from_outcome(if roles == *wanted { Ok(()) } else { Err(message()) })
            }
            Check::NoUndefined => match services.find_undefined() {
                None => Verdict::from_success(),
                Some(error) => {
                    let place = error.place().map(|place| format!("{place}: ")).unwrap_or_default();
                    Verdict::from_failure(format!("{place}{}", error.message()))
                }
            },
            Check::Error(expected) => {
                Verdict::from_failure(format!("the render succeeds; expected {}", expected.code))
            }
            Check::Expression { text, threshold } => {
                match super::expression::run_expression(
                    text,
                    &found.as_text(),
                    found.as_json().ok(),
                    subject.variables,
                ) {
                    Ok(Value::Number(score)) => {
                        let score = score.as_f64().unwrap_or_default();
                        let passed = threshold.map_or(score > 0.0, |least| score >= least);
                        let least = threshold
                            .map(|least| format!(", at least {least} is needed"))
                            .unwrap_or_default();
                        Verdict::from_score(
                            passed,
                            score.clamp(0.0, 1.0),
                            format!("`{text}` is {score}{least}"),
                        )
                    }
                    Ok(value) => {
                        let holds = super::expression::is_true(&value);
                        let message = format!("`{text}` is {value} for {}", quote_text(&found.as_text()));
                        Verdict::from_outcome(if holds { Ok(()) } else { Err(message) })
                    }
                    Err(message) => Verdict::from_failure(format!("`{text}`: {message}")),
                }
            }
            // Selecting nothing was reported before.
            Check::Exists => Verdict::from_success(),
            Check::Set { assertions, threshold } => run_set(assertions, *threshold, subject, services)?,
            Check::Template { kind, value } => match fill_templates(value, subject.variables) {
                Ok(value) => match Check::from_value(*kind, value) {
                    Ok(check) => self.check_found(&check, found, subject, services)?,
                    Err(message) => Verdict::from_failure(message),
                },
                Err(message) => Verdict::from_failure(message),
            },
        })
    }
}

impl Check {
    /// The name of the kind, as test files write it.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Equals(_) => "equals",
            Self::Contains { needed, ignore_case, texts } => match (needed, ignore_case, texts.len()) {
                (Needed::All, false, 1) => "contains",
                (Needed::All, true, 1) => "icontains",
                (Needed::All, false, _) => "contains-all",
                (Needed::All, true, _) => "icontains-all",
                (Needed::Any, false, _) => "contains-any",
                (Needed::Any, true, _) => "icontains-any",
            },
            Self::StartsWith(_) => "starts-with",
            Self::Regex(_) => "regex",
            Self::IsJson(_) => "is-json",
            Self::ContainsJson(_) => "contains-json",
            Self::IsXml(_) => "is-xml",
            Self::ContainsXml(_) => "contains-xml",
            Self::WordCount { .. } => "word-count",
            Self::Levenshtein { .. } => "levenshtein",
            Self::Latency(_) => "latency",
            Self::Cost(_) => "cost",
            Self::FinishReason(_) => "finish-reason",
            Self::ToolsCall => "is-valid-openai-tools-call",
            Self::Rubric { .. } => "llm-rubric",
            Self::Schema(_) => "schema",
            Self::Tokens { .. } => "tokens",
            Self::Snapshot(_) => "snapshot",
            Self::Roles(_) => "roles",
            Self::NoUndefined => "no-undefined",
            Self::Error(_) => "error",
            Self::Expression { .. } => "expression",
            Self::Exists => "path",
            Self::Set { .. } => "assert-set",
            Self::Template { kind, .. } => kind.name(),
        }
    }
}

/// The messages as a list of roles and contents.
pub(crate) fn messages_json(rendered: &Rendered) -> Value {
    hinagata::RenderedBody::Messages(rendered.messages()).to_json()
}

/// Runs assertions that pass together.
pub(crate) fn run_set(
    assertions: &[Assertion],
    threshold: Option<f64>,
    subject: &Subject<'_>,
    services: &dyn Services,
) -> Result<Verdict> {
    let mut parts = Vec::with_capacity(assertions.len());
    for assertion in assertions {
        parts.push((assertion.clone(), assertion.run_check(subject, services)?));
    }
    Ok(combine_verdicts(parts, threshold))
}

/// The verdict on several assertions: with a threshold, the weighted score decides; without, none may fail.
pub(crate) fn combine_verdicts(parts: Vec<(Assertion, Verdict)>, threshold: Option<f64>) -> Verdict {
    let total: f64 = parts.iter().map(|(assertion, _)| assertion.weight).sum();
    let weighted: f64 = parts.iter().map(|(assertion, verdict)| assertion.weight * verdict.score).sum();
    let score = if total > 0.0 { weighted / total } else { 1.0 };
    let failed =
        parts.iter().filter(|(assertion, verdict)| assertion.weight > 0.0 && !verdict.passed).count();
    let (passed, message) = match threshold {
        // Sums of weights such as 0.1 and 0.2 are not exact.
        Some(threshold) => {
            (score + 1e-9 >= threshold, format!("the score is {score:.2}, at least {threshold} is needed"))
        }
        None => (failed == 0, format!("{failed} of {} assertions failed", parts.len())),
    };
    let message = if passed { String::new() } else { message };
    Verdict { passed, score, message, difference: None, parts }
}

fn check_equality(wanted: &Value, found: &Found) -> Verdict {
    let (is_equal, actual, expected) = match (wanted, found) {
        (Value::String(wanted), Found::Text(text)) => (wanted == text, text.clone(), wanted.clone()),
        (wanted, Found::Json(value)) => (is_same_json(wanted, value), found.as_text(), display_json(wanted)),
        (wanted, found) => {
            let same = match plain_text(wanted) {
                Some(text) => text == found.as_text(),
                None => found.as_json().is_ok_and(|value| is_same_json(wanted, &value)),
            };
            let actual = found.as_json().map_or_else(|_| found.as_text(), |value| display_json(&value));
            (same, actual, display_json(wanted))
        }
    };
    if is_equal {
        return Verdict::from_success();
    }
    let message = format!("it is {}, not {}", quote_text(&actual), quote_text(&expected));
    Verdict::from_failure(message).with_difference(describe_difference(&expected, &actual))
}

fn display_json(value: &Value) -> String {
    plain_text(value).unwrap_or_else(|| pretty_json(value))
}

/// Whether two values are the same JSON: the order of keys does not count, and `1` is `1.0`.
fn is_same_json(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same_json(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in_other = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|other| is_same_json(value, other))
            };
            one.len() == other.len() && one.iter().all(is_in_other)
        }
        _ => one == other,
    }
}

fn check_contains(text: &str, texts: &[String], needed: Needed, ignore_case: bool) -> Verdict {
    let folded = |text: &str| if ignore_case { text.to_lowercase() } else { text.to_owned() };
    let whole = folded(text);
    let missing: Vec<&String> = texts.iter().filter(|wanted| !whole.contains(&folded(wanted))).collect();
    let holds = match needed {
        Needed::All => missing.is_empty(),
        Needed::Any => missing.len() < texts.len(),
    };
    if holds {
        return Verdict::from_success();
    }
    let names: Vec<String> = missing.iter().map(|text| quote_text(text)).collect();
    let found = quote_text(text);
    Verdict::from_failure(match needed {
        Needed::All => format!("{} is not in {found}", names.join(", ")),
        Needed::Any => format!("none of {} is in {found}", names.join(", ")),
    })
}

fn check_contained_json(text: &str, schema: Option<&Validator>) -> Verdict {
    let values = text::find_json(text);
    let problems: std::result::Result<Vec<()>, String> = match values.as_slice() {
        [] => return Verdict::from_failure("it has no JSON"),
        values if values.iter().any(|value| check_schema(schema, value).is_ok()) => Ok(Vec::new()),
        values => values.iter().map(|value| check_schema(schema, value)).collect(),
    };
    Verdict::from_outcome(problems.map(drop))
}

fn check_schema(schema: Option<&Validator>, value: &Value) -> std::result::Result<(), String> {
    let Some(schema) = schema else { return Ok(()) };
    let problems: Vec<String> = schema
        .iter_errors(value)
        .take(5)
        .map(|error| {
            let path = error.instance_path().to_string();
            let place = if path.is_empty() { "the value".to_owned() } else { path };
            format!("{place}: {error}")
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

fn check_range(unit: &str, count: u64, min: u64, max: u64) -> Verdict {
    if (min..=max).contains(&count) {
        return Verdict::from_success();
    }
    let wanted = match (min, max) {
        (min, max) if min == max => format!("exactly {min}"),
        (0, max) => format!("at most {max}"),
        (min, u64::MAX) => format!("at least {min}"),
        (min, max) => format!("{min} to {max}"),
    };
    Verdict::from_failure(format!("it has {count} {unit}; {wanted} are allowed"))
}

/// Checks the tool calls of an answer against the tools of its request.
fn check_tool_calls(answer: &AnswerFacts) -> std::result::Result<(), String> {
    let calls = answer.completion.pointer("/choices/0/message/tool_calls").and_then(Value::as_array);
    let calls = calls.filter(|calls| !calls.is_empty()).ok_or("the answer calls no tool")?;
    let offered = answer.request.get("tools").and_then(Value::as_array);
    for call in calls {
        let name = call.pointer("/function/name").and_then(Value::as_str).ok_or("a call has no name")?;
        let arguments = match call.pointer("/function/arguments") {
            Some(Value::String(text)) => serde_json::from_str(text)
                .map_err(|error| format!("the arguments of `{name}` are not JSON: {error}"))?,
            Some(other) => other.clone(),
            None => return Err(format!("the call of `{name}` has no arguments")),
        };
        let Some(offered) = offered else { continue };
        let declared = |tool: &&Value| {
            let own = tool.pointer("/function/name").or_else(|| tool.get("name"));
            own.and_then(Value::as_str) == Some(name)
        };
        let tool =
            offered.iter().find(declared).ok_or_else(|| format!("the request offers no tool `{name}`"))?;
        let schema = tool.pointer("/function/parameters").or_else(|| tool.get("input_schema"));
        if let Some(schema) = schema {
            let schema = jsonschema::validator_for(schema)
                .map_err(|error| format!("the schema of `{name}` is invalid: {error}"))?;
            check_schema(Some(&schema), &arguments).map_err(|problem| format!("`{name}`: {problem}"))?;
        }
    }
    Ok(())
}

/// The value with its templates filled.
fn fill_templates(
    value: &CheckValue,
    variables: &Map<String, Value>,
) -> std::result::Result<CheckValue, String> {
    let filled = value.value.as_ref().map(|value| fill_value(value, variables)).transpose()?;
    Ok(CheckValue { value: filled, is_template: false, ..value.clone() })
}

fn fill_value(value: &Value, variables: &Map<String, Value>) -> std::result::Result<Value, String> {
    Ok(match value {
        Value::String(text) if text.contains("{{") || text.contains("{%") => {
            let filled = super::expression::fill_template(text, variables)?;
            Value::String(filled)
        }
        Value::Array(items) => {
            let items: std::result::Result<_, _> =
                items.iter().map(|item| fill_value(item, variables)).collect();
            Value::Array(items?)
        }
        Value::Object(fields) => {
            let fields: std::result::Result<Map<String, Value>, String> =
                fields.iter().map(|(key, value)| Ok((key.clone(), fill_value(value, variables)?))).collect();
            Value::Object(fields?)
        }
        other => other.clone(),
    })
}

fn quote_text(text: &str) -> String {
    format!("{:?}", truncate_text(text))
}
