//! The result of a render.

use std::{
    fmt::Write as _,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use hinagata_module::{
    CompiledPrompt,
    driver::{Driver, Formatted, OutputFormat, RequestOptions},
};
use hinagata_template::{Content, Message};
use serde_json::{Value, json};

use super::{
    chat,
    spans::{ExplainMap, MapUnits, RequestMap},
    trace::Trace,
};
use crate::{
    Digest, Error, HintText, PromptId, Result,
    definition::{FileRead, Settings, module_error},
};

/// A rendered prompt.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The result.
    pub body: RenderedBody,
    /// The compiled prompt, if the prompt is a module.
    pub(super) module: Option<Arc<CompiledPrompt>>,
    /// Problems that did not stop the render.
    pub warnings: Vec<Warning>,
    /// What the render did, if a trace was requested.
    pub trace: Option<Box<Trace>>,
    /// The sorted files that hooks and parameters read. A change of them can change the result.
    pub read_files: Vec<PathBuf>,
    pub(super) about: Arc<About>,
}

/// The rendered prompt's definition.
#[derive(Debug)]
pub(super) struct About {
    pub(super) id: PromptId,
    pub(super) source: String,
    pub(super) version: String,
    /// The files that it was read from.
    pub(super) files: Vec<FileRead>,
    pub(super) hash: OnceLock<String>,
    /// Its settings for the model.
    pub(super) settings: Settings,
}

impl About {
    /// The SHA-256 of all files that the prompt was read from.
    pub(super) fn definition_hash(&self) -> &str {
        self.hash.get_or_init(|| {
            let mut all = String::new();
            for file in &self.files {
                // Names and lengths separate the files.
                let _ = writeln!(all, "{} {}", file.file, file.text.len());
                all.push_str(&file.text);
            }
            Digest::sha256(all.as_bytes()).to_string()
        })
    }

    /// The schema of the response: `output.schema`, or `output` itself if it is a schema.
    fn schema(&self) -> Option<&Value> {
        let output = self.settings.output.as_ref()?;
        match output.get("schema") {
            Some(schema) => Some(schema),
            None => (output.get("type").is_some() || output.get("properties").is_some()).then_some(output),
        }
    }
}

/// The result of a render.
#[derive(Clone, Debug, PartialEq)]
pub enum RenderedBody {
    /// One text.
    Text(String),
    /// A conversation.
    Messages(Vec<Message>),
}

/// A problem that did not stop a render.
#[derive(Clone, Debug)]
pub struct Warning {
    /// Its subject: a variable, a provider, a setting.
    pub about: String,
    /// The problem.
    pub error: Error,
}

impl Warning {
    pub(super) fn new(about: impl Into<String>, error: Error) -> Self {
        Self { about: about.into(), error }
    }

    /// The warning as JSON, with place, near names and hint if known.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.to_json_with(ToString::to_string)
    }

    /// The warning as JSON, with the hint in the words of a door.
    #[must_use]
    pub fn to_json_with(&self, hint_text: HintText) -> Value {
        let mut all =
            json!({"about": self.about, "code": self.error.code().as_str(), "message": self.error.message()});
        if let Some(place) = self.error.place() {
            all["file"] = place.file.as_str().into();
            all["line"] = place.line.into();
            if place.column > 0 {
                all["column"] = place.column.into();
            }
        }
        if !self.error.near().is_empty() {
            all["near"] = self.error.near().into();
        }
        if let Some(hint) = self.error.hint() {
            all["hint"] = hint_text(hint).into();
        }
        all
    }
}

impl Rendered {
    /// The id of the prompt.
    #[must_use]
    pub fn prompt_id(&self) -> &PromptId {
        &self.about.id
    }

