//! Errors of modules as errors of the engine.

use hinagata_document::{Error, Reason};
use serde_json::{Value, json};

/// The error of a module as one of the engine; its first problem is the one that is told.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub fn module_error(error: hinagata_module::Error) -> Error {
    let problem =
        |problem: &hinagata_module::Problem| json!({"path": problem.path, "message": problem.message});
    let problems: Vec<Value> = error.problems().iter().map(problem).collect();
    let engine_error = Error::definition(Reason::Module, error.to_string()).with("problems", problems);
    let Some(first) = error.problems().first() else { return engine_error };
    let engine_error = engine_error.with_near(first.near.clone());
    first.hint.iter().fold(engine_error, |engine_error, hint| engine_error.with_hint(hint.clone()))
}
