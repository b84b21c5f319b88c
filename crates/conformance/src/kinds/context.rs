//! Cases of contexts, agent prompts and configurations: one case per file, with its file tree.
//!
//! Every case gets a directory of its own, and `${ROOT}` in a case stands for it. Prompts are compared with the output
//! of Jinja2: a case that only another dialect renders must fail here, unless it contains the output of Jinja2.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::case::{Bounds, Case, Mismatch, Side};
use crate::load::{self, InputError, LoadedCase};

const BOUNDS: Bounds = Bounds { stack: 2 << 20, time: Duration::from_secs(60), memory: None };

/// A recorded case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    id: String,
    kind: Kind,
    #[serde(default, rename = "description")]
    _description: String,
    #[serde(default, rename = "derived")]
    _derived: bool,
    tree: Map<String, Value>,
    #[serde(default)]
    context: Value,
    #[serde(default)]
    config: Value,
    #[serde(default)]
    invocation: Value,
    #[serde(default)]
    file: String,
    #[serde(default)]
    report: Vec<String>,
    expect: Value,
    #[serde(default)]
    expect_jinja2: Option<Value>,
    #[serde(default)]
    jinja2_same: Option<bool>,
    #[serde(default, rename = "dialect")]
    _dialect: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Pack,
    Prompt,
    Config,
}

/// What a case asks for, in its own directory.
#[derive(Debug)]
pub enum ContextQuestion {
    /// Packs the section `context` of a configuration.
    Pack(Value),
    /// Builds the messages of a call.
    Prompt {
        /// The configuration.
        config: Value,
        /// The call.
        invocation: Value,
    },
    /// Reads a configuration.
    Config {
        /// The file.
        file: PathBuf,
        /// The keys to report.
        report: Vec<String>,
    },
}

/// The outcome of an engine: an answer to compare with `expect`, or an error.
#[derive(Debug)]
pub enum ContextOutcome {
    /// The answer.
    Answer(Value),
    /// An error with its kind, as spelled in the cases, and its paths.
    Error {
        /// The kind.
        kind: String,
        /// The paths of invalid fields.
        paths: Vec<String>,
        /// The message.
        message: String,
    },
}

/// An engine that answers questions.
pub trait ContextEngine: Send + Sync {
    /// Answers a question about the tree in `root`.
    fn answer_question(&self, root: &Path, question: &ContextQuestion) -> ContextOutcome;
}

/// Loads the cases of `dir` for `engine`.
///
/// # Errors
/// A file cannot be read, or a case is invalid.
pub fn load_cases<E: ContextEngine + Clone + 'static>(
    dir: &Path,
    engine: &E,
) -> Result<Vec<LoadedCase>, InputError> {
    load::read_single_cases(dir, |recorded: Recorded| EngineCase { recorded, engine: engine.clone() })
}

struct EngineCase<E> {
    recorded: Recorded,
    engine: E,
}

impl<E: ContextEngine + 'static> Case for EngineCase<E> {
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
        let place = tempfile::tempdir().map_err(|error| setup_mismatch(&error))?;
        // The canonical path: on some systems the temporary directory is a symlink.
        let root = place.path().canonicalize().map_err(|error| setup_mismatch(&error))?;
        let root_text = root.to_string_lossy();
        write_tree(&root, &self.recorded.tree, &root_text).map_err(|error| setup_mismatch(&error))?;
        let outcome = self.engine.answer_question(&root, &self.recorded.question(&root, &root_text));
        compare(&replace_root(&self.recorded.expected(), &root_text), &outcome)
    }
}

impl Recorded {
    fn question(&self, root: &Path, root_text: &str) -> ContextQuestion {
        match self.kind {
            Kind::Pack => ContextQuestion::Pack(replace_root(&self.context, root_text)),
            Kind::Prompt => ContextQuestion::Prompt {
                config: replace_root(&self.config, root_text),
                invocation: replace_root(&self.invocation, root_text),
            },
            Kind::Config => {
                ContextQuestion::Config { file: root.join(&self.file), report: self.report.clone() }
            }
        }
    }

    /// The answer of Jinja2. Where it differs and nothing is recorded, it fails.
    fn expected(&self) -> Value {
        match (&self.expect_jinja2, self.jinja2_same) {
            (Some(expected), Some(false)) => expected.clone(),
            (None, Some(false)) => serde_json::json!({"error": {"kind": "template_runtime"}}),
            _ => self.expect.clone(),
        }
    }
}

