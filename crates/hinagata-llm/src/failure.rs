//! Why no model answered, as errors of code `model`.

use std::fmt;

use bytes::Bytes;
use hinagata::{Code, Error};
use serde_json::Value;

use crate::secret::Secret;

/// Characters of a provider's message that an error shows.
const MAX_CHARACTERS: usize = 500;

/// A failed call, with its reason for machines.
pub(crate) fn model_error(reason: &str, message: impl Into<String>) -> Error {
    Error::new(Code::Model, message).with("reason", reason)
}

/// A call that cannot be followed as it is.
pub(crate) fn validation_error(message: impl Into<String>) -> Error {
    Error::new(Code::Validation, message)
}

/// What a provider answered in the place of an answer: the source of the error that tells of it.
///
/// A door that speaks the provider's own language passes it on as it is.
#[derive(Clone, Debug)]
pub struct ProviderFailure {
    /// Its status.
    pub status: u16,
    /// What it says its body is.
    pub content_type: Option<String>,
    /// The beginning of its body, up to 64 KiB, without the key.
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

    /// The one that `error` tells of.
    #[must_use]
    pub fn from_error(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// What it says, on one line and bounded; empty where it says nothing.
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

/// The sentence in the body of an error: each provider has a place of its own for it.
fn extract_message(body: &[u8]) -> String {
    let sentence = |value: &Value| {
        let places = ["/error/message", "/0/error/message", "/message", "/error", "/detail"];
        places.iter().find_map(|place| value.pointer(place)?.as_str().map(str::to_owned))
    };
    let parsed = serde_json::from_slice::<Value>(body).ok();
    let text = parsed.as_ref().and_then(sentence);
    truncate_for_display(&text.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned()))
}

/// The message of an error that came inside an answer.
pub(crate) fn embedded_message(value: &Value) -> String {
    extract_message(value.to_string().as_bytes())
}

/// The beginning of a text of a stranger, on one line.
pub(crate) fn truncate_for_display(text: &str) -> String {
    hinagata_http::truncate_for_display(text, MAX_CHARACTERS)
}

/// The sentence of an error together with the sentences of what caused it.
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
