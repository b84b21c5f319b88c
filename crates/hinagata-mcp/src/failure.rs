//! Errors of the protocol. They reveal nothing about the machine and no secrets.

use hinagata::{Code, Error, LocalPlaces, Reason};
use rmcp::{ErrorData, model::ErrorCode};
use serde_json::{Map, Value, json};

use crate::hints::hint_text;

/// The error code of a server that is busy.
pub(crate) const BUSY: ErrorCode = ErrorCode(-32_000);

/// Maximum characters of a caller's text in a message.
const MAX_DISPLAYED: usize = 80;

/// Truncates a caller's text and removes control characters, for use in messages.
pub(crate) fn truncate_for_display(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_DISPLAYED).collect()
}

/// An error with code -32602.
pub(crate) fn invalid_params(message: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(message.into(), None)
}

/// An error with code -32602 and data.
pub(crate) fn invalid_params_with(message: impl Into<String>, data: Value) -> ErrorData {
    ErrorData::invalid_params(message.into(), Some(data))
}

/// The error for an unknown prompt, with similar names.
pub(crate) fn prompt_not_found(name: &str, near: Vec<String>) -> ErrorData {
    let mut data = json!({"code": Code::NotFound.as_str()});
    if !near.is_empty() {
        data["near"] = near.into();
    }
    invalid_params_with(format!("prompt `{}` not found", truncate_for_display(name)), data)
}

/// The error for a prompt that is not served over MCP.
pub(crate) fn prompt_hidden(name: &str, reason: &str) -> ErrorData {
    let data = json!({"code": Code::NotFound.as_str(), "hidden": true});
    invalid_params_with(format!("prompt `{name}` is not served over MCP: {reason}"), data)
}

/// Converts an engine error. A caller's mistake is reported as it is, without the paths of `places`. Of an internal failure,
/// the caller learns only what it can use, and the log has the rest.
pub(crate) fn from_engine_error(error: &Error, places: &LocalPlaces) -> ErrorData {
    let code = error.code();
    let message = match code {
        Code::Id | Code::NotFound | Code::Conflict | Code::Validation => error.message().to_owned(),
        Code::RenderUndefined
        | Code::RenderRuntime
        | Code::RenderLimit
        | Code::RenderSecurity
        | Code::OutputLimit
        | Code::Deadline => error.message().to_owned(),
        Code::Approval if error.reason() == Some(Reason::Secret) => {
            "the prompt names a file that is withheld because it contains a secret".to_owned()
        }
        _ => public_message(code).to_owned(),
    };
    if code.spec().rpc == ErrorCode::INTERNAL_ERROR.0 {
        let place = error.place().map(tracing::field::display);
        tracing::warn!(code = code.as_str(), place, error = error.message(), details = ?error.details(), "a render failed");
    }
    let mut data = Map::new();
    data.insert("code".to_owned(), code.as_str().into());
    for key in ["prompt_id", "missing", "type_errors", "schema_errors", "reserved", "limit", "actual"] {
        if let Some(value) = error.details().get(key) {
            let mut value = value.clone();
            places.hide_in_value(&mut value);
            data.insert(key.to_owned(), value);
        }
    }
    // Only the caller's own mistakes have a next step for the caller.
    if let Some(hint) = error.hint().filter(|_| code.spec().rpc == ErrorCode::INVALID_PARAMS.0) {
        data.insert("hint".to_owned(), hide_paths(&hint_text(hint), places).into());
    }
    ErrorData::new(ErrorCode(code.spec().rpc), hide_paths(&message, places), Some(Value::Object(data)))
}

/// The public message for errors whose own message is meant for the operator.
fn public_message(code: Code) -> &'static str {
    match code {
        Code::Definition | Code::RenderSyntax | Code::RenderTemplateNotFound => {
            "the definition of the prompt is invalid; see the server log"
        }
        Code::Hook => "a hook of the prompt failed",
        Code::HookTimeout => "a hook of the prompt took too long",
        Code::Approval => "the prompt uses something that is not approved",
        Code::Tool => "a tool of the prompt failed",
        Code::Model => "a model call of the prompt failed",
        _ => "the prompt cannot be rendered",
    }
}

/// Makes the paths beneath `places` relative, and replaces words that look like other absolute paths.
pub(crate) fn hide_paths(message: &str, places: &LocalPlaces) -> String {
    let relative = places.hide_in_text(message);
    redact_words(relative.as_deref().unwrap_or(message))
}

fn redact_words(message: &str) -> String {
    let is_path = |word: &str| {
        let word = word.trim_start_matches(['`', '"', '\'', '(']);
        word.len() > 1 && word.starts_with('/') || word.get(1..3) == Some(":\\")
    };
    if !message.split(' ').any(is_path) {
        return message.to_owned();
    }
    message.split(' ').map(|word| if is_path(word) { "…" } else { word }).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn internal_errors_reveal_no_paths() {
        let error = Error::new(Code::Store, "the directory /home/me/secret cannot be read");
        let converted = from_engine_error(&error, &LocalPlaces::default());
        assert_eq!(converted.code, ErrorCode::INTERNAL_ERROR);
        assert!(!converted.message.contains("/home"), "{}", converted.message);
        let error = Error::new(Code::RenderRuntime, "cannot open `/etc/passwd` of x/y");
        assert_eq!(from_engine_error(&error, &LocalPlaces::default()).message, "cannot open … of x/y");
    }

    #[test]
    fn paths_of_the_workspace_become_relative_whatever_they_contain() {
        let places = LocalPlaces::new(Path::new("/home/ann/my work"), None);
        let error = Error::new(Code::Validation, "cannot read file:/home/ann/my work/a b.md")
            .with("type_errors", json!([{"file": "/home/ann/my work/c"}, "/0/pointer"]));
        let converted = from_engine_error(&error, &places);
        assert_eq!(converted.message, "cannot read file:a b.md");
        let data = converted.data.expect("has data");
        assert_eq!(data["type_errors"], json!([{"file": "c"}, "/0/pointer"]));
    }

    #[test]
    fn a_callers_mistake_is_reported() {
        let error = Error::new(Code::Validation, "`n` must be an integer").with("type_errors", json!([1]));
        let converted = from_engine_error(&error, &LocalPlaces::default());
        assert_eq!(
            (converted.code, &*converted.message),
            (ErrorCode::INVALID_PARAMS, "`n` must be an integer")
        );
        assert_eq!(converted.data.expect("has data")["type_errors"], json!([1]));
        assert_eq!(truncate_for_display(&format!("a\nb{}", "x".repeat(500))).len(), 80);
    }
}