fn setup_mismatch(error: &io::Error) -> Mismatch {
    Mismatch {
        expected: Side::new("tree", "the tree of the case"),
        actual: Side::new("error", error.to_string()),
    }
}

/// Writes the files of a tree.
fn write_tree(root: &Path, tree: &Map<String, Value>, root_text: &str) -> io::Result<()> {
    for (name, content) in tree {
        let path = beneath(root, name)?;
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        match content {
            Value::String(text) => fs::write(path, text.replace("${ROOT}", root_text))?,
            Value::Object(special) => write_special(&path, special)?,
            other => return Err(io::Error::other(format!("`{name}` is not a file: {other}"))),
        }
    }
    Ok(())
}

fn write_special(path: &Path, special: &Map<String, Value>) -> io::Result<()> {
    let text = |key: &str| special.get(key).and_then(Value::as_str);
    if let Some(encoded) = text("base64") {
        return fs::write(path, base64(encoded).ok_or_else(|| io::Error::other("not base64"))?);
    }
    if let Some(target) = text("symlink") {
        return link(target, path);
    }
    if let (Some(repeated), Some(count)) = (text("repeat"), special.get("count").and_then(Value::as_u64)) {
        return fs::write(path, repeated.repeat(usize::try_from(count).unwrap_or(usize::MAX)));
    }
    match special.get("dir").and_then(Value::as_bool) {
        Some(true) => fs::create_dir_all(path),
        _ => Err(io::Error::other(format!("unknown kind of file: `{}`", path.display()))),
    }
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(_target: &str, _path: &Path) -> io::Result<()> {
    Err(io::Error::other("symlinks are supported on Unix only"))
}

/// Decodes base64.
fn base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | u32::from(digit(byte)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}

fn beneath(root: &Path, name: &str) -> io::Result<PathBuf> {
    if Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        Ok(root.join(name))
    } else {
        Err(io::Error::other(format!("`{name}` leads out of the tree")))
    }
}

/// Replaces `${ROOT}` with the directory.
fn replace_root(value: &Value, root: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("${ROOT}", root)),
        Value::Array(items) => items.iter().map(|item| replace_root(item, root)).collect(),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(key, value)| (key.clone(), replace_root(value, root))).collect(),
        ),
        other => other.clone(),
    }
}

fn compare(expected: &Value, outcome: &ContextOutcome) -> Result<(), Mismatch> {
    let same = match (expected.get("error"), outcome) {
        (None, ContextOutcome::Answer(answer)) => expected == answer,
        (Some(error), ContextOutcome::Error { kind, paths, .. }) => {
            let listed = error.get("paths").and_then(Value::as_array);
            error["kind"] == **kind
                && listed.is_none_or(|listed| listed.iter().eq(paths.iter().map(String::as_str)))
        }
        _ => false,
    };
    if same {
        return Ok(());
    }
    let actual = match outcome {
        ContextOutcome::Answer(answer) => Side::new("answer", pretty(answer)),
        ContextOutcome::Error { kind, paths, message } => {
            Side::new("kind", kind.as_str()).with("paths", paths.join("\n")).with("message", message.as_str())
        }
    };
    let expected = match expected.get("error") {
        Some(error) => {
            let paths = error.get("paths").and_then(Value::as_array).cloned().unwrap_or_default();
            let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
            Side::new("kind", error["kind"].as_str().unwrap_or_default()).with("paths", paths.join("\n"))
        }
        None => Side::new("answer", pretty(expected)),
    };
    Err(Mismatch { expected, actual })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded() {
        assert_eq!(base64("/v9hYv8K").as_deref(), Some(b"\xfe\xff\x61\x62\xff\x0a".as_slice()));
        assert_eq!(base64("/////w==").as_deref(), Some([0xff; 4].as_slice()));
        assert_eq!(base64("!"), None);
    }

    #[test]
    fn errors_are_compared_by_kind_and_paths() {
        let outcome = |paths: &[&str]| ContextOutcome::Error {
            kind: "config_invalid".into(),
            paths: paths.iter().map(|&path| path.to_owned()).collect(),
            message: String::new(),
        };
        let expected = serde_json::json!({"error": {"kind": "config_invalid", "paths": ["a", "b"]}});
        assert!(compare(&expected, &outcome(&["a", "b"])).is_ok());
        assert!(compare(&expected, &outcome(&["a"])).is_err());
        assert!(compare(&serde_json::json!({"error": {"kind": "other"}}), &outcome(&[])).is_err());
        assert!(compare(&expected, &ContextOutcome::Answer(expected.clone())).is_err());
    }
}
