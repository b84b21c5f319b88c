//! Where the sources of templates come from.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use hinagata_value::Result;

use crate::Language;

/// Templates by name, as a render and an analysis find them.
///
/// Whoever implements it decides what a name is: a file beneath a directory, a row of a catalog. A
/// render asks for a name once and keeps the answer, so it sees one state of it from start to end.
///
/// Where a name means different templates in different places, [`Sources::join`] tells which:
///
/// ```
/// use std::borrow::Cow;
/// use hinagata_template::{Language, MemorySources, Options, Render, SourceText, Sources, Template};
/// use hinagata_value::{Limits, Result};
///
/// /// Names are looked up beside the template that they are written in.
/// struct Beside(MemorySources);
///
/// impl Sources for Beside {
///     fn source(&self, name: &str) -> Result<Option<SourceText>> {
///         self.0.source(name)
///     }
///
///     fn join<'n>(&self, from: &str, name: &'n str) -> Result<Cow<'n, str>> {
///         let Some((folder, _)) = from.rsplit_once('/') else { return Ok(Cow::Borrowed(name)) };
///         let beside = format!("{folder}/{name}");
///         Ok(if self.0.source(&beside)?.is_some() { Cow::Owned(beside) } else { Cow::Borrowed(name) })
///     }
/// }
///
/// let sources = Beside(MemorySources::from_iter([("a/main.md", ""), ("a/part.md", "A"), ("part.md", "?")]));
/// let (options, limits) = (Options::default(), Limits::default());
/// let main = Template::compile(Language::Jinja, "a/main.md", "{% include 'part.md' %}", &options, &limits)?;
/// assert_eq!(Render::new().with_sources(&sources).render_text(&main, &serde_json::json!({}))?, "A");
/// # Ok::<(), hinagata_value::Error>(())
/// ```
pub trait Sources {
    /// The source of the template called `name`; `None` when there is none. `name` is a joined one.
    ///
    /// # Errors
    /// When there is one that cannot be read.
    fn source(&self, name: &str) -> Result<Option<SourceText>>;

    /// The name under which the template is kept that the template `from` calls `name`; `name` itself
    /// when there is none.
    ///
    /// `from` is a joined name too: that of the template which the use stands in, also when a block or
    /// macro of it runs on behalf of another. A render and an analysis use joined names for everything:
    /// looking up, the cache, circles, places of errors, origins. Only an error about a template that
    /// does not exist tells the name as it is written.
    ///
    /// # Errors
    /// When the name is ambiguous.
    fn join<'n>(&self, from: &str, name: &'n str) -> Result<Cow<'n, str>> {
        let _ = from;
        Ok(Cow::Borrowed(name))
    }

    /// The names there are, for advice when one is not found.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The text of a template and its language. Cheap to clone.
///
/// The text is hashed once, when this is made: a source that hands out clones makes looking up the
/// compiled template independent of the size of the text.
#[derive(Clone, Debug)]
pub struct SourceText {
    language: Language,
    text: Arc<str>,
    hash: u64,
}

impl SourceText {
    /// A source in the language `language`.
    #[must_use]
    pub fn new(language: Language, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self { language, hash: hasher.finish(), text }
    }

    /// The language.
    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for SourceText {
    fn eq(&self, other: &Self) -> bool {
        self.language == other.language
            && self.hash == other.hash
            && (Arc::ptr_eq(&self.text, &other.text) || self.text == other.text)
    }
}

impl Eq for SourceText {}

impl Hash for SourceText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

/// No templates beside the one that is rendered.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSources;

impl Sources for NoSources {
    fn source(&self, _name: &str) -> Result<Option<SourceText>> {
        Ok(None)
    }
}

/// Sources in memory.
///
/// ```
/// use hinagata_template::{Language, MemorySources, Sources};
///
/// let sources = MemorySources::from_iter([("hello.md", "Hello {{ name }}"), ("bye.gotmpl", "Bye {{.name}}")]);
/// assert_eq!(sources.source("bye.gotmpl")?.expect("is there").language(), Language::Go);
/// # Ok::<(), hinagata_value::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemorySources(BTreeMap<String, SourceText>);

impl MemorySources {
    /// No sources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source under `name`, in the place of an older one; the name decides on the language.
    pub fn insert(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) {
        let name = name.into();
        let source = SourceText::new(Language::from_file_name(&name), text);
        self.0.insert(name, source);
    }

    /// Adds a source whose language is known.
    pub fn insert_source(&mut self, name: impl Into<String>, source: SourceText) {
        self.0.insert(name.into(), source);
    }

    /// Removes the source called `name`.
    pub fn remove(&mut self, name: &str) -> Option<SourceText> {
        self.0.remove(name)
    }
}

impl Sources for MemorySources {
    fn source(&self, name: &str) -> Result<Option<SourceText>> {
        Ok(self.0.get(name).cloned())
    }

    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

impl<N: Into<String>, T: Into<Arc<str>>> FromIterator<(N, T)> for MemorySources {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(sources: I) -> Self {
        let mut all = Self::new();
        for (name, text) in sources {
            all.insert(name, text);
        }
        all
    }
}
