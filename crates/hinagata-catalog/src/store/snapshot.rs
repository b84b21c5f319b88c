//! One state of the store.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use hinagata_document::{Code, Diagnostic, Error};
use serde_json::{Map, Value};

use super::{StoreHealth, environs::environ_tree};
use crate::tool_document::{ToolDocument, ToolDocuments};

/// What a key of the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoreKind {
    /// A document whose `contributes.prompts` are prompts.
    Extension,
    /// One prompt.
    Template,
    /// A shared variable.
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

    /// The word for one of it.
    #[must_use]
    pub const fn singular(self) -> &'static str {
        match self {
            Self::Extension => "extension",
            Self::Template => "template",
            Self::Environ => "environ",
            Self::Tool => "tool",
        }
    }

    /// The id of the document under the rest of a key, with its `:` as `.`.
    ///
    /// # Errors
    /// Code `id` when that leads nowhere: an empty segment, or too many of them.
    pub fn id_from_key(self, rest: &str) -> Result<Arc<str>, Error> {
        let id = rest.replace(':', ".");
        self.check_id(&id)?;
        Ok(id.into())
    }

    /// Whether `id` can be one.
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

    /// The word for one of it, with its article.
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

/// Most segments of an id: an environ is nested as deep.
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
    /// The key that holds it, whole.
    pub key: Arc<str>,
    /// What it says.
    pub value: Arc<Value>,
    /// Why what the key holds by now cannot be used: then this is the last value that could.
    pub stale: Option<Arc<Error>>,
}

impl Stored {
    /// What `key` holds now.
    #[must_use]
    pub fn new(key: impl Into<Arc<str>>, value: impl Into<Arc<Value>>) -> Self {
        Self { key: key.into(), value: value.into(), stale: None }
    }
}

/// One state of the store. Cheap to clone; what did not change is shared with the state before.
#[derive(Clone, Debug)]
pub struct StoreSnapshot {
    /// Documents that contribute prompts.
    pub extensions: Arc<StoredMap>,
    /// Prompts of their own.
    pub templates: Arc<StoredMap>,
    /// Shared variables, each by its own id.
    pub environs: Arc<StoredMap>,
    /// Definitions of tools.
    pub tools: Arc<StoredMap>,
    /// The same definitions as whoever calls tools gets them, in the order of their keys.
    pub tool_documents: ToolDocuments,
    /// The shared variables nested by the dots of their ids; always a map.
    pub tree: Arc<Value>,
    /// What is wrong with keys and values.
    pub diagnostics: Arc<Vec<Diagnostic>>,
    /// Whether this is what the store holds now.
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

    /// The same with other documents of one kind; the tree of environs follows them.
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

    /// The environ at a dotted path: of that id, or inside of one, or all beneath.
    #[must_use]
    pub fn environ(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(&*self.tree, |value, key| match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            other => other.get(key),
        })
    }

    /// Whether prompts and everything else that makes a catalog is the same.
    pub fn has_same_prompts(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.extensions, &other.extensions)
            && Arc::ptr_eq(&self.templates, &other.templates)
            && self.health.is_up() == other.health.is_up()
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