    /// The source of the prompt: a path from the workspace root, or `store:KEY`.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.about.source
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.about.version
    }

    /// The text. Messages are joined by blank lines; a module is printed with headings.
    #[must_use]
    pub fn text(&self) -> String {
        if let Some(prompt) = &self.module {
            return hinagata_module::prompt_text(prompt, &hinagata_module::TextOptions::default());
        }
        match &self.body {
            RenderedBody::Text(text) => text.clone(),
            RenderedBody::Messages(messages) => {
                messages.iter().map(Message::text).collect::<Vec<_>>().join("\n\n")
            }
        }
    }

    /// As [`Rendered::text`], without a copy if the result is a text.
    #[must_use]
    pub fn into_text(self) -> String {
        match self.body {
            RenderedBody::Text(text) if self.module.is_none() => text,
            _ => self.text(),
        }
    }

    /// The result as messages. A text is one user message.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        self.body.messages()
    }

    /// The result as a compiled prompt, the input of every driver.
    ///
    /// # Errors
    /// If it contains messages that no provider accepts.
    pub fn prompt(&self) -> Result<Arc<CompiledPrompt>> {
        if let Some(prompt) = &self.module {
            return Ok(Arc::clone(prompt));
        }
        let mut prompt = self.body.prompt()?;
        prompt.schema = self.about.schema().map(|schema| Arc::new(schema.clone()));
        Ok(Arc::new(prompt))
    }

    /// The model and its options that the prompt sets.
    #[must_use]
    pub fn request_options(&self) -> RequestOptions {
        self.about.settings.request_options()
    }

    /// The exact body of a provider's request.
    ///
    /// # Errors
    /// If the result contains something that the provider does not accept.
    pub fn format_request(&self, driver: Driver, options: &RequestOptions) -> Result<Formatted> {
        driver.format(&*self.prompt()?, options).map_err(module_error)
    }

    /// Characters of all texts.
    #[must_use]
    pub fn characters(&self) -> usize {
        self.body.characters()
    }

    /// The SHA-256 of the result. Equal results have equal hashes on every machine.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut text = String::new();
        canonical(&self.body.to_json(), &mut text);
        Digest::sha256(text.as_bytes()).to_string()
    }

    /// The SHA-256 of all files that the prompt was read from.
    #[must_use]
    pub fn definition_hash(&self) -> &str {
        self.about.definition_hash()
    }

    /// The result as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.to_json_with(ToString::to_string)
    }

    /// The result as JSON, with hints in the words of a door; everything else is the same at every door.
    #[must_use]
    pub fn to_json_with(&self, hint_text: HintText) -> Value {
        let warnings: Vec<Value> =
            self.warnings.iter().map(|warning| warning.to_json_with(hint_text)).collect();
        let mut all = json!({
            "prompt_id": self.prompt_id(), "source": self.source(), "version": self.version(),
            "body": self.body.to_json(), "warnings": warnings,
            "hash": self.hash(), "definition_hash": self.definition_hash(),
        });
        if let Some(trace) = &self.trace {
            all["trace"] = serde_json::to_value(trace).unwrap_or_default();
        }
        all
    }

    /// The result as JSON with its source map, if it has one, as `map`.
    #[must_use]
    pub fn to_mapped_json(&self, hint_text: HintText, units: MapUnits) -> Value {
        let mut all = self.to_json_with(hint_text);
        if let Some(map) = self.source_map() {
            all["map"] = map.to_json(units);
        }
        all
    }

    /// As [`Rendered::to_mapped_json`], with the body of a request and its spans as `request`.
    #[must_use]
    pub fn to_mapped_request_json(
        &self,
        hint_text: HintText,
        units: MapUnits,
        request: Option<&RequestMap>,
    ) -> Value {
        let mut all = self.to_mapped_json(hint_text, units);
        if let (Some(map), Some(request)) = (self.source_map(), request) {
            all["request"] = request.to_json(map, units);
        }
        all
    }

    /// The source map of the result, if one was requested.
    #[must_use]
    pub fn source_map(&self) -> Option<&ExplainMap> {
        self.trace.as_ref()?.map.as_deref()
    }

    /// The body of a request with secrets masked, and the spans of the source map that its pieces show; `None` for
    /// messages, and without a source map.
    ///
    /// # Errors
    /// If the result contains something that the provider does not accept.
    pub fn explain_request(
        &self,
        format: OutputFormat,
        options: &RequestOptions,
    ) -> Result<Option<RequestMap>> {
        self.source_map().map_or(Ok(None), |map| map.map_request(format, options))
    }
}

impl RenderedBody {
    /// Characters of all texts.
    pub(super) fn characters(&self) -> usize {
        match self {
            Self::Text(text) => count(text),
            Self::Messages(messages) => messages
                .iter()
                .flat_map(|message| &message.content)
                .map(|content| match content {
                    Content::Text(text) => count(text),
                    Content::Part { .. } => 0,
                })
                .sum(),
        }
    }

    /// The result as messages. A text is one user message.
    fn messages(&self) -> Vec<Message> {
        match self {
            Self::Messages(messages) => messages.clone(),
            Self::Text(text) => {
                vec![Message { role: "user".to_owned(), content: vec![Content::Text(text.clone())] }]
            }
        }
    }

    /// The result as a compiled prompt, the input of every driver.
    ///
    /// # Errors
    /// If it contains messages that no provider accepts.
    pub fn prompt(&self) -> Result<CompiledPrompt> {
        chat::compile_messages(&self.messages())
    }

    /// A text as a string; messages as a list of `{role, content}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Messages(messages) => messages.iter().map(message_json).collect(),
        }
    }
}

fn count(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// The content of a message is its text, or a list of parts if it has several.
pub(super) fn message_json(message: &Message) -> Value {
    let content = match message.content.as_slice() {
        [] => Value::String(String::new()),
        [Content::Text(text)] => Value::String(text.clone()),
        parts => parts.iter().map(part_json).collect(),
    };
    json!({"role": message.role, "content": content})
}

fn part_json(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Part { kind, content } => match content {
            Value::Object(fields) => {
                let mut all = serde_json::Map::new();
                all.insert("type".to_owned(), kind.clone().into());
                for (key, value) in fields {
                    // `type` is the kind of the part.
                    let key = if key == "type" { "media_type" } else { key };
                    all.insert(key.to_owned(), value.clone());
                }
                Value::Object(all)
            }
            other => json!({"type": kind, "content": other}),
        },
    }
}

/// JSON with sorted keys and without spaces.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
            text.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                let _ = write!(text, "{}:", Value::String(key.clone()));
                canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                canonical(item, text);
            }
            text.push(']');
        }
        other => {
            let _ = write!(text, "{other}");
        }
    }
}
