//! Sources of templates.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use hinagata_value::Result;

use crate::Language;

/// Finds templates by name, for renders and analyses.
///
/// The implementation decides what a name is: for example a file in a directory, or an entry of a catalog. A
/// render looks up a name once, so it sees one version of it from start to end.
///
/// If a name refers to different templates in different places, [`Sources::join`] decides:
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
    /// The source of the template with the joined name `name`. `None` if it does not exist.
    ///
    /// # Errors
    /// The source exists but cannot be read.
    fn source(&self, name: &str) -> Result<Option<SourceText>>;

    /// The joined name of the template that `from` calls `name`, or `name` if it does not exist.
    ///
    /// `from` is a joined name too: that of the template that contains the use, even if another template runs
    /// one of its blocks or macros. Renders and analyses use joined names everywhere: for lookup, the cache,
    /// cycles, places of errors and origins. Only an error about a missing template contains the name as
    /// written.
    ///
    /// # Errors
    /// The name is ambiguous.
    fn join<'n>(&self, from: &str, name: &'n str) -> Result<Cow<'n, str>> {
        let _ = from;
        Ok(Cow::Borrowed(name))
    }

    /// All names, to find similar ones if a template does not exist.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The text of a template and its language. Cheap to clone.
///
/// The text is hashed once, when this is created. If sources return clones, the lookup of the compiled
/// template does not depend on the size of the text.
#[derive(Clone, Debug)]
pub struct SourceText {
    language: Language,
    text: Arc<str>,
    hash: u64,
}

impl SourceText {
    /// Creates a source in the language `language`.
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

    /// The text, shared.
    #[must_use]
    pub fn shared_text(&self) -> &Arc<str> {
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

/// No other templates.
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

    /// Adds or replaces the source called `name`. The name decides on the language.
    pub fn insert(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) {
        let name = name.into();
        let source = SourceText::new(Language::from_file_name(&name), text);
        self.0.insert(name, source);
    }

    /// Adds or replaces a source with a given language.
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
