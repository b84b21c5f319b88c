//! Prompt modules: the answers of the framework that grew out of their specification.
//!
//! `tests/vectors/module/README.md` describes the format. Where the recorded answer, the document and the later state
//! of the framework differ, the product decides in `questions`. Vectors without anything to compare are not counted:
//!
//! * `chat`, `request`, `response`, `later_chat`, `mlx_params`, `mlx_element`: drivers have golden files of their own;
//! * `workflow`: processes that the product does not have (`agentic`, `agent`);
//! * vectors tagged `quirk` without a later answer.

mod deviation;
mod workflow;

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::case::{Bounds, Case, Mismatch, Side};
use crate::load::{self, InputError, LoadedCase};

const BOUNDS: Bounds = Bounds { stack: 2 << 20, time: Duration::from_secs(5), memory: Some(256 << 20) };

/// A recorded vector.
#[derive(Clone, Debug, Deserialize)]
pub struct Vector {
    id: String,
    #[serde(default)]
    tags: Vec<String>,
    input: Map<String, Value>,
    /// Missing if the reference fails. Null is an answer too.
    #[serde(default, deserialize_with = "present")]
    expect: Option<Value>,
    expect_error: Option<Value>,
    expect_spec: Option<Value>,
    expect_later: Option<Value>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// How a module is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compiling {
    /// With titles, in standard order.
    Standard,
    /// With titles, in the order for caches.
    Cache,
    /// As the document's flat list.
    Flat,
}

/// A question to the engine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModuleQuestion {
    /// Merges modules. An inner list is merged first.
    Merge(Value),
    /// Compiles modules with a context, with or without cache hints.
    Compile {
        /// The modules, merged first if there are several.
        modules: Vec<Value>,
        /// The context, or `None` to create one.
        context: Option<Value>,
        /// How to compile.
        compiling: Compiling,
        /// Whether the answer has cache hints.
        hints: bool,
    },
    /// The text of elements or of a prompt.
    Text(Map<String, Value>),
    /// An element in a provider's format.
    Element(Map<String, Value>),
    /// The JSON in an answer.
    Extract(Map<String, Value>),
    /// A model, or a ranking of models.
    Select(Map<String, Value>),
    /// The calls of a process with scripted answers, and its output.
    Workflow(Map<String, Value>),
}

/// An engine that answers questions about modules.
pub trait ModuleEngine: Send + Sync + 'static {
    /// Answers a question.
    ///
    /// # Errors
    /// The engine rejects the input.
    fn answer_question(&self, question: &ModuleQuestion) -> Result<Value, String>;
}

/// Loads the vectors of `dir` for `engine`.
///
/// # Errors
/// A file cannot be read, or a vector is invalid.
pub fn load_cases(dir: &Path, engine: &'static dyn ModuleEngine) -> Result<Vec<LoadedCase>, InputError> {
    load::read_vectors(dir, |kind, vector: Vector| {
        let questions = questions(kind, &vector);
        (!questions.is_empty()).then(|| EngineCase { id: vector.id, questions, engine })
    })
}

/// The questions of the vectors of `dir` as JSON, for engines behind another language: `id`, `run`, `question`,
/// `expected`, and `is_error` where any error is expected.
///
/// # Errors
/// As [`load_cases`].
pub fn list_questions(dir: &Path) -> Result<Vec<Value>, InputError> {
    let mut all = Vec::new();
    load::each_vector(dir, |kind, vector: Vector| {
        all.extend(questions(kind, &vector).into_iter().map(|(run, question, expected)| {
            json!({"id": vector.id, "run": run, "question": question, "is_error": expected.is_none(),
                "expected": expected})
        }));
    })?;
    Ok(all)
}

