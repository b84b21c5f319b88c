//! The trace of one render.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{layers::Layer, spans::ExplainMap};

/// What one render did: variables with their layers, templates, calls, hooks and times.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Trace {
    /// How the name resolved to the prompt.
    pub chosen: Chosen,
    /// The variables that templates can reach, in the order of first use.
    pub variables: Vec<TracedVariable>,
    /// The templates; those of the prompt first.
    pub templates: Vec<TracedTemplate>,
    /// Providers, hooks and tools that ran, in the order they finished.
    pub calls: Vec<TracedCall>,
    /// The size of each message, or of the text.
    pub sizes: Vec<Size>,
    /// The model whose tokens are counted.
    pub tokens_of: TokensOf,
    /// The time of each phase.
    pub times: Times,
    /// Where each piece of the result comes from. Doors show it beside the trace.
    #[serde(skip)]
    pub map: Option<Box<ExplainMap>>,
}

/// How a name resolved to a prompt.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Chosen {
    /// The requested name.
    pub asked: String,
    /// The id of the prompt.
    pub prompt_id: String,
    /// The source of the prompt.
    pub source: String,
    /// Why it was chosen: `only`, `resolution` or `replacement`.
    pub reason: &'static str,
    /// The ids from the prompt to its last parent.
    pub extends: Vec<String>,
}

/// A variable that a template can reach.
#[derive(Clone, Debug, Serialize)]
pub struct TracedVariable {
    /// The name, or the path of a system, shared or provided variable.
    pub name: String,
    /// The layer of its value; `None` if it is undefined. [`Layer::Hook`] without a value means that `pre_render` removed it.
    pub layer: Option<Layer>,
    /// The file, key or caller that it came from.
    pub origin: Option<String>,
    /// The value, masked if secret.
    pub value: Option<Value>,
    /// The values that it overrides, the strongest first.
    pub lost: Vec<OverriddenValue>,
    /// Where templates read it.
    pub read_at: Vec<ReadAt>,
    /// Whether templates only test whether it is defined.
    pub condition_only: bool,
}

/// A value that a stronger layer overrides.
#[derive(Clone, Debug, Serialize)]
pub struct OverriddenValue {
    /// Its layer.
    pub layer: Layer,
    /// The file, key or caller that it came from.
    pub origin: String,
    /// The value, masked if secret.
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

/// A template that the render can use.
#[derive(Clone, Debug, Serialize)]
pub struct TracedTemplate {
    /// The file.
    pub file: String,
    /// The language.
    pub engine: &'static str,
    /// The templates that it uses.
    pub uses: Vec<TracedUse>,
}

/// A use of a template by another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TracedUse {
    /// `extends`, `include`, `import` or `template`.
    pub how: &'static str,
    /// The name as written; empty if it is known only during a run.
    pub name: String,
    /// The file that it resolved to.
    pub file: Option<String>,
    /// The line of the use.
    pub line: u32,
}

/// A provider, hook or tool that ran.
#[derive(Clone, Debug, Serialize)]
pub struct TracedCall {
    /// `provider`, `hook` or `tool`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Its time.
    #[serde(serialize_with = "milliseconds")]
    pub time: Duration,
    /// The message of its failure.
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
    /// Tokens of its texts: see [`Trace::tokens_of`].
    pub tokens: usize,
}

/// The model whose tokens are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokensOf {
    /// The model of the request or of the prompt, if there is one.
    pub model: Option<String>,
    /// Whether the tokens are exactly its own. If not, they are those of o200k.
    pub exact: bool,
}

/// The time of each phase.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Times {
    /// Finding and compiling the prompt; almost zero if its plan is cached.
    #[serde(serialize_with = "milliseconds")]
    pub prepare: Duration,
    /// Collecting variables, including providers.
    #[serde(serialize_with = "milliseconds")]
    pub scope: Duration,
    /// `pre_render` and `post_render`.
    #[serde(serialize_with = "milliseconds")]
    pub hooks: Duration,
    /// Running templates, including tools.
    #[serde(serialize_with = "milliseconds")]
    pub render: Duration,
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((time.as_secs_f64() * 1e6).round() / 1e3)
}
