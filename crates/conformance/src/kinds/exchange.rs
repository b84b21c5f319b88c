//! Cases of foreign prompt files: what their own programs give, and what an import loses.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::case::{Bounds, Case, Mismatch, Side};
use crate::load::{self, InputError, LoadedCase};

const BOUNDS: Bounds = Bounds { stack: 2 << 20, time: Duration::from_secs(60), memory: None };

/// A recorded case.
#[derive(Clone, Debug, Deserialize)]
pub struct ExchangeCase {
    /// The format that has to be recognised.
    pub format: String,
    id: String,
    /// Everything that an import may read, by relative path.
    pub files: BTreeMap<String, String>,
    /// The file to import.
    pub entry: String,
    /// What the caller passes.
    pub variables: Map<String, Value>,
    /// Earlier messages.
    #[serde(default)]
    pub history: Option<Value>,
    /// Values of the program around the prompt.
    #[serde(default)]
    pub context: Map<String, Value>,
    /// What else the caller asks for.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// Files of the project that the call works in.
    #[serde(default)]
    pub workspace: BTreeMap<String, String>,
    expect: Value,
    losses: Vec<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
    #[serde(default)]
    kept_files: Vec<String>,
}

/// What a way gives.
#[derive(Clone, Debug)]
pub enum ExchangeRun {
    /// The way does not apply to the case.
    NotApplicable,
    /// The export reports these losses, so it is refused.
    Refused(Vec<String>),
    /// The case was rendered, or failed.
    Ended(ExchangeOutcome),
}

/// What an engine makes of a case.
#[derive(Clone, Debug)]
pub struct ExchangeOutcome {
    /// The messages, or the error.
    pub result: Result<Value, String>,
    /// The codes of the losses, sorted.
    pub losses: Vec<String>,
    /// What the imported definition declares.
    pub metadata: Map<String, Value>,
    /// The files that were copied beside the prompt.
    pub kept_files: Vec<String>,
}

/// How a case is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeWay {
    /// The file is imported, written to a workspace and rendered from there.
    Imported,
    /// The file is rendered where it lies.
    InPlace,
    /// The imported prompt is exported to its format again, and that is imported; only what lost nothing and can be
    /// written. An export that reports losses is refused by rule, so it is counted and not compared.
    Exported,
}

impl ExchangeWay {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Imported, Self::InPlace, Self::Exported];

    const fn name(self) -> &'static str {
        match self {
            Self::Imported => "imported",
            Self::InPlace => "in place",
            Self::Exported => "exported",
        }
    }
}

/// An engine that imports and renders foreign prompts.
pub trait ExchangeEngine: Send + Sync {
    /// Imports and renders a case.
    fn run_case(&self, case: &ExchangeCase, way: ExchangeWay) -> ExchangeRun;
}

/// How many exports were tried, and how many of them were refused.
static EXPORTS: AtomicUsize = AtomicUsize::new(0);
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// A line that tells how many exports of this process were refused; empty if none was.
pub fn describe_refused() -> String {
    match (REFUSED.load(Ordering::Relaxed), EXPORTS.load(Ordering::Relaxed)) {
        (0, _) => String::new(),
        (refused, all) => format!("not exported because of losses: {refused} of {all}\n"),
    }
}

/// Loads the cases of `dir` for `engine`.
///
/// # Errors
/// A file cannot be read, or a case is invalid.
pub fn load_cases<E: ExchangeEngine + Clone + 'static>(
    dir: &Path,
    engine: &E,
) -> Result<Vec<LoadedCase>, InputError> {
    load::read_cases(dir, |recorded: ExchangeCase| EngineCase { recorded, engine: engine.clone() })
}

struct EngineCase<E> {
    recorded: ExchangeCase,
    engine: E,
}

impl<E: ExchangeEngine + 'static> Case for EngineCase<E> {
    fn id(&self) -> &str {
        &self.recorded.id
    }

    fn bounds(&self) -> Bounds {
        BOUNDS
    }

    fn runs(&self) -> Vec<&'static str> {
        ExchangeWay::ALL.map(ExchangeWay::name).to_vec()
    }

    fn check_run(&self, index: usize) -> Result<(), Mismatch> {
        let way = ExchangeWay::ALL[index];
        let run = self.engine.run_case(&self.recorded, way);
        if way == ExchangeWay::Exported && !matches!(run, ExchangeRun::NotApplicable) {
            EXPORTS.fetch_add(1, Ordering::Relaxed);
        }
        match run {
            ExchangeRun::Ended(outcome) => compare(&self.recorded, &outcome, way),
            ExchangeRun::Refused(_) => {
                REFUSED.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            ExchangeRun::NotApplicable => Ok(()),
        }
    }
}

fn compare(case: &ExchangeCase, outcome: &ExchangeOutcome, way: ExchangeWay) -> Result<(), Mismatch> {
    let same_result = match (case.expect.get("error"), &outcome.result) {
        (Some(_), Err(_)) => true,
        (None, Ok(messages)) => *messages == expected_messages(&case.expect),
        _ => false,
    };
    // An import that fails has no definition to compare.
    let has_definition = !outcome.metadata.is_empty() && way != ExchangeWay::Exported;
    let same_metadata = !has_definition
        || case.metadata.iter().all(|(key, value)| is_same(key, outcome.metadata.get(key), value));
    let same_files = case.kept_files.iter().all(|file| outcome.kept_files.contains(file));
    // What an export writes loses nothing when it is read again.
    let same_losses = case.losses == outcome.losses || way == ExchangeWay::Exported;
    if same_result && same_losses && same_metadata && same_files {
        return Ok(());
    }
    let declared: Map<String, Value> = case
        .metadata
        .keys()
        .filter_map(|key| Some((key.clone(), outcome.metadata.get(key)?.clone())))
        .collect();
    let actual = match &outcome.result {
        Ok(messages) => Side::new("result", messages.to_string()),
        Err(error) => Side::new("result", format!("error: {error}")),
    };
    Err(Mismatch {
        expected: Side::new("result", expected_text(&case.expect))
            .with("losses", case.losses.join(" "))
            .with("metadata", Value::Object(case.metadata.clone()).to_string()),
        actual: actual
            .with("losses", outcome.losses.join(" "))
            .with("metadata", Value::Object(declared).to_string()),
    })
}

/// Whether declared metadata is the expected one: lists of names in any order, types as far as named.
fn is_same(key: &str, actual: Option<&Value>, expected: &Value) -> bool {
    let Some(actual) = actual else { return false };
    match (key, actual, expected) {
        ("required" | "optional", Value::Array(actual), Value::Array(expected)) => {
            expected.len() == actual.len() && expected.iter().all(|name| actual.contains(name))
        }
        ("types", Value::Object(actual), Value::Object(expected)) => {
            expected.iter().all(|(name, kind)| actual.get(name) == Some(kind))
        }
        _ => actual == expected,
    }
}

fn expected_text(expect: &Value) -> String {
    match expect.get("error") {
        Some(error) => format!("error: {error}"),
        None => expected_messages(expect).to_string(),
    }
}

/// The expected messages; a text is one user message.
fn expected_messages(expect: &Value) -> Value {
    match expect.get("messages") {
        Some(messages) => messages.clone(),
        None => json!([{"role": "user", "content": expect["text"]}]),
    }
}
