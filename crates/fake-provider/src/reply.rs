//! Replies of the provider.

use serde_json::Value;

/// The reply to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The fixed answer in the format of the path, streamed if the request asks for it.
    Canned,
    /// This JSON, with status 200.
    Json(Value),
    /// These bytes, with status 200 and a `content-encoding` header.
    Encoded {
        /// The name of the compression.
        encoding: &'static str,
        /// The compressed body.
        body: Vec<u8>,
    },
    /// A status with headers and a body.
    Status {
        /// The status.
        status: u16,
        /// The headers.
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
    /// A stream of these pieces.
    Stream(Vec<String>),
    /// A stream that sends one piece for each call of [`crate::FakeProvider::step`].
    Steps(Vec<String>),
    /// A stream of these pieces, then the connection breaks.
    BreakOff(Vec<String>),
    /// A stream of these pieces, then nothing until the client disconnects.
    Hang(Vec<String>),
    /// No response until the client disconnects.
    Silence,
    /// The connection is closed without a response.
    Close,
    /// The request is refused before it is processed; HTTP/2 only.
    Refuse,
}

impl Reply {
    /// A reply with this status and a text body.
    #[must_use]
    pub fn status(status: u16, body: &str) -> Self {
        Self::Status { status, headers: Vec::new(), body: body.to_owned() }
    }

    /// A page with status 200, as a gateway in front of a provider returns it.
    #[must_use]
    pub fn page(body: &str) -> Self {
        let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
        Self::Status { status: 200, headers, body: body.to_owned() }
    }

    /// A reply with status 429 and a `retry-after` header.
    #[must_use]
    pub fn retry_after(seconds: &str) -> Self {
        Self::Status {
            status: 429,
            headers: vec![("retry-after".to_owned(), seconds.to_owned())],
            body: r#"{"error":{"message":"slow down"}}"#.to_owned(),
        }
    }
}
