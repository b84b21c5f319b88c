//! Reads the case files of a directory: every `*.json`, in order of name.
//!
//! A file is an object with a list `cases`. Other members describe the file for people. Each case is decoded
//! separately, so that an error can name it.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::case::Case;

/// A case and the file it was found in.
#[derive(Clone)]
pub struct LoadedCase {
    /// The name of the file, without its directory.
    pub file: String,
    /// The case.
    pub case: Arc<dyn Case>,
}

/// Input that cannot be read or is invalid: a mistake of the caller, not of an engine.
#[derive(Debug, PartialEq, Eq)]
pub struct InputError {
    path: PathBuf,
    case: Option<String>,
    message: String,
}

impl InputError {
    pub(crate) fn new(path: &Path, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), case: None, message: message.into() }
    }

    fn in_case(self, case: impl Into<String>) -> Self {
        Self { case: Some(case.into()), ..self }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        if let Some(case) = &self.case {
            write!(f, "case `{case}`: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for InputError {}

/// Reads every case of `dir` as a `T`, and combines each with its engine by `join`.
pub(crate) fn read_cases<T: DeserializeOwned, C: Case>(
    dir: &Path,
    join: impl Fn(T) -> C,
) -> Result<Vec<LoadedCase>, InputError> {
    join_values(dir, case_values, join)
}

/// Reads every file of `dir` as one `T`, and combines it with its engine by `join`.
pub(crate) fn read_single_cases<T: DeserializeOwned, C: Case>(
    dir: &Path,
    join: impl Fn(T) -> C,
) -> Result<Vec<LoadedCase>, InputError> {
    join_values(dir, |path| Ok(vec![document(path)?]), join)
}

/// Combines each value that `values` finds in a file.
fn join_values<T: DeserializeOwned, C: Case>(
    dir: &Path,
    values: impl Fn(&Path) -> Result<Vec<Value>, InputError>,
    join: impl Fn(T) -> C,
) -> Result<Vec<LoadedCase>, InputError> {
    let mut found = Vec::new();
    for path in case_files(dir)? {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for value in values(&path)? {
            let case = join(decode(&path, value)?);
            found.push(LoadedCase { file: file.clone(), case: Arc::new(case) });
        }
    }
    refuse_duplicates(dir, &found)?;
    Ok(found)
}

/// Reads the vectors of every file of `dir` as a `T`, and combines those that are to be run with their engine by
/// `join`, which also receives the kind of the file.
pub(crate) fn read_vectors<T: DeserializeOwned, C: Case>(
    dir: &Path,
    join: impl Fn(&str, T) -> Option<C>,
) -> Result<Vec<LoadedCase>, InputError> {
    let mut found = Vec::new();
    for path in case_files(dir)? {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut document = document(&path)?;
        let Some(kind) = document.get("kind").and_then(Value::as_str).map(str::to_owned) else {
            return Err(InputError::new(&path, "`kind` is missing"));
        };
        for value in list(&path, &mut document, "vectors")? {
            if let Some(case) = join(&kind, decode(&path, value)?) {
                found.push(LoadedCase { file: file.clone(), case: Arc::new(case) });
            }
        }
    }
    refuse_duplicates(dir, &found)?;
    Ok(found)
}

/// Calls `visit` with every vector of `dir` and the kind of its file.
pub(crate) fn each_vector<T: DeserializeOwned>(
    dir: &Path,
    mut visit: impl FnMut(&str, T),
) -> Result<(), InputError> {
    for path in case_files(dir)? {
        let mut document = document(&path)?;
        let Some(kind) = document.get("kind").and_then(Value::as_str).map(str::to_owned) else {
            return Err(InputError::new(&path, "`kind` is missing"));
        };
        for value in list(&path, &mut document, "vectors")? {
            visit(&kind, decode(&path, value)?);
        }
    }
    Ok(())
}

fn case_files(dir: &Path) -> Result<Vec<PathBuf>, InputError> {
    let read = |error: std::io::Error| InputError::new(dir, format!("cannot read the directory: {error}"));
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(InputError::new(dir, "contains no `*.json` file with cases"));
    }
    files.sort();
    Ok(files)
}

fn case_values(path: &Path) -> Result<Vec<Value>, InputError> {
    list(path, &mut document(path)?, "cases")
}

fn document(path: &Path) -> Result<Value, InputError> {
    let text = fs::read_to_string(path).map_err(|error| InputError::new(path, error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| InputError::new(path, format!("not valid JSON: {error}")))
}

fn list(path: &Path, document: &mut Value, key: &str) -> Result<Vec<Value>, InputError> {
    match document {
        Value::Object(fields) => match fields.remove(key) {
            Some(Value::Array(cases)) => Ok(cases),
            Some(_) => Err(InputError::new(path, format!("`{key}` is not a list"))),
            None => Err(InputError::new(path, format!("has no list `{key}`"))),
        },
        _ => Err(InputError::new(path, format!("is not an object with a list `{key}`"))),
    }
}

fn decode<T: DeserializeOwned>(path: &Path, value: Value) -> Result<T, InputError> {
    let id = value.get("id").and_then(Value::as_str).unwrap_or("(no id)").to_owned();
    serde_json::from_value(value).map_err(|error| InputError::new(path, error.to_string()).in_case(id))
}

fn refuse_duplicates(dir: &Path, found: &[LoadedCase]) -> Result<(), InputError> {
    let mut files = HashMap::new();
    for LoadedCase { file, case } in found {
        if let Some(first) = files.insert(case.id(), file) {
            let message = format!("duplicate id in {first} and {file}");
            return Err(InputError::new(dir, message).in_case(case.id()));
        }
    }
    Ok(())
}
