//! What the provider does with a request.

use serde_json::Value;

/// What the provider does with a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The answer that is always the same, in the language of the path, streamed where that is asked for.
    Canned,
    /// This JSON, with status 200.
    Json(Value),
    /// A status with headers and a body.
    Status {
        /// The status.
        status: u16,
        /// The headers.
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
    /// These pieces, one after the other, as a stream that ends.
    Stream(Vec<String>),
    /// These pieces, each once [`crate::FakeProvider::step`] was called for it.
    Steps(Vec<String>),
    /// These pieces, then the connection breaks.
    BreakOff(Vec<String>),
    /// These pieces, then nothing, until the other side leaves.
    Hang(Vec<String>),
    /// No answer at all, until the other side leaves.
    Silence,
}

impl Reply {
    /// A status with a body that is a text.
    #[must_use]
    pub fn status(status: u16, body: &str) -> Self {
        Self::Status { status, headers: Vec::new(), body: body.to_owned() }
    }

    /// Too many requests; ask again after some seconds.
    #[must_use]
    pub fn retry_after(seconds: &str) -> Self {
        Self::Status {
            status: 429,
            headers: vec![("retry-after".to_owned(), seconds.to_owned())],
            body: r#"{"error":{"message":"slow down"}}"#.to_owned(),
        }
    }
}
