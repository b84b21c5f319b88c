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
    let ours = Error::definition(Reason::Module, error.to_string()).with("problems", problems);
    let Some(first) = error.problems().first() else { return ours };
    let ours = ours.with_near(first.near.clone());
    first.hint.iter().fold(ours, |ours, hint| ours.with_hint(hint.clone()))
}
