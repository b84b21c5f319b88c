//! What a user of the command line can do about an error of a template.

use hinagata_value::{Error, ErrorKind, LimitKind, Limits, near_names};
use serde_json::Value as Json;

use crate::{
    failure::Failure,
    limits::{self, Amount},
};

/// Names that are variables only in certain places: nobody passes them.
const PLACED: [&str; 6] = ["caller", "kwargs", "loop", "self", "super", "varargs"];

/// Names the option that sets the limit which was reached.
pub(super) fn about_limit(failure: Failure, error: &Error, limits: &Limits) -> Failure {
    let name = match error.kind() {
        ErrorKind::Deadline => "deadline",
        _ => error.limit().map_or("", LimitKind::as_str),
    };
    let Some(row) = limits::rows(limits).into_iter().find(|row| row.name == name) else { return failure };
    let now = match row.amount {
        Amount::None => String::new(),
        amount => format!("; it is {} now", amount.text()),
    };
    failure.advise(format!("`--limit {name}=…` sets the limit{now}"))
}

/// Names variables that were passed and are close to one that was not, or how to pass it.
pub(super) fn about_variable(failure: Failure, error: &Error, variables: &Json) -> Failure {
    let Some(name) = missing_variable(error).filter(|name| !PLACED.contains(name)) else { return failure };
    if !error.near().is_empty() {
        return failure;
    }
    let passed = variables.as_object().into_iter().flat_map(|variables| variables.keys());
    match near_names(name, passed.map(String::as_str)) {
        near if near.is_empty() => failure.advise(format!("a variable is passed with `{name}=…`")),
        near => failure.near(near),
    }
}

/// The variable that is not there: what the error is about, or the name in its sentence.
fn missing_variable(error: &Error) -> Option<&str> {
    let sentence = || error.message().strip_prefix('\'')?.strip_suffix("' is undefined");
    error.subject().or_else(sentence).filter(|_| error.kind() == ErrorKind::Undefined)
}