/// A label for the report, a question, and the expected answer, or `None` for any error.
type ModuleRun = (&'static str, ModuleQuestion, Option<Value>);

/// The questions of a vector of `kind`.
fn questions(kind: &str, vector: &Vector) -> Vec<ModuleRun> {
    let one = |question: ModuleQuestion, answer: Option<Value>| vec![("", question, answer)];
    let input = || vector.input.clone();
    match kind {
        "merge" => one(ModuleQuestion::Merge(vector.modules()), vector.merged()),
        "compile" => compiled(vector),
        "later_compile" if vector.has_tag("quirk") => Vec::new(),
        "later_compile" => one(vector.compile(Compiling::Cache, true), vector.unless_refused(&vector.expect)),
        "element_text" | "prompt_text" | "later_text" => {
            match (&vector.expect_later, vector.has_tag("quirk")) {
                (Some(later), _) => one(ModuleQuestion::Text(input()), Some(later.clone())),
                (None, true) => Vec::new(),
                (None, false) => one(ModuleQuestion::Text(input()), vector.expect.clone()),
            }
        }
        "spec_element" => one(ModuleQuestion::Element(input()), vector.element_with_escapes()),
        "extract_json" => one(ModuleQuestion::Extract(input()), vector.expect.clone()),
        "workflow" => workflow::expected_calls(vector)
            .map(|(input, answer)| one(ModuleQuestion::Workflow(input), Some(answer)))
            .unwrap_or_default(),
        "select" => one(ModuleQuestion::Select(input()), vector.expect.clone()),
        _ => Vec::new(),
    }
}

fn compiled(vector: &Vector) -> Vec<ModuleRun> {
    let standard = if vector.has_tag("renamed") {
        vector.with_processing()
    } else if vector.gives_schema() {
        vector.expect_later.clone()
    } else {
        vector.unless_refused(&vector.expect)
    };
    let mut all = vec![("titled", vector.compile(Compiling::Standard, false), standard)];
    if vector.expect_later.is_some() {
        let later = vector.unless_refused(&vector.expect_later);
        all.push(("titled, for caches", vector.compile(Compiling::Cache, false), later));
    }
    if vector.expect_spec.is_some() {
        all.push(("flat", vector.compile(Compiling::Flat, false), vector.expect_spec.clone()));
    }
    all
}

impl Vector {
    fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|known| known == tag)
    }

    fn modules(&self) -> Value {
        self.input.get("modules").cloned().unwrap_or_default()
    }

    /// The answer, or `None` if the product rejects what the reference accepts.
    fn unless_refused(&self, answer: &Option<Value>) -> Option<Value> {
        let refused = ["untyped", "forbidden", "unknown"].into_iter().any(|tag| self.has_tag(tag));
        if refused || self.expect_error.is_some() { None } else { answer.clone() }
    }

    /// The document's answer to a merge, with the contexts of the reference.
    fn merged(&self) -> Option<Value> {
        if let Some(modules) = self.input.get("modules").and_then(Value::as_array) {
            match modules.as_slice() {
                [] => return Some(json!({})),
                [one] => return Some(one.clone()),
                _ => {}
            }
        }
        let expected = self.unless_refused(&self.expect)?;
        let Some(mut specified) = self.expect_spec.clone() else {
            let modules = self.input.get("modules").and_then(Value::as_array);
            return Some(deviation::documented_answer(modules.map_or(&[], Vec::as_slice), &expected));
        };
        if let (Some(fields), Some(context)) = (specified.as_object_mut(), expected.get("createContext")) {
            fields.insert("createContext".to_owned(), context.clone());
        }
        Some(specified)
    }

    fn compile(&self, compiling: Compiling, hints: bool) -> ModuleQuestion {
        let modules = match (self.input.get("modules"), self.input.get("module")) {
            (Some(Value::Array(modules)), _) => deviation::recorded_order(modules),
            (_, Some(module)) => vec![module.clone()],
            _ => Vec::new(),
        };
        let context = self.input.get("context").filter(|context| !context.is_null()).cloned();
        ModuleQuestion::Compile { modules, context, compiling, hints }
    }

    /// Whether a function in `schema` returns JSON.
    fn gives_schema(&self) -> bool {
        let ModuleQuestion::Compile { modules, .. } = self.compile(Compiling::Standard, false) else {
            return false;
        };
        let entries = modules.iter().filter_map(|module| module.get("schema")?.as_array()).flatten();
        entries.filter_map(|entry| entry.get("dynamic")).any(|given| match given {
            Value::Array(items) => items.iter().any(|item| item["type"] == "json"),
            one => one["type"] == "json",
        })
    }

    /// The recorded answer with what the reference loses: the texts of `processing` under their title.
    fn with_processing(&self) -> Option<Value> {
        let mut expected = self.expect.clone()?;
        let texts = self.expect_spec.as_ref()?["instructions"].as_array()?;
        let known = expected["instructions"].to_string();
        let lost = |text: &&Value| !known.contains(&text["content"].to_string());
        let items: Vec<&Value> = texts.iter().filter(lost).map(|text| &text["content"]).collect();
        let section = json!({"type": "section", "category": "instructions", "title": "Processing Algorithm",
            "items": items});
        expected["instructions"].as_array_mut()?.push(section);
        Some(expected)
    }

    /// The document's example, with escaped attributes.
    fn element_with_escapes(&self) -> Option<Value> {
        let expected = self.expect.as_ref()?;
        let (Some(text), Some(element)) = (expected.as_str(), self.input.get("element")) else {
            return Some(expected.clone());
        };
        let mut text = text.to_owned();
        for key in ["id", "title"] {
            let plain = element[key].as_str().unwrap_or_default();
            let escaped =
                plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
            text = text.replacen(&format!("{key}=\"{plain}\""), &format!("{key}=\"{escaped}\""), 1);
        }
        Some(Value::String(text))
    }
}

struct EngineCase {
    id: String,
    questions: Vec<ModuleRun>,
    engine: &'static dyn ModuleEngine,
}

impl Case for EngineCase {
    fn id(&self) -> &str {
        &self.id
    }

    fn bounds(&self) -> Bounds {
        BOUNDS
    }

    fn runs(&self) -> Vec<&'static str> {
        self.questions.iter().map(|(label, ..)| *label).collect()
    }

    fn check_run(&self, index: usize) -> Result<(), Mismatch> {
        let (_, question, expected) = &self.questions[index];
        let answer = self.engine.answer_question(question);
        let same = match (expected, &answer) {
            (Some(expected), Ok(answer)) => expected == answer,
            (None, Err(_)) => true,
            _ => false,
        };
        if same {
            return Ok(());
        }
        let expected = expected.as_ref().map_or_else(|| Side::new("error", "any"), answer_side);
        let actual = match &answer {
            Ok(answer) => answer_side(answer),
            Err(error) => Side::new("error", error.as_str()),
        };
        Err(Mismatch { expected, actual })
    }
}

fn answer_side(answer: &Value) -> Side {
    match answer {
        Value::String(text) => Side::new("text", text.as_str()),
        other => Side::new("answer", serde_json::to_string_pretty(&sorted(other)).unwrap_or_default()),
    }
}

/// With sorted keys, so that a reader sees only the differences.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            fields.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(fields.into_iter().collect())
        }
        other => other.clone(),
    }
}
