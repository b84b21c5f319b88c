//! Errors of calls to models: code `model`.

use std::fmt;

use bytes::Bytes;
use hinagata::{Code, Error, Reason};
use serde_json::Value;

use crate::secret::Secret;

/// Most characters of a provider's message in an error.
const MAX_CHARACTERS: usize = 500;

/// The error of a failed call, with its reason.
pub(crate) fn model_error(reason: Reason, message: impl Into<String>) -> Error {
    Error::new(Code::Model, message).with_reason(reason)
}

/// The error of a stream that ended too early.
pub(crate) fn incomplete_error() -> Error {
    model_error(Reason::Stream, "the stream ended before the answer was complete")
}

/// The error of a call with invalid options.
pub(crate) fn validation_error(message: impl Into<String>) -> Error {
    Error::new(Code::Validation, message)
}

/// The response of a provider that rejected a request: the source of the error that reports it.
///
/// A door with the API of that provider forwards it unchanged.
#[derive(Clone, Debug)]
pub struct ProviderFailure {
    /// The HTTP status.
    pub status: u16,
    /// The `content-type` of the body.
    pub content_type: Option<String>,
    /// The start of the body, up to 64 KiB, without the key.
    pub body: Bytes,
    message: String,
}

impl ProviderFailure {
    pub(crate) fn new(status: u16, content_type: Option<String>, body: Bytes, key: Option<&Secret>) -> Self {
        let body = match (key, std::str::from_utf8(&body)) {
            (Some(key), Ok(text)) => match key.hide_in(text) {
                std::borrow::Cow::Borrowed(_) => body,
                std::borrow::Cow::Owned(text) => text.into(),
            },
            (Some(key), Err(_)) => key.hide_in(&String::from_utf8_lossy(&body)).into_owned().into(),
            (None, _) => body,
        };
        let message = extract_message(&body);
        Self { status, content_type, body, message }
    }

    /// The response that `error` reports, if there is one.
    #[must_use]
    pub fn from_error(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// The message of the provider, on one line and truncated; empty if there is none.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ProviderFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.is_empty() {
            true => write!(f, "the provider returned status {}", self.status),
            false => write!(f, "the provider returned status {}: {}", self.status, self.message),
        }
    }
}

impl std::error::Error for ProviderFailure {}

/// The message in the body of an error; each provider has its own place for it.
fn extract_message(body: &[u8]) -> String {
    let sentence = |value: &Value| {
        let places = ["/error/message", "/0/error/message", "/message", "/error", "/detail"];
        places.iter().find_map(|place| value.pointer(place)?.as_str().map(str::to_owned))
    };
    let parsed = serde_json::from_slice::<Value>(body).ok();
    let text = parsed.as_ref().and_then(sentence);
    truncate_for_display(&text.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned()))
}

/// The message of an error inside of a stream.
pub(crate) fn embedded_message(value: &Value) -> String {
    extract_message(value.to_string().as_bytes())
}

/// The start of a foreign text, on one line.
pub(crate) fn truncate_for_display(text: &str) -> String {
    hinagata_http::truncate_for_display(text, MAX_CHARACTERS)
}

/// The message of an error, followed by the messages of its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    truncate_for_display(&hinagata_http::with_causes(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &str) -> String {
        ProviderFailure::new(400, None, body.to_owned().into(), None).message
    }

    #[test]
    fn every_provider_has_its_own_place_for_what_it_says() {
        assert_eq!(message(r#"{"error": {"message": "no\nsuch model", "code": 1}}"#), "no such model");
        assert_eq!(message(r#"[{"error": {"message": "quota"}}]"#), "quota");
        assert_eq!(message(r#"{"error": "model not found"}"#), "model not found");
        assert_eq!(message(r#"{"detail": "no"}"#), "no");
        assert_eq!(message("<html>\x1b[2J bad gateway</html>"), "<html>[2J bad gateway</html>");
        assert_eq!(message(""), "");
        assert_eq!(message(&"x".repeat(9999)).chars().count(), MAX_CHARACTERS + 1);
    }

    #[test]
    fn a_provider_that_repeats_the_key_does_not_tell_it() {
        let key = Secret::from_env("K", &|_| Some("sk-secret".into())).expect("is one");
        for body in [b"wrong key sk-secret".to_vec(), b"\xffsk-secret".to_vec()] {
            let failure = ProviderFailure::new(401, None, body.into(), Some(&key));
            let body = String::from_utf8_lossy(&failure.body).into_owned();
            assert!(body.contains("•••") && !body.contains("sk-secret"), "{body}");
            assert!(!format!("{failure} {failure:?}").contains("sk-secret"));
        }
    }
}
