//! Jinja cases: templates and data, with the output or error of Jinja2.
//!
//! `tests/vectors/jinja/README.md` describes the format. A case recorded with Jinja2's own undefined that expects an
//! output runs a second time under the product's default, `empty`, and must give the same output.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::case::{Bounds, Case, Mismatch, Side};
use crate::load::{self, InputError, LoadedCase};

/// The bounds of the `limits` topic apply to every case. The stack is Rust's default for threads.
const BOUNDS: Bounds = Bounds { stack: 2 << 20, time: Duration::from_secs(5), memory: Some(512 << 20) };

/// One recorded case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JinjaCase {
    /// `topic/name`.
    pub id: String,
    /// All templates, by name.
    pub templates: BTreeMap<String, String>,
    /// The template to render. It may be missing in `templates`.
    pub entry: String,
    /// The render context.
    pub data: Value,
    /// The environment.
    pub options: JinjaOptions,
    /// The recorded outcome.
    pub expect: Expect,
    /// Other outcomes that pass.
    pub accept: Option<Accept>,
    /// Set if the expectation is a rule of the product and not of Jinja2.
    pub source: Option<Source>,
}

/// The environment of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JinjaOptions {
    /// Whether templates may change lists and dicts in place.
    pub sandbox: Sandbox,
    /// How undefined variables behave.
    pub undefined: Undefined,
    /// HTML escaping of every expression.
    pub autoescape: bool,
    /// As in Jinja2.
    pub trim_blocks: bool,
    /// As in Jinja2.
    pub lstrip_blocks: bool,
    /// As in Jinja2.
    pub keep_trailing_newline: bool,
    /// Statements beyond the core language.
    pub extensions: Vec<Extension>,
    /// Functions and filters beyond the core language.
    pub host: Host,
}

/// Which of Jinja2's sandboxes recorded the case.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// Both agree.
    Any,
    /// Lists and dicts may be changed.
    Mutable,
    /// Lists and dicts may not be changed.
    Immutable,
}

/// How undefined variables behave.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Undefined {
    /// Jinja2's default: prints nothing, and fails in operations.
    Default,
    /// Fails at every use.
    Strict,
    /// Attributes are undefined too. The product calls it `empty`.
    Chainable,
}

/// A statement beyond the core language.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Extension {
    /// `{% do %}`.
    Do,
    /// `{% break %}` and `{% continue %}`.
    LoopControls,
    /// `{% generation %}`, which passes its content through.
    Generation,
}

/// Functions and filters beyond the core language.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Host {
    /// None.
    None,
    /// Those of chat templates.
    Hf,
}

/// The recorded outcome.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// It renders to this text.
    Output(String),
    /// It fails.
    Error(ExpectedError),
}

/// How a case fails. `None` is not compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedError {
    /// The class.
    pub kind: ErrorKind,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The template that the line belongs to.
    pub template: Option<String>,
    /// The exception of the reference, for people.
    pub reference: Option<String>,
}

/// The classes of errors in cases.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The template cannot be compiled.
    Syntax,
    /// An operation that an undefined value does not allow.
    Undefined,
    /// A template that does not exist.
    NotFound,
    /// Refused by the sandbox.
    Security,
    /// Any other failure.
    Runtime,
    /// A resource limit.
    Limit,
}

impl ErrorKind {
    /// The name of this kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Undefined => "undefined",
            Self::NotFound => "not_found",
            Self::Security => "security",
            Self::Runtime => "runtime",
            Self::Limit => "limit",
        }
    }
}

/// Other outcomes that pass.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Accept {
    /// Any error.
    pub any_error: bool,
    /// Any output without one of these texts. `None` means no output at all.
    pub output_without: Option<Vec<String>>,
    /// Any of these outputs.
    pub outputs: Vec<String>,
}

impl Accept {
    fn takes(&self, outcome: &JinjaOutcome) -> bool {
        match outcome {
            JinjaOutcome::Unavailable(_) => false,
            JinjaOutcome::Error { .. } => self.any_error,
            JinjaOutcome::Output(text) => {
                let harmless = |leaks: &Vec<String>| !leaks.iter().any(|leak| text.contains(leak.as_str()));
                self.outputs.contains(text) || self.output_without.as_ref().is_some_and(harmless)
            }
        }
    }
}

/// The source of an expectation other than Jinja2.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A rule of the product.
    Policy,
}

/// The outcome of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JinjaOutcome {
    /// The text.
    Output(String),
    /// The failure.
    Error {
        /// The class, as in [`ErrorKind::as_str`].
        kind: String,
        /// The innermost line, from 1.
        line: Option<u32>,
        /// The template that the line belongs to.
        template: Option<String>,
        /// The message, for the report.
        message: String,
    },
    /// There is no engine: a failure that nothing accepts.
    Unavailable(String),
}

