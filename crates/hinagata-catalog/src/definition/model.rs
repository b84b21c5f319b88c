//! What a prompt is, whatever it was written as.

use std::{collections::BTreeMap, fmt, sync::Arc};

use hinagata_document::{Error, Place};
use hinagata_template::Language;
use serde_json::{Map, Value};

use super::{limits::PromptLimits, module::ModuleBody, parameter::Parameters};
use crate::{PromptId, tool_document::OnError};

/// A prompt as it is declared: metadata, parameters, a body, permissions, limits.
///
/// It is what its own files say; [`crate::Catalog::definition`] adds what it inherits.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The id: the normal form of the directory's name, or the key of the store.
    pub id: PromptId,
    /// Where it comes from: a path from the workspace root, or `store:KEY`.
    pub source: String,
    /// What describes it.
    pub metadata: Metadata,
    /// Its own declarations.
    pub parameters: Parameters,
    /// What is rendered.
    pub body: Body,
    /// What its hooks may use.
    pub permissions: Permissions,
    /// Its own limits.
    pub limits: PromptLimits,
    /// Its Python, when it has some.
    pub hooks: Hooks,
    /// What an undefined variable prints; `None` leaves it to the kind of source.
    pub undefined: Option<UndefinedMode>,
    /// What a failed call of a tool does; `None` leaves it to the tool.
    pub on_error: Option<OnError>,
    /// Keys that are kept for others: `output`, `model`, `config`, `supports`, `returns`.
    pub settings: Settings,
    /// Keys that nobody knows, kept and shown.
    pub unknown: Map<String, Value>,
    /// What is hardly meant as it is written: names that nobody knows.
    pub warnings: Vec<Error>,
    /// The files that were read, in the order they were read.
    pub files: Vec<FileRead>,
}

/// What describes a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Metadata {
    /// The name that the author gave it; the directory's name unless given.
    pub name: String,
    /// A label: `METADATA["prompt_id"]`. The directory's name is the identity.
    pub label: Option<String>,
    /// A title for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The version, `1.0.0` unless given.
    pub version: String,
    /// Whether the version was given.
    pub has_version: bool,
    /// The type, `custom` unless given.
    pub kind: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// The prompt whose declarations it inherits, as it is written.
    pub extends: Option<String>,
    /// The rest of the map `metadata`.
    pub more: Map<String, Value>,
}

/// What is rendered.
#[derive(Clone, Debug)]
pub enum Body {
    /// One text.
    Text(TemplateText),
    /// A list of messages.
    Messages(Vec<Message>),
    /// A prompt module, with everything that it uses.
    Module(Arc<ModuleBody>),
    /// Nothing of its own: the body of the nearest parent that has one.
    Inherited,
    /// Only running its `prompt.py` can tell; see [`Hooks::needs_loading`].
    NeedsLoading,
}

/// Characters that a module may give unless something else is configured.
const OUTPUT_SIZE_OF_MODULES: u64 = 2_000_000;

impl Body {
    /// `configured`, with what a body of this kind has where that says nothing: a module carries the texts of others,
    /// and is larger than what somebody writes.
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
    /// The line of the file that the text starts on, so that places in the text can be told in the file.
    pub first_line: u32,
}

/// A message of a prompt that is a list of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What it consists of.
    pub parts: Vec<Part>,
    /// Keys that nobody knows.
    pub unknown: Map<String, Value>,
}

/// Who says a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The rules of the conversation.
    System,
    /// The rules, as some providers call them.
    Developer,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// Bound by the author to data, which may then say user, assistant or tool.
    Template(TemplateText),
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
    /// Something else, such as a picture, with its `type` and the other keys as they are written.
    Other {
        /// The `type`.
        kind: String,
        /// The other keys.
        fields: Map<String, Value>,
    },
}

/// What the hooks of a prompt may use: what is not declared is not there.
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
    /// The source to run, when there is a `prompt.py`.
    pub source: Option<Arc<str>>,
    /// Constants that only running the file can tell, with their places.
    pub needs_loading: Vec<(&'static str, Place)>,
}

impl Hooks {
    /// Whether only running the file can tell what `constant` is.
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
    /// Imported or assigned: there is one, and running it tells what it is.
    Assigned,
}

/// What a variable that is not there does to a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UndefinedMode {
    /// Prints nothing, attributes of it too.
    Empty,
    /// What Jinja2 does.
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
            // A condition may ask for what is not there.
            UndefinedMode::Error => Self::Needed,
            UndefinedMode::Debug => Self::Debug,
        }
    }
}

/// Keys of a prompt that others use, as they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// What a model should answer with.
    pub output: Option<Value>,
    /// The model to use.
    pub model: Option<Value>,
    /// Settings of the model.
    pub config: Option<Value>,
    /// Scenes that it is made for.
    pub supports: Vec<String>,
    /// Programming languages that it is made for.
    pub languages: Vec<String>,
    /// What it returns.
    pub returns: Option<Value>,
}

/// A file that a definition was read from.
#[derive(Clone, PartialEq, Eq)]
pub struct FileRead {
    /// The path from the workspace root.
    pub file: String,
    /// The content, from which a hash of the definition is made.
    pub text: Arc<str>,
}

impl fmt::Debug for FileRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.file, self.text.len())
    }
}
