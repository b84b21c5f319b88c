//! What one render did.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::layers::Layer;

/// What stands for a value that must not be shown.
pub const HIDDEN: &str = "•••";

/// What one render did: every variable with its layers, every template, call and hook, with times.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Trace {
    /// How the name led to the prompt.
    pub chosen: Chosen,
    /// The variables that the template can reach, in the order they are met.
    pub variables: Vec<TracedVariable>,
    /// The templates, the prompt's own first.
    pub templates: Vec<TracedTemplate>,
    /// Providers, hooks and tools that ran, in the order they ended.
    pub calls: Vec<TracedCall>,
    /// The size of each message; of a text alone, one.
    pub sizes: Vec<Size>,
    /// How long each step took.
    pub times: Times,
}

/// How a name led to a prompt.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Chosen {
    /// The name that was asked for.
    pub asked: String,
    /// The id that it stands for.
    pub prompt_id: String,
    /// Where the prompt is.
    pub source: String,
    /// Why it is this one: `only`, `resolution`, `replacement`.
    pub reason: &'static str,
    /// The prompts whose declarations count, from this one to its last parent.
    pub extends: Vec<String>,
}

/// A variable that the template can reach.
#[derive(Clone, Debug, Serialize)]
pub struct TracedVariable {
    /// The name, or the path of a system, shared or provided variable.
    pub name: String,
    /// Where its value comes from; `None` when there is no value.
    pub layer: Option<Layer>,
    /// The file, key or caller it comes from.
    pub origin: Option<String>,
    /// The value, hidden where it is secret.
    pub value: Option<Value>,
    /// The values that lost against it, the nearest first.
    pub lost: Vec<OverriddenValue>,
    /// Where templates read it.
    pub read_at: Vec<ReadAt>,
    /// Whether all that is asked of it is whether it is there.
    pub condition_only: bool,
}

/// A value that lost.
#[derive(Clone, Debug, Serialize)]
pub struct OverriddenValue {
    /// Its layer.
    pub layer: Layer,
    /// The file, key or caller it comes from.
    pub origin: String,
    /// The value, hidden where it is secret.
    pub value: Value,
}

/// A place that reads a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadAt {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// A template of the render.
#[derive(Clone, Debug, Serialize)]
pub struct TracedTemplate {
    /// The file.
    pub file: String,
    /// The language.
    pub engine: &'static str,
    /// The templates that it names, as they are written, with what they led to.
    pub uses: Vec<TracedUse>,
}

/// A template that another one names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TracedUse {
    /// `extends`, `include`, `import` or `template`.
    pub how: &'static str,
    /// The name as it is written; empty when only a run knows it.
    pub name: String,
    /// The file it led to.
    pub file: Option<String>,
    /// The line of the use.
    pub line: u32,
}

/// Something outside that ran.
#[derive(Clone, Debug, Serialize)]
pub struct TracedCall {
    /// `provider`, `hook` or `tool`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// How long it took.
    #[serde(serialize_with = "milliseconds")]
    pub time: Duration,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// The size of a message.
#[derive(Clone, Debug, Serialize)]
pub struct Size {
    /// The role; `None` for a text.
    pub role: Option<String>,
    /// Characters.
    pub characters: usize,
    /// Bytes.
    pub bytes: usize,
}

/// How long each step took.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Times {
    /// Finding and reading the prompt and its templates; next to nothing once it is known.
    #[serde(serialize_with = "milliseconds")]
    pub prepare: Duration,
    /// Collecting variables, waiting for providers included.
    #[serde(serialize_with = "milliseconds")]
    pub scope: Duration,
    /// `pre_render` and `post_render`.
    #[serde(serialize_with = "milliseconds")]
    pub hooks: Duration,
    /// Running templates, waiting for tools included.
    #[serde(serialize_with = "milliseconds")]
    pub render: Duration,
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((time.as_secs_f64() * 1e6).round() / 1e3)
}
