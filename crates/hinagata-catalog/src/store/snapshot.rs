//! Snapshots of the store.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use hinagata_document::{Code, Diagnostic, Error};
use serde_json::{Map, Value};

use super::{StoreHealth, environs::environ_tree};
use crate::tool_document::{ToolDocument, ToolDocuments};

/// The kind of a document of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoreKind {
    /// A document whose `contributes.prompts` are prompts.
    Extension,
    /// One prompt.
    Template,
    /// A variable that all prompts share.
    Environ,
    /// A function that templates can call.
    Tool,
}

impl StoreKind {
    /// All kinds, in the order of their names in lists.
    pub const ALL: [Self; 4] = [Self::Extension, Self::Template, Self::Environ, Self::Tool];

    /// The name in keys, routes and commands.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Extension => "extensions",
            Self::Template => "templates",
            Self::Environ => "environs",
            Self::Tool => "tools",
        }
    }

    /// The name of one document of this kind.
    #[must_use]
    pub const fn singular(self) -> &'static str {
        match self {
            Self::Extension => "extension",
            Self::Template => "template",
            Self::Environ => "environ",
            Self::Tool => "tool",
        }
    }

    /// The id of a document from the rest of its key, with `.` for `:`.
    ///
    /// # Errors
    /// Code `id` when it is invalid, for example with an empty segment.
    pub fn id_from_key(self, rest: &str) -> Result<Arc<str>, Error> {
        let id = rest.replace(':', ".");
        self.check_id(&id)?;
        Ok(id.into())
    }

    /// Checks that `id` is valid.
    ///
    /// # Errors
    /// Code `id`.
    pub fn check_id(self, id: &str) -> Result<(), Error> {
        let problem = match () {
            () if id.is_empty() => "it is empty",
            () if id.len() > LONGEST => "it is too long",
            () if id.split('.').count() > SEGMENTS => "it has too many segments",
            () if id.split('.').any(str::is_empty) => "one of its segments is empty",
            () if id.chars().any(char::is_control) => "it has control characters",
            () => return Ok(()),
        };
        let shown: String = id.chars().take(80).collect();
        Err(Error::new(Code::Id, format!("`{shown}` is not a valid id of {}: {problem}", self.article()))
            .with_hint("an id has segments joined by `.`, such as `vscode.rules`"))
    }

    /// The name of one document of this kind, with an article.
    #[must_use]
    pub const fn article(self) -> &'static str {
        match self {
            Self::Extension => "an extension",
            Self::Template => "a template",
            Self::Environ => "an environ",
            Self::Tool => "a tool",
        }
    }
}

/// Most bytes of an id.
const LONGEST: usize = 1_024;

/// Most segments of an id; the tree of environs is as deep.
const SEGMENTS: usize = 32;

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for StoreKind {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word || kind.singular() == word);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str);
            Error::new(Code::Validation, format!("unknown kind of document `{word}`"))
                .with_near(hinagata_value::near_names(word, names))
                .with_hint(format!("one of {}", names.join(", ")))
        })
    }
}

/// The documents of one kind by id.
pub type StoredMap = BTreeMap<Arc<str>, Stored>;

/// A document of the store.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its full key.
    pub key: Arc<str>,
    /// Its content.
    pub value: Arc<Value>,
    /// Why the current content of the key is invalid; `value` is then the last valid one.
    pub stale: Option<Arc<Error>>,
}

impl Stored {
    /// The current document of `key`.
    #[must_use]
    pub fn new(key: impl Into<Arc<str>>, value: impl Into<Arc<Value>>) -> Self {
        Self { key: key.into(), value: value.into(), stale: None }
    }
}

/// A snapshot of the store. Cheap to clone; unchanged documents are shared with the previous snapshot.
#[derive(Clone, Debug)]
pub struct StoreSnapshot {
    /// Documents that contribute prompts.
    pub extensions: Arc<StoredMap>,
    /// Documents that are prompts.
    pub templates: Arc<StoredMap>,
    /// Environs by id.
    pub environs: Arc<StoredMap>,
    /// Definitions of tools.
    pub tools: Arc<StoredMap>,
    /// The same definitions in the order of their keys, for callers of tools.
    pub tool_documents: ToolDocuments,
    /// The environs nested by the dots of their ids; always an object.
    pub tree: Arc<Value>,
    /// Diagnostics of keys and values.
    pub diagnostics: Arc<Vec<Diagnostic>>,
    /// Whether this snapshot is current.
    pub health: StoreHealth,
}

impl Default for StoreSnapshot {
    fn default() -> Self {
        Self {
            extensions: Arc::default(),
            templates: Arc::default(),
            environs: Arc::default(),
            tools: Arc::default(),
            tool_documents: Arc::default(),
            tree: Arc::new(Value::Object(Map::new())),
            diagnostics: Arc::default(),
            health: StoreHealth::default(),
        }
    }
}

impl StoreSnapshot {
    /// The documents of one kind.
    #[must_use]
    pub fn documents(&self, kind: StoreKind) -> &Arc<StoredMap> {
        match kind {
            StoreKind::Extension => &self.extensions,
            StoreKind::Template => &self.templates,
            StoreKind::Environ => &self.environs,
            StoreKind::Tool => &self.tools,
        }
    }

    /// The snapshot with other documents of one kind; the tree of environs is updated.
    #[must_use]
    pub fn with_documents(mut self, kind: StoreKind, documents: StoredMap) -> Self {
        let documents = Arc::new(documents);
        match kind {
            StoreKind::Extension => self.extensions = documents,
            StoreKind::Template => self.templates = documents,
            StoreKind::Environ => {
                self.tree = Arc::new(environ_tree(&documents));
                self.environs = documents;
            }
            StoreKind::Tool => {
                self.tool_documents = tool_documents(&documents);
                self.tools = documents;
            }
        }
        self
    }

    /// The value at a dotted path: an environ, a part of one, or all environs beneath.
    #[must_use]
    pub fn environ(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(&*self.tree, |value, key| match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            other => other.get(key),
        })
    }

    /// Whether both snapshots yield the same catalog.
    pub fn has_same_prompts(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.extensions, &other.extensions)
            && Arc::ptr_eq(&self.templates, &other.templates)
            && self.health.is_up() == other.health.is_up()
            && self.health.reason() == other.health.reason()
    }
}

fn tool_documents(tools: &StoredMap) -> ToolDocuments {
    let mut all: Vec<(&Arc<str>, &Stored)> = tools.iter().collect();
    all.sort_by(|(_, one), (_, other)| one.key.cmp(&other.key));
    let document = |(id, stored): (&Arc<str>, &Stored)| ToolDocument {
        id: id.to_string(),
        origin: format!("store:{}", stored.key),
        document: (*stored.value).clone(),
        replaces: false,
    };
    all.into_iter().map(document).collect()
}
