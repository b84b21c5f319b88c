//! Failures as the protocol tells them: nothing of the machine or of secrets leaves with them.

use hinagata::{Code, Error};
use rmcp::{ErrorData, model::ErrorCode};
use serde_json::{Map, Value, json};

/// Characters of a caller's text that are truncate_for_display again.
const MAX_DISPLAYED: usize = 80;

/// A caller's text, as it can be truncate_for_display again.
pub(crate) fn truncate_for_display(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_DISPLAYED).collect()
}

/// -32602.
pub(crate) fn invalid_params(message: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(message.into(), None)
}

/// -32602, with something for machines.
pub(crate) fn invalid_params_with(message: impl Into<String>, data: Value) -> ErrorData {
    ErrorData::invalid_params(message.into(), Some(data))
}

/// There is no such prompt; `near` may have been meant.
pub(crate) fn prompt_not_found(name: &str, near: Vec<String>) -> ErrorData {
    let mut data = json!({"code": Code::NotFound.as_str()});
    if !near.is_empty() {
        data["near"] = near.into();
    }
    invalid_params_with(format!("there is no prompt `{}`", truncate_for_display(name)), data)
}

/// An error of the engine. What the caller did wrong is told as it is; of what went wrong inside, only as much as a
/// caller can use, and the log has the rest.
pub(crate) fn from_engine_error(error: &Error) -> ErrorData {
    let code = error.code();
    let message = match code {
        Code::Id | Code::NotFound | Code::Conflict | Code::Validation => error.message().to_owned(),
        Code::RenderUndefined
        | Code::RenderRuntime
        | Code::RenderLimit
        | Code::RenderSecurity
        | Code::OutputLimit
        | Code::Deadline => error.message().to_owned(),
        _ => public_message(code).to_owned(),
    };
    if code.mcp_code() == ErrorCode::INTERNAL_ERROR.0 {
        let place = error.place().map(tracing::field::display);
        tracing::warn!(code = code.as_str(), place, error = error.message(), details = ?error.details(), "a render failed");
    }
    let mut data = Map::new();
    data.insert("code".to_owned(), code.as_str().into());
    for key in ["prompt_id", "missing", "type_errors", "schema_errors", "reserved", "limit", "actual"] {
        if let Some(value) = error.details().get(key) {
            data.insert(key.to_owned(), value.clone());
        }
    }
    ErrorData::new(ErrorCode(code.mcp_code()), redact_paths(&message), Some(Value::Object(data)))
}

/// What is told where the engine's own words are for whoever runs it.
fn public_message(code: Code) -> &'static str {
    match code {
        Code::Definition | Code::RenderSyntax | Code::RenderTemplateNotFound => {
            "the prompt is written wrongly; whoever serves it finds the place in the log"
        }
        Code::Hook => "a hook of the prompt failed",
        Code::HookTimeout => "a hook of the prompt took too long",
        Code::Approval => "something of the prompt is not approved",
        Code::Tool => "a tool of the prompt failed",
        Code::Model => "a model that the prompt asks failed",
        _ => "the prompt cannot be rendered now",
    }
}

/// The message without words that look like absolute paths.
pub(crate) fn redact_paths(message: &str) -> String {
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
    use super::*;

    #[test]
    fn what_is_wrong_inside_stays_inside() {
        let error = Error::new(Code::Store, "the directory /home/me/secret cannot be read");
        let told = from_engine_error(&error);
        assert_eq!(told.code, ErrorCode::INTERNAL_ERROR);
        assert!(!told.message.contains("/home"), "{}", told.message);
        let error = Error::new(Code::RenderRuntime, "cannot open `/etc/passwd` of x/y");
        assert_eq!(from_engine_error(&error).message, "cannot open … of x/y");
    }

    #[test]
    fn what_the_caller_did_is_told() {
        let error = Error::new(Code::Validation, "`n` must be an integer").with("type_errors", json!([1]));
        let told = from_engine_error(&error);
        assert_eq!((told.code, &*told.message), (ErrorCode::INVALID_PARAMS, "`n` must be an integer"));
        assert_eq!(told.data.expect("has data")["type_errors"], json!([1]));
        assert_eq!(truncate_for_display(&format!("a\nb{}", "x".repeat(500))).len(), 80);
    }
}
