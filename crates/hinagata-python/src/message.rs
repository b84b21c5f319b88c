//! What is said between the engine and a worker, frame by frame, and between the engine and a zygote, packet by packet.
//!
//! The version stands in the first frame of a worker. Fields that a side does not know are ignored, so that fields
//! can be added without a new version.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// A job, the first thing that a worker hears; a kept worker hears more than one.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct JobMessage<'a> {
    pub(crate) version: u32,
    pub(crate) stage: &'static str,
    /// The file as people know it, for tracebacks.
    pub(crate) file: &'a str,
    /// The same as a path of the machine, for `__file__`.
    pub(crate) path: &'a str,
    /// Left out where the worker knows it already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<&'a str>,
    /// Plain entries of the context.
    pub(crate) context: &'a Map<String, Value>,
    /// Functions of the context, by name.
    pub(crate) functions: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) variables: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<&'a str>,
    /// Whether another job may follow.
    pub(crate) keep: bool,
    /// Time that the job may take.
    pub(crate) seconds: f64,
    /// The filter of system calls to install.
    pub(crate) filter: &'static str,
}

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum WorkerMessage {
    /// It asks for something.
    Ask {
        ask: u64,
        #[serde(flatten)]
        what: HostRequest,
    },
    /// The job is done.
    Result {
        result: Value,
        /// Whether it can take another job.
        ready: bool,
    },
    /// The job failed.
    Error { error: PythonException, ready: bool },
}

/// What a worker can ask for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "method", content = "arguments", rename_all = "snake_case")]
pub(crate) enum HostRequest {
    ReadFile { path: String },
    RenderTemplate { name: String, variables: Map<String, Value> },
    GetVariable { path: String },
    HttpRequest(HttpCall),
    LlmCall { prompt: Value, model: Option<String>, max_tokens: Option<u64> },
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

/// A request over HTTP, as a hook writes it.
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
    /// Seconds that it may take.
    pub(crate) timeout: Option<f64>,
}

/// An exception that ended a job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct PythonException {
    /// The name of its class.
    pub(crate) exception: String,
    pub(crate) message: String,
    /// The lines of the prompt's own file that led to it, the innermost last.
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

/// What is answered to an [`WorkerMessage::Ask`].
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
