//! Calls on a prompt workspace: `cases.json` beside its file tree.
//!
//! Every case gets its own copy of the tree, outside of any repository, and `${ROOT}` in a case stands for that copy.
//! The comparison depends on the operation. Of an error, the kind and the listed details are compared.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::case::{Bounds, Case, Mismatch, Side};
use crate::load::{self, InputError, LoadedCase};

const BOUNDS: Bounds = Bounds { stack: 2 << 20, time: Duration::from_secs(60), memory: None };

/// Applies to all cases of a directory.
#[derive(Clone, Debug, Deserialize)]
pub struct Header {
    /// The workspace root in the tree.
    root: String,
    /// Clock, time zone, operating system and language of the recording.
    #[serde(default)]
    pub host: Map<String, Value>,
    #[serde(default)]
    approvals: BTreeMap<String, String>,
    #[serde(default)]
    setup: Vec<Setup>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setup {
    git_init: String,
    branch: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// A recorded case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    id: String,
    #[serde(default, rename = "note")]
    _note: String,
    prompt_id: String,
    #[serde(default)]
    variables: Map<String, Value>,
    #[serde(default)]
    context: Map<String, Value>,
    #[serde(default)]
    op: Operation,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    approvals: BTreeMap<String, String>,
    #[serde(default)]
    host: Map<String, Value>,
    expect: Map<String, Value>,
}

/// The operation of a case.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// The text of a prompt.
    #[default]
    Render,
    /// The id after normalisation and vocabulary.
    ResolveId,
    /// Every candidate directory.
    Candidates,
    /// Missing variables and type errors.
    Validate,
    /// The merged definition.
    Definition,
}

/// One call.
#[derive(Debug)]
pub struct RumiCall {
    /// The workspace root, a copy.
    pub root: PathBuf,
    /// The operation.
    pub operation: Operation,
    /// The prompt, as a caller writes it.
    pub prompt_id: String,
    /// The variables of the caller.
    pub variables: Map<String, Value>,
    /// The context of the call.
    pub context: Map<String, Value>,
    /// The approval of each pack.
    pub approvals: BTreeMap<String, String>,
    /// Clock, time zone and other values of the host.
    pub host: Map<String, Value>,
}

/// The outcome of an engine.
#[derive(Debug)]
pub enum RumiOutcome {
    /// An answer with the members of `expect`.
    Answer(Map<String, Value>),
    /// An error with its kind and details.
    Error {
        /// The kind, as spelled in the cases.
        kind: String,
        /// The message.
        message: String,
        /// The details.
        details: Map<String, Value>,
    },
    /// This build does not support the operation.
    Unavailable(String),
}

/// An engine that answers calls.
pub trait RumiEngine: Send + Sync {
    /// Runs one call.
    fn answer_call(&self, call: &RumiCall) -> RumiOutcome;
}

/// Loads the cases of `dir` for `engine`.
///
/// # Errors
/// A file cannot be read, or a case is invalid.
pub fn load_cases<E: RumiEngine + Clone + 'static>(
    dir: &Path,
    engine: &E,
) -> Result<Vec<LoadedCase>, InputError> {
    let path = dir.join("cases.json");
    let text = fs::read_to_string(&path).map_err(|error| InputError::new(&path, error.to_string()))?;
    let header: Header =
        serde_json::from_str(&text).map_err(|error| InputError::new(&path, error.to_string()))?;
    let header = Arc::new(header);
    load::read_cases(dir, |recorded: Recorded| EngineCase {
        dir: dir.to_owned(),
        header: Arc::clone(&header),
        recorded,
        engine: engine.clone(),
    })
}

struct EngineCase<E> {
    dir: PathBuf,
    header: Arc<Header>,
    recorded: Recorded,
    engine: E,
}

impl<E: RumiEngine + 'static> Case for EngineCase<E> {
    fn id(&self) -> &str {
        &self.recorded.id
    }

    fn bounds(&self) -> Bounds {
        BOUNDS
    }

    fn runs(&self) -> Vec<&'static str> {
        vec![""]
    }

    fn check_run(&self, _index: usize) -> Result<(), Mismatch> {
        let copy = tempfile::tempdir().map_err(|error| setup_mismatch(&error))?;
        prepare(&self.dir, copy.path(), &self.header, &self.recorded)
            .map_err(|error| setup_mismatch(&error))?;
        let outcome = self.engine.answer_call(&call(copy.path(), &self.header, &self.recorded));
        compare(&self.recorded.expect, &outcome)
    }
}

