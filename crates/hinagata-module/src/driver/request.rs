//! The options of a request.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use serde_json::{Map, Value};

use super::Files;

/// The options of a request.
#[derive(Clone, Default)]
pub struct RequestOptions {
    /// The model; the body omits it if it belongs to the URL.
    pub model: Option<String>,
    /// Most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// The probability mass to sample from.
    pub top_p: Option<f64>,
    /// The number of most likely tokens to sample from.
    pub top_k: Option<u64>,
    /// Stop sequences.
    pub stop: Vec<String>,
    /// The seed of the sampling.
    pub seed: Option<i64>,
    /// Whether the answer is streamed.
    pub stream: Option<bool>,
    /// Tools that the model may call.
    pub tools: Vec<Tool>,
    /// The role of the data.
    pub data_role: DataRole,
    /// Which messages share a turn; the rule of the provider by default.
    pub turns: Option<TurnRule>,
    /// Whether to omit marks for prompt caches.
    pub without_cache_marks: bool,
    /// Additional members of the body; they replace ours.
    pub extra: Map<String, Value>,
    /// The reader of attached files.
    pub files: Option<Arc<dyn Files>>,
}

impl RequestOptions {
    /// Options with only a model.
    #[must_use]
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: Some(model.into()), ..Self::default() }
    }

    /// Sets the reader of attached files.
    #[must_use]
    pub fn with_files(mut self, files: impl Files + 'static) -> Self {
        self.files = Some(Arc::new(files));
        self
    }
}

impl fmt::Debug for RequestOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestOptions").field("model", &self.model).finish_non_exhaustive()
    }
}

/// The role of the data of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataRole {
    /// The user: data cannot override the instructions.
    #[default]
    User,
    /// The system, for providers that accept system messages between turns.
    System,
}

/// Which neighbouring messages of one speaker share a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnRule {
    /// None: every element is a turn.
    AsIs,
    /// All of them.
    Join,
    /// All of them; the user begins, and system messages join the instructions. Many chat templates demand it.
    Alternate,
}

impl TurnRule {
    /// All rules.
    pub const ALL: [Self; 3] = [Self::AsIs, Self::Join, Self::Alternate];

    /// The name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsIs => "as-is",
            Self::Join => "join",
            Self::Alternate => "alternate",
        }
    }

    /// One sentence about the rule, without a full stop.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::AsIs => "None: every element of a prompt is a message",
            Self::Join => "All of them",
            Self::Alternate => "All of them; the user begins, and system messages join the instructions",
        }
    }

    /// The rule with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatted {
    pub(super) body: String,
    pub(super) notes: Vec<String>,
}

impl Formatted {
    /// The body: JSON, or the text of [`super::format_text`].
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The bytes of the body.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.body.into_bytes()
    }

    /// The body as a value; text as a string.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| Value::String(self.body.clone()))
    }

    /// Parts of the prompt or options that the provider does not support; they are left out.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Notes about what a request leaves out, with their counts.
#[derive(Default)]
pub(super) struct Notes(BTreeMap<Cow<'static, str>, u32>);

impl Notes {
    pub(super) fn add(&mut self, what: impl Into<Cow<'static, str>>) {
        *self.0.entry(what.into()).or_default() += 1;
    }

    pub(super) fn into_messages(self) -> Vec<String> {
        let note = |(what, count): (Cow<'static, str>, u32)| match count {
            1 => what.into_owned(),
            _ => format!("{what} ({count} times)"),
        };
        self.0.into_iter().map(note).collect()
    }
}
