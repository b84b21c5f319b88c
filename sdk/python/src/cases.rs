//! Test files of prompts, for test runners of Python that run one case at a time.

use std::sync::Arc;

use hinagata::{Catalog, Result, secret::SecretAction};
use hinagata_test::{
    CallLimits, CallMode, Cassettes, FoundCases, RunOptions, Runner, SnapshotMode, TESTS, find_cases,
    report::to_json,
};
use pyo3::{exceptions::PyIndexError, prelude::*, types::PyList};
use serde_json::{Value, json};

use crate::{
    call::run_beside,
    errors::to_exception,
    opened::{Opened, Place},
    values::to_python,
};

/// A test file of a prompt: its cases, or its problems.
#[pyclass(frozen, module = "hinagata._core")]
pub(crate) struct CaseFile {
    place: Arc<Place>,
    found: FoundCases,
}

impl CaseFile {
    /// The test file at `file`, a path from the workspace root; `None` if it belongs to no prompt.
    pub(crate) fn find(place: &Arc<Place>, catalog: &Catalog, file: &str) -> Option<Self> {
        let directory = file.rsplit_once('/')?.0.strip_suffix(TESTS)?.strip_suffix('/')?;
        let mut found = find_cases(catalog, |source| source == directory);
        found.files.retain(|one| one.file == file);
        found.problems.retain(|problem| problem.place().is_none_or(|place| place.file == file));
        let is_found = !found.files.is_empty() || !found.problems.is_empty();
        is_found.then(|| Self { place: Arc::clone(place), found })
    }
}

#[pymethods]
impl CaseFile {
    /// The problems of the file, as exceptions. Without any, it has cases.
    #[getter]
    fn problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.found.problems.iter().map(|problem| to_exception(py, problem)))
    }

    /// The prompt that the cases render.
    #[getter]
    fn prompt(&self) -> &str {
        self.found.files.first().map_or("", |file| &file.prompt)
    }

    /// The cases in the order of the file: dicts with `name`, `line` and `skip`, the reason not to run it.
    #[getter]
    fn cases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let cases = self.found.files.iter().flat_map(|file| &file.cases);
        let all: Value = cases
            .map(|case| json!({"name": case.name, "line": case.place.line, "skip": case.skip}))
            .collect();
        to_python(py, &all)
    }

    /// Runs a case. The result is that of `hina test --format json`.
    #[pyo3(signature = (number, *, update=false))]
    fn run_case<'py>(&self, py: Python<'py>, number: usize, update: bool) -> PyResult<Bound<'py, PyAny>> {
        let file = self.found.files.first();
        let Some((file, case)) = file.and_then(|file| Some((file, file.cases.get(number)?))) else {
            return Err(PyIndexError::new_err(format!("the file has no case {number}")));
        };
        let file = hinagata_test::CaseFile {
            file: file.file.clone(),
            prompt: file.prompt.clone(),
            cases: vec![case.clone()],
            names: file.names.clone(),
        };
        let place = Arc::clone(&self.place);
        let snapshots = SnapshotMode::choose(update, std::env::var("CI").ok().as_deref());
        let result = run_beside(py, None, move || run_file(&*place.opened()?, file, snapshots))?;
        to_python(py, &result.map_err(|error| to_exception(py, &error))?)
    }
}

/// Runs a file with one case.
fn run_file(opened: &Opened, file: hinagata_test::CaseFile, snapshots: SnapshotMode) -> Result<Value> {
    let workspace = &opened.workspace;
    let is_trusted = workspace.trust.is_trusted();
    let policy = workspace.settings.secret_policy(is_trusted).with_action(SecretAction::Redact);
    let limits = CallLimits { calls: 0, cost: None };
    let models = Cassettes::new(workspace.llm()?, CallMode::Replay, limits, policy);
    let runner = Runner {
        engine: &opened.engine,
        settings: &workspace.settings,
        options: RunOptions { jobs: 1, snapshots, is_complete: false, is_trusted, may_call_out: false },
        models: Some(&models),
    };
    let report = runner.run_files(&[file], &|_| ());
    Ok(to_json(&report)["cases"][0].take())
}