fn setup_mismatch(error: &io::Error) -> Mismatch {
    Mismatch {
        expected: Side::new("tree", "a copy of the tree, set up for the case"),
        actual: Side::new("error", error.to_string()),
    }
}

/// Creates the copy of a case.
fn prepare(from: &Path, to: &Path, header: &Header, recorded: &Recorded) -> io::Result<()> {
    copy_tree(from, to)?;
    for setup in &header.setup {
        let directory = beneath(to, &setup.git_init)?;
        fs::create_dir_all(&directory)?;
        write_files(&directory, &setup.files)?;
        let status = Command::new("git")
            .args(["init", "--quiet", "-b", &setup.branch])
            .current_dir(&directory)
            .stdin(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(io::Error::other(format!("git init failed with {status}")));
        }
    }
    write_files(to, &recorded.files)
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::write(&target, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

fn write_files(root: &Path, files: &BTreeMap<String, String>) -> io::Result<()> {
    for (name, text) in files {
        let path = beneath(root, name)?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

fn beneath(root: &Path, name: &str) -> io::Result<PathBuf> {
    if Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        Ok(root.join(name))
    } else {
        Err(io::Error::other(format!("`{name}` leads out of the tree")))
    }
}

fn call(copy: &Path, header: &Header, recorded: &Recorded) -> RumiCall {
    let mut approvals = header.approvals.clone();
    approvals.extend(recorded.approvals.clone());
    let mut host = header.host.clone();
    host.extend(recorded.host.clone());
    let root = copy.to_string_lossy();
    RumiCall {
        root: copy.join(&header.root),
        operation: recorded.op,
        prompt_id: recorded.prompt_id.clone(),
        variables: replace_root(&recorded.variables, &root),
        context: replace_root(&recorded.context, &root),
        approvals,
        host,
    }
}

/// Replaces `${ROOT}` with the path of the copy.
fn replace_root(values: &Map<String, Value>, root: &str) -> Map<String, Value> {
    values.iter().map(|(key, value)| (key.clone(), replace_root_in(value, root))).collect()
}

fn replace_root_in(value: &Value, root: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("${ROOT}", root)),
        Value::Array(items) => items.iter().map(|item| replace_root_in(item, root)).collect(),
        Value::Object(fields) => Value::Object(replace_root(fields, root)),
        other => other.clone(),
    }
}

fn compare(expected: &Map<String, Value>, outcome: &RumiOutcome) -> Result<(), Mismatch> {
    let same = match (expected.get("error"), outcome) {
        (None, RumiOutcome::Answer(answer)) => {
            expected.iter().all(|(key, value)| answer.get(key) == Some(value))
        }
        (Some(error), RumiOutcome::Error { kind, details, .. }) => {
            let listed = error["details"].as_object();
            error["kind"] == **kind && listed.is_none_or(|listed| includes_details(listed, details))
        }
        _ => false,
    };
    if same {
        Ok(())
    } else {
        Err(Mismatch { expected: expected_side(expected), actual: actual_side(outcome) })
    }
}

/// Whether an error contains all listed details.
fn includes_details(listed: &Map<String, Value>, details: &Map<String, Value>) -> bool {
    listed.iter().all(|(key, value)| details.get(key) == Some(value))
}

fn expected_side(expected: &Map<String, Value>) -> Side {
    match expected.get("error") {
        Some(error) => Side::new("kind", text(&error["kind"])).with("details", pretty(&error["details"])),
        None => answer_side(expected),
    }
}

fn actual_side(outcome: &RumiOutcome) -> Side {
    match outcome {
        RumiOutcome::Answer(answer) => answer_side(answer),
        RumiOutcome::Error { kind, message, details } => Side::new("kind", kind.as_str())
            .with("details", pretty(&Value::Object(details.clone())))
            .with("message", message.as_str()),
        RumiOutcome::Unavailable(reason) => Side::new("unavailable", reason.as_str()),
    }
}

fn answer_side(answer: &Map<String, Value>) -> Side {
    match answer.get("text") {
        Some(words) => Side::new("text", text(words)),
        None => Side::new("answer", pretty(&Value::Object(answer.clone()))),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
