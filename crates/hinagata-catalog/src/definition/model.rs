//! The model of a prompt, independent of the form in which it was written.

use std::{collections::BTreeMap, fmt, sync::Arc};

use hinagata_document::{Error, LineColumn, Place, TextOrigin};
use hinagata_module::{Role as ModuleRole, driver::RequestOptions};
use hinagata_template::{Language, MessageLayout};
use serde_json::{Map, Value};

use super::{limits::PromptLimits, module::ModuleBody, parameter::Parameters};
use crate::{PromptId, tool_document::OnError};

/// A prompt as it is declared: metadata, parameters, a body, permissions, limits.
///
/// It contains its own declarations only; [`crate::Catalog::definition`] adds inherited ones.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The id: the normal form of the directory's name, or the key of the store.
    pub id: PromptId,
    /// Where it comes from: a path from the workspace root, or `store:KEY`.
    pub source: String,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its own declarations.
    pub parameters: Parameters,
    /// The content that is rendered.
    pub body: Body,
    /// The permissions of its hooks.
    pub permissions: Permissions,
    /// Its own limits.
    pub limits: PromptLimits,
    /// Its Python hooks.
    pub hooks: Hooks,
    /// How undefined variables behave; `None` leaves it to the kind of source.
    pub undefined: Option<UndefinedMode>,
    /// What happens to whitespace around messages that the template starts.
    pub layout: MessageLayout,
    /// Whether messages of whitespace alone are left out.
    pub drops_empty: bool,
    /// The effect of a failed tool call; `None` leaves it to the tool.
    pub on_error: Option<OnError>,
    /// Keys that the engine does not use itself: `output`, `model`, `config`, `supports`, `returns`.
    pub settings: Settings,
    /// Unknown keys, which are kept and shown.
    pub unknown: Map<String, Value>,
    /// Warnings about likely mistakes, such as unknown names.
    pub warnings: Vec<Error>,
    /// The files that were read, in order.
    pub files: Vec<FileRead>,
}

/// The metadata of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Metadata {
    /// The name; the directory's name unless given.
    pub name: String,
    /// A label: `METADATA["prompt_id"]`. The directory's name is the identity.
    pub label: Option<String>,
    /// A display title.
    pub title: Option<String>,
    /// The purpose of the prompt.
    pub description: Option<String>,
    /// The version, `1.0.0` unless given.
    pub version: String,
    /// Whether the version was given.
    pub has_version: bool,
    /// The type, `custom` unless given.
    pub kind: String,
    /// Search terms.
    pub tags: Vec<String>,
    /// The author.
    pub author: Option<String>,
    /// Whether it is served over MCP, `true` unless given.
    pub expose: bool,
    /// The name of its parent, as written.
    pub extends: Option<String>,
    /// The rest of the map `metadata`.
    pub more: Map<String, Value>,
}

/// The content of a prompt that is rendered.
#[derive(Clone, Debug)]
pub enum Body {
    /// One text.
    Text(TemplateText),
    /// A list of messages.
    Messages(Vec<Message>),
    /// A prompt module, with everything that it uses.
    Module(Arc<ModuleBody>),
    /// No body of its own: the nearest parent with a body is rendered.
    Inherited,
    /// Unknown until its `prompt.py` is run; see [`Hooks::needs_loading`].
    NeedsLoading,
}

/// Default limit on the characters of a module.
const OUTPUT_SIZE_OF_MODULES: u64 = 2_000_000;

impl Body {
    /// `configured`, completed by the defaults for this kind of body. A module contains texts of others, so its default
    /// size limit is larger.
    #[must_use]
    pub fn limits(&self, configured: &PromptLimits) -> PromptLimits {
        let mut limits = configured.clone();
        if let Self::Module(_) = self {
            limits.max_output_size.get_or_insert(OUTPUT_SIZE_OF_MODULES);
        }
        limits
    }
}

/// The source of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateText {
    /// The language.
    pub engine: Language,
    /// The text, without front matter.
    pub text: Arc<str>,
    /// The file, as a path from the workspace root.
    pub file: String,
    /// Where the text is in the file.
    pub origin: TextOrigin,
}

/// A message of a prompt that is a list of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The role of its author.
    pub role: Role,
    /// The parts of its content.
    pub parts: Vec<Part>,
    /// The variable with earlier messages that stand in its place.
    pub history: Option<String>,
    /// Unknown keys.
    pub unknown: Map<String, Value>,
}

/// The role of the author of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions to the model.
    System,
    /// Instructions to the model, as some model providers call them.
    Developer,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// A template that takes the role from data: user, assistant or tool.
    Template(TemplateText),
    /// Another role of a prompt of the store, passed on as written.
    Other(Box<str>),
}

impl Role {
    /// The roles that a prompt can name.
    pub const NAMES: [&'static str; 5] = ["system", "developer", "user", "assistant", "tool"];

    /// The role called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "system" => Self::System,
            "developer" => Self::Developer,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            _ => return None,
        })
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A text.
    Text(TemplateText),
    /// Another part, such as an image, with its `type` and the other keys as written.
    Other {
        /// The `type`.
        kind: String,
        /// The other keys.
        fields: Map<String, Value>,
    },
}

