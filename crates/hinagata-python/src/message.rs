//! The messages between the engine and a worker (frames) and between the engine and a zygote (packets).
//!
//! The first frame to a worker carries the version. Each side ignores fields that it does not know, so fields can be
//! added without a new version.

use std::time::UNIX_EPOCH;

use hinagata::ports::FixedSurroundings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// A job: the first message to a worker. A reused worker receives more than one.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct JobMessage<'a> {
    pub(crate) version: u32,
    pub(crate) stage: &'static str,
    /// The file as shown to people, for tracebacks.
    pub(crate) file: &'a str,
    /// The absolute path of the same file, for `__file__`.
    pub(crate) path: &'a str,
    /// Omitted when the worker already has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<&'a str>,
    /// The plain entries of the context.
    pub(crate) context: &'a Map<String, Value>,
    /// The names of the functions in the context.
    pub(crate) functions: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) variables: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<&'a str>,
    /// What takes the place of the machine's clock and random numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fixed: Option<FixedMessage<'a>>,
    /// Whether another job may follow.
    pub(crate) keep: bool,
    /// The time limit of the job.
    pub(crate) seconds: f64,
    /// The name of the seccomp filter to install.
    pub(crate) filter: &'static str,
}

/// A time, a zone and a seed for a job.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FixedMessage<'a> {
    /// Nanoseconds since 1970.
    nanoseconds: i64,
    timezone: &'a str,
    seed: u64,
}

impl<'a> FixedMessage<'a> {
    pub(crate) fn from_surroundings(fixed: &'a FixedSurroundings) -> Self {
        let nanoseconds = match fixed.now.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |before| -before),
        };
        Self { nanoseconds, timezone: &fixed.timezone, seed: fixed.seed }
    }
}

/// A message from a worker.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum WorkerMessage {
    /// A request to the engine.
    Ask {
        ask: u64,
        #[serde(flatten)]
        what: HostRequest,
    },
    /// The job succeeded.
    Result {
        result: Value,
        /// Whether the worker can take another job.
        ready: bool,
    },
    /// The job failed.
    Error { error: PythonException, ready: bool },
}

/// A request that a worker can make.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "method", content = "arguments", rename_all = "snake_case")]
pub(crate) enum HostRequest {
    ReadFile {
        path: String,
    },
    RenderTemplate {
        name: String,
        variables: Map<String, Value>,
    },
    GetVariable {
        path: String,
    },
    HttpRequest(HttpCall),
    LlmCall {
        prompt: Value,
        model: Option<String>,
        max_tokens: Option<u64>,
        #[serde(default)]
        schema: Option<Value>,
    },
}

impl HostRequest {
    /// The name of the function in the context.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::ReadFile { .. } => "read_file",
            Self::RenderTemplate { .. } => "render_template",
            Self::GetVariable { .. } => "get_variable",
            Self::HttpRequest(_) => "http_request",
            Self::LlmCall { .. } => "llm_call",
        }
    }
}

/// An HTTP request as a hook writes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct HttpCall {
    pub(crate) method: String,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) headers: std::collections::BTreeMap<String, String>,
    pub(crate) body: Option<String>,
    /// Whether the body is JSON.
    #[serde(default)]
    pub(crate) json: bool,
    /// The timeout in seconds.
    pub(crate) timeout: Option<f64>,
}

/// The exception that ended a job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct PythonException {
    /// The name of its class.
    pub(crate) exception: String,
    pub(crate) message: String,
    /// The lines of the prompt's own file that led to it, innermost last.
    #[serde(default)]
    pub(crate) frames: Vec<TraceFrame>,
}

/// A line of a traceback.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct TraceFrame {
    pub(crate) line: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<u32>,
    pub(crate) function: String,
}

/// The answer to a [`WorkerMessage::Ask`].
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HostAnswer {
    pub(crate) answer: u64,
    #[serde(flatten)]
    pub(crate) content: HostAnswerContent,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HostAnswerContent {
    Value(Value),
    Error {
        /// The exception that the hook sees.
        exception: &'static str,
        message: String,
    },
}