impl From<&hinagata_value::Error> for JinjaOutcome {
    fn from(error: &hinagata_value::Error) -> Self {
        Self::Error {
            kind: error.kind().as_str().to_owned(),
            line: error.place().map(|place| place.line),
            template: error.place().map(|place| place.template.clone()),
            message: error.message().to_owned(),
        }
    }
}

/// An engine that renders Jinja templates.
pub trait JinjaEngine: Send + Sync + 'static {
    /// Renders the entry of `case` under its options, except for `undefined`, which the runner selects.
    fn render_case(&self, case: &JinjaCase, undefined: Undefined) -> JinjaOutcome;
}

/// Loads the cases of `dir` for `engine`.
///
/// # Errors
/// A file cannot be read, or a case is invalid.
pub fn load_cases(dir: &Path, engine: &'static dyn JinjaEngine) -> Result<Vec<LoadedCase>, InputError> {
    load::read_cases(dir, |case| EngineCase { case, engine })
}

struct EngineCase {
    case: JinjaCase,
    engine: &'static dyn JinjaEngine,
}

impl EngineCase {
    fn settings(&self) -> &'static [(&'static str, Undefined)] {
        match (self.case.options.undefined, &self.case.expect) {
            (Undefined::Default, Expect::Output(_)) => {
                &[("undefined: jinja", Undefined::Default), ("undefined: empty", Undefined::Chainable)]
            }
            (Undefined::Default, Expect::Error(_)) => &[("", Undefined::Default)],
            (Undefined::Strict, _) => &[("", Undefined::Strict)],
            (Undefined::Chainable, _) => &[("", Undefined::Chainable)],
        }
    }
}

impl Case for EngineCase {
    fn id(&self) -> &str {
        &self.case.id
    }

    fn bounds(&self) -> Bounds {
        BOUNDS
    }

    fn runs(&self) -> Vec<&'static str> {
        self.settings().iter().map(|(label, _)| *label).collect()
    }

    fn check_run(&self, index: usize) -> Result<(), Mismatch> {
        let (_, undefined) = self.settings()[index];
        let outcome = self.engine.render_case(&self.case, undefined);
        let accepted = || self.case.accept.as_ref().is_some_and(|accept| accept.takes(&outcome));
        if self.case.expect.is(&outcome) || accepted() {
            return Ok(());
        }
        Err(Mismatch { expected: expected_side(&self.case), actual: actual_side(&outcome) })
    }
}

impl Expect {
    fn is(&self, outcome: &JinjaOutcome) -> bool {
        match (self, outcome) {
            (Self::Output(expected), JinjaOutcome::Output(actual)) => expected == actual,
            (Self::Error(expected), JinjaOutcome::Error { kind, line, template, .. }) => {
                expected.kind.as_str() == kind
                    && (expected.line.is_none() || expected.line == *line)
                    && (expected.template.is_none() || expected.template == *template)
            }
            _ => false,
        }
    }
}

fn expected_side(case: &JinjaCase) -> Side {
    let side = match &case.expect {
        Expect::Output(text) => Side::new("output", text),
        Expect::Error(error) => {
            let side = Side::new("error", error.kind.as_str());
            let side = with_place(side, error.line, error.template.as_deref());
            error.reference.iter().fold(side, |side, reference| side.with("reference", reference))
        }
    };
    case.accept.iter().fold(side, |side, accept| side.with("or", describe_accept(accept)))
}

fn describe_accept(accept: &Accept) -> String {
    let mut parts = Vec::new();
    if accept.any_error {
        parts.push("any error".to_owned());
    }
    if let Some(leaks) = &accept.output_without {
        parts.push(format!("an output without {leaks:?}"));
    }
    parts.extend(accept.outputs.iter().map(|output| format!("the output {output:?}")));
    parts.join(", or ")
}

fn actual_side(outcome: &JinjaOutcome) -> Side {
    match outcome {
        JinjaOutcome::Output(text) => Side::new("output", text),
        JinjaOutcome::Error { kind, line, template, message } => {
            with_place(Side::new("error", kind), *line, template.as_deref()).with("message", message)
        }
        JinjaOutcome::Unavailable(reason) => Side::new("unavailable", reason),
    }
}

fn with_place(side: Side, line: Option<u32>, template: Option<&str>) -> Side {
    let side = line.into_iter().fold(side, |side, line| side.with("line", line.to_string()));
    template.into_iter().fold(side, |side, template| side.with("template", template))
}
