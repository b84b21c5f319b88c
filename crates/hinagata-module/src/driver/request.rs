//! What a request says beside the prompt.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::{Map, Value};

use super::Files;

/// What a request says beside the prompt.
#[derive(Clone, Default)]
pub struct RequestOptions {
    /// The model; where its place is the address of the request, the body has none.
    pub model: Option<String>,
    /// Most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// How much the answer varies.
    pub temperature: Option<f64>,
    /// The share of likely tokens to choose from.
    pub top_p: Option<f64>,
    /// The number of likely tokens to choose from.
    pub top_k: Option<u64>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// What makes the answer repeatable.
    pub seed: Option<i64>,
    /// Whether the answer comes piece by piece.
    pub stream: Option<bool>,
    /// Tools that the model may call.
    pub tools: Vec<Tool>,
    /// Who says the data.
    pub data_role: DataRole,
    /// Whether no marks for prompt caches are set.
    pub without_cache_marks: bool,
    /// More keys of the body; they win over those that are made here.
    pub extra: Map<String, Value>,
    /// Where the content of files is read.
    pub files: Option<Arc<dyn Files>>,
}

impl RequestOptions {
    /// Options with a model and nothing else.
    #[must_use]
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: Some(model.into()), ..Self::default() }
    }

    /// The same options, with files read by `files`.
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

/// Who says the data of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataRole {
    /// The person: what it says cannot overrule the instructions.
    #[default]
    User,
    /// The rules, where a provider allows rules among the turns.
    System,
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
    /// The body: JSON, or the text of the text driver.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The bytes of the body.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.body.into_bytes()
    }

    /// The body as a value; a text as a string.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| Value::String(self.body.clone()))
    }

    /// What the provider has no place for and is therefore not in the body.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// What has no place in a request, counted.
#[derive(Default)]
pub(super) struct Notes(BTreeMap<&'static str, u32>);

impl Notes {
    pub(super) fn add(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub(super) fn into_messages(self) -> Vec<String> {
        let note = |(what, count): (&str, u32)| match count {
            1 => what.to_owned(),
            _ => format!("{what} ({count} times)"),
        };
        self.0.into_iter().map(note).collect()
    }
}
