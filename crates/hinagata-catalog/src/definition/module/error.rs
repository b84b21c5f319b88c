//! Converts errors of modules.

use hinagata_document::{Error, Reason};
use serde_json::{Value, json};

/// Converts the error of a module; the first problem provides the hint and the similar names.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it by value")]
pub fn module_error(error: hinagata_module::Error) -> Error {
    let problem =
        |problem: &hinagata_module::Problem| json!({"path": problem.path, "message": problem.message});
    let problems: Vec<Value> = error.problems().iter().map(problem).collect();
    let engine_error = Error::definition(Reason::Module, error.to_string()).with("problems", problems);
    let Some(first) = error.problems().first() else { return engine_error };
    let engine_error = engine_error.with_near(first.near.clone());
    first.hint.iter().fold(engine_error, |engine_error, hint| engine_error.with_hint(hint.clone()))
}
