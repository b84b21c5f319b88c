//! Errors of the engine as Python exceptions. Their classes are in `hinagata/_errors.py`.

use hinagata::{Code, Error, Hint, Place};
use pyo3::{
    intern,
    prelude::*,
    types::{PyDict, PyType},
};
use serde_json::{Map, Value, json};

use crate::values::{map_to_python, to_python};

/// The exception for an error of the engine.
pub(crate) fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    build_exception(py, error).unwrap_or_else(|problem| problem)
}

fn build_exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let fields = PyDict::new(py);
    fields.set_item(intern!(py, "details"), map_to_python(py, error.details())?)?;
    if let Some(place) = error.place() {
        fields.set_item(intern!(py, "place"), to_python(py, &place_json(place))?)?;
    }
    if !error.chain().is_empty() {
        let chain: Value = error.chain().iter().map(place_json).collect();
        fields.set_item(intern!(py, "chain"), to_python(py, &chain)?)?;
    }
    if !error.near().is_empty() {
        fields.set_item(intern!(py, "near"), error.near())?;
    }
    if let Some(hint) = error.hint() {
        fields.set_item(intern!(py, "hint"), hint_text(hint))?;
    }
    let module = py.import(intern!(py, "hinagata._errors"))?;
    let code = error.code().as_str();
    let exception = module.call_method1(intern!(py, "make_error"), (code, error.message(), fields))?;
    Ok(PyErr::from_value(exception))
}

fn place_json(place: &Place) -> Value {
    let mut all = Map::new();
    all.insert("file".to_owned(), place.file.as_str().into());
    if place.line > 0 {
        all.insert("line".to_owned(), place.line.into());
    }
    if place.column > 0 {
        all.insert("column".to_owned(), place.column.into());
    }
    Value::Object(all)
}

/// The exception for a value of the caller that is not data.
pub(crate) fn value_error(py: Python<'_>, path: &str, message: &str, hint: &str) -> PyErr {
    let error = Error::new(Code::Validation, format!("`{path}`: {message}"))
        .with("path", path)
        .with("type_errors", json!([{"name": path, "message": message}]))
        .with_hint(hint);
    to_exception(py, &error)
}

/// The class of warnings.
pub(crate) fn warning_class(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    Ok(py.import(intern!(py, "hinagata._errors"))?.getattr(intern!(py, "HinagataWarning"))?.cast_into()?)
}

/// A hint in the words of Python.
pub(crate) fn hint_text(hint: &Hint) -> String {
    match hint {
        Hint::PassVariable { name, .. } => format!("pass the variable: `{{\"{name}\": …}}`"),
        Hint::ListPrompts => "`list_prompts()` lists the prompts".to_owned(),
        Hint::ShowCandidates { id } => format!("`list_candidates(\"{id}\")` shows them"),
        Hint::ChooseCandidate { id, source } => {
            format!("choose one: `set_resolution(\"{id}\", \"{source}\")`")
        }
        Hint::TrustWorkspace => {
            "review its settings and code, then run `hina trust`, or pass `trusted=True`".to_owned()
        }
        Hint::ExplainRender => "`explain()` shows how long each part takes".to_owned(),
        Hint::Steps(steps) => steps.iter().map(hint_text).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}