/// The permissions of the hooks of a prompt. A permission that is not declared is denied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions(BTreeMap<String, bool>);

impl Permissions {
    /// The permissions that the engine knows.
    pub const NAMES: [&'static str; 5] =
        ["read_file", "http_request", "llm_call", "session_state", "subprocess"];

    pub(super) fn set(&mut self, name: &str, allowed: bool) {
        self.0.insert(name.to_owned(), allowed);
    }

    /// Whether `name` is declared with `true`.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        self.0.get(name).copied().unwrap_or(false)
    }

    /// The names that are declared with `true`, in order.
    pub fn granted_names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, allowed)| **allowed).map(|(name, _)| name.as_str())
    }
}

/// The Python of a prompt.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    /// Whether there is a `pre_render`.
    pub pre_render: Option<Hook>,
    /// Whether there is a `post_render`.
    pub post_render: Option<Hook>,
    /// Where `post_render` is defined.
    pub post_render_at: Option<LineColumn>,
    /// The source to run, when there is a `prompt.py`.
    pub source: Option<Arc<str>>,
    /// Constants that are unknown until the file is run, with their places.
    pub needs_loading: Vec<(&'static str, Place)>,
}

impl Hooks {
    /// Whether `constant` is unknown until the file is run.
    #[must_use]
    pub fn is_computed(&self, constant: &str) -> bool {
        self.needs_loading.iter().any(|(name, _)| *name == constant)
    }

    /// Whether there is Python to run in a render.
    #[must_use]
    pub fn has_any(&self) -> bool {
        self.pre_render.is_some() || self.post_render.is_some()
    }
}

/// How a hook is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `def`.
    Plain,
    /// `async def`.
    Async,
    /// Imported or assigned; its kind is known after the file was run.
    Assigned,
}

/// How undefined variables behave in a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UndefinedMode {
    /// Prints nothing, also for attributes.
    Empty,
    /// Behaves as in Jinja2.
    Jinja,
    /// An error.
    Error,
    /// Prints the expression.
    Debug,
}

impl UndefinedMode {
    /// The names of the modes.
    pub const NAMES: [&'static str; 4] = ["empty", "jinja", "error", "debug"];

    /// The name of the mode.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Jinja => "jinja",
            Self::Error => "error",
            Self::Debug => "debug",
        }
    }

    /// The mode called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "empty" => Self::Empty,
            "jinja" => Self::Jinja,
            "error" => Self::Error,
            "debug" => Self::Debug,
            _ => return None,
        })
    }
}

impl From<UndefinedMode> for hinagata_template::UndefinedMode {
    fn from(mode: UndefinedMode) -> Self {
        match mode {
            UndefinedMode::Empty => Self::Empty,
            UndefinedMode::Jinja => Self::Jinja,
            // A condition may test an undefined variable.
            UndefinedMode::Error => Self::Needed,
            UndefinedMode::Debug => Self::Debug,
        }
    }
}

/// Keys of a prompt for other programs, as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The expected output of the model.
    pub output: Option<Value>,
    /// The model to use.
    pub model: Option<Value>,
    /// Settings of the model.
    pub config: Option<Value>,
    /// The scenes that the prompt is for.
    pub supports: Vec<String>,
    /// The programming languages that the prompt is for.
    pub languages: Vec<String>,
    /// The result of the prompt.
    pub returns: Option<Value>,
    /// The role of a prompt that is one text, where it is used as a model.
    pub role: Option<ModuleRole>,
    /// What callers that use the prompt as a model cannot set: names of request fields, `system`, `messages`.
    pub locked: Vec<String>,
}

impl Settings {
    /// The model and its options, as `model` and `config` set them.
    #[must_use]
    pub fn request_options(&self) -> RequestOptions {
        let model = match &self.model {
            Some(Value::String(name)) => Some(name.clone()),
            Some(other) => other.get("name").and_then(Value::as_str).map(str::to_owned),
            None => None,
        };
        let any = |names: &[&str]| {
            let config = self.config.as_ref()?;
            names.iter().find_map(|name| config.get(name))
        };
        let stop = any(&["stop", "stopSequences", "stop_sequences"]);
        RequestOptions {
            model,
            max_tokens: any(&["max_tokens", "maxOutputTokens", "maxTokens"]).and_then(Value::as_u64),
            temperature: any(&["temperature"]).and_then(Value::as_f64),
            top_p: any(&["top_p", "topP"]).and_then(Value::as_f64),
            top_k: any(&["top_k", "topK"]).and_then(Value::as_u64),
            stop: match stop {
                Some(Value::String(text)) => vec![text.clone()],
                Some(Value::Array(texts)) => {
                    texts.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                }
                _ => Vec::new(),
            },
            seed: any(&["seed"]).and_then(Value::as_i64),
            ..RequestOptions::default()
        }
    }
}

/// A file that a definition was read from.
#[derive(Clone, PartialEq, Eq)]
pub struct FileRead {
    /// The path from the workspace root.
    pub file: String,
    /// The content, which the hash of the definition covers.
    pub text: Arc<str>,
}

impl fmt::Debug for FileRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.file, self.text.len())
    }
}
