//! Hints of the command line for template errors.

use std::path::Path;

use hinagata::Settings;
use hinagata_value::{Error, ErrorKind, LimitKind, Place, near_names};
use serde_json::Value as Json;

use crate::failure::Failure;

/// Names that are variables only in certain places. They cannot be passed.
const PLACED: [&str; 6] = ["caller", "kwargs", "loop", "self", "super", "varargs"];

/// Names the option that sets the limit which was reached.
pub(super) fn with_limit_hint(failure: Failure, error: &Error, settings: &Settings) -> Failure {
    let name = match error.kind() {
        ErrorKind::Deadline => "deadline",
        _ => error.limit().map_or("", LimitKind::as_str),
    };
    let Some(found) = settings.get(&format!("limits.{name}")) else { return failure };
    let now = match found.value.is_null() {
        true => String::new(),
        false => format!("; it is {} now", found.setting.kind.format_value(&found.value)),
    };
    failure.with_hint(format!("`--limit {name}=…` sets the limit{now}"))
}

/// Names variables that were passed and are close to one that was not, or how to pass it.
pub(super) fn with_variable_hint(failure: Failure, error: &Error, variables: &Json) -> Failure {
    let Some(missing) = Missing::from_error(error).filter(|_| error.near().is_empty()) else {
        return failure;
    };
    let (Missing::Variable(name) | Missing::Key(name)) = missing;
    let passed = variables.as_object().into_iter().flat_map(|variables| variables.keys());
    let near = near_names(name, passed.map(String::as_str));
    match missing {
        _ if !near.is_empty() => failure.with_near(near),
        Missing::Variable(name) if !PLACED.contains(&name) && !is_called(error) => {
            failure.with_hint(format!("pass the variable with `{name}=…`"))
        }
        _ => failure,
    }
}

/// Whether the place is a call. Functions cannot be passed.
fn is_called(error: &Error) -> bool {
    let at = |place: &Place| place.excerpt.as_ref()?.chars().nth((place.column as usize).checked_sub(1)?);
    error.place().and_then(at) == Some('(')
}

/// The missing object of an error.
#[derive(Clone, Copy)]
enum Missing<'e> {
    /// A variable.
    Variable(&'e str),
    /// A key of a map, which may be the one of all variables.
    Key(&'e str),
}

impl<'e> Missing<'e> {
    /// The name that the error is about. For Go it is only in the message.
    fn from_error(error: &'e Error) -> Option<Self> {
        if error.kind() != ErrorKind::Undefined {
            return None;
        }
        let key =
            || Some(error.message().rsplit_once("map has no entry for key \"")?.1.trim_end_matches('"'));
        error.subject().map(Self::Variable).or_else(|| key().map(Self::Key))
    }
}

/// Adds hints on where templates are loaded from to an error about a missing one.
pub(super) fn with_template_hint(
    failure: Failure,
    error: &Error,
    root: Option<&Path>,
    remarks: Vec<String>,
) -> Failure {
    let go = is_missing_in_go(error);
    if error.kind() != ErrorKind::NotFound && !go {
        return failure;
    }
    let failure = remarks.into_iter().fold(failure, Failure::with_hint);
    let failure = failure.with_hint(match root {
        Some(root) => format!("templates are loaded from `{}`", root.display()),
        None => "a template from standard input has no directory; `--root DIR` sets one".to_owned(),
    });
    if go { failure.with_hint("`--with FILE` adds the definitions of another file") } else { failure }
}

/// Go has no kind of error for it.
fn is_missing_in_go(error: &Error) -> bool {
    let message = error.message();
    message.contains(": template \"") && message.ends_with("\" not defined")
}
