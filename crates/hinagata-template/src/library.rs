//! The templates of one render. Each name is looked up once and compiled on first use.

use std::{
    borrow::Cow,
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
    fmt,
    sync::Arc,
};

use hinagata_value::{Error, Keep, LimitKind, Limits, Result};

use crate::{
    Cache, JoinedNames, Language, SourceText, Sources, Template,
    template::{Body, FIRST_GO, GoSource},
};

/// The templates that a render loads. It is created before the render, so that it outlives the values.
pub(crate) struct Library<'r> {
    root: &'r Template,
    sources: &'r dyn Sources,
    cache: Option<&'r Cache>,
    limits: &'r Limits,
    entries: Keep<Entry>,
    by_name: RefCell<HashMap<Box<str>, usize>>,
    /// Names that an analysis joined before the render.
    known: Option<&'r JoinedNames>,
    /// Names that the render joined, because an include in a loop joins the same name each time.
    joined: RefCell<JoinedNames>,
    /// The Jinja templates by number, starting at 1. The rendered one has the number 0.
    jinja: Keep<Arc<hinagata_jinja::Template>>,
    next_go: Cell<u32>,
    /// Number of templates of earlier renders that share the limit.
    before: usize,
}

/// A template that was looked up.
#[derive(Debug)]
struct Entry {
    source: SourceText,
    compiled: OnceCell<Compiled>,
}

/// A compiled template.
#[derive(Debug)]
pub(crate) enum Compiled {
    Jinja(Template),
    Go(GoTemplate),
}

/// The templates of a Go source, with the number of the first one in the render.
#[derive(Debug)]
pub(crate) struct GoTemplate {
    template: Template,
    pub(crate) source: Arc<GoSource>,
    pub(crate) first: u32,
}

impl<'r> Library<'r> {
    pub(crate) fn new(
        root: &'r Template,
        sources: &'r dyn Sources,
        cache: Option<&'r Cache>,
        limits: &'r Limits,
    ) -> Self {
        let root_size = match root.body() {
            Body::Jinja(_) => 0,
            Body::Go(go) => go.set.len() as u32,
        };
        Self {
            root,
            sources,
            cache,
            limits,
            entries: Keep::new(),
            by_name: RefCell::default(),
            known: None,
            joined: RefCell::default(),
            jinja: Keep::new(),
            next_go: Cell::new(FIRST_GO + root_size),
            before: 0,
        }
    }

    /// Sets the names that an analysis joined.
    pub(crate) fn with_joined(mut self, known: Option<&'r JoinedNames>) -> Self {
        self.known = known;
        self
    }

    /// Adds the templates of earlier renders, which share the limit.
    pub(crate) fn with_spent(mut self, before: usize) -> Result<Self> {
        self.before = before;
        if self.len() + before > self.limits.templates { Err(self.too_many()) } else { Ok(self) }
    }

    /// Number of templates, including the rendered one.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() + 1
    }

    /// The Jinja templates that were loaded.
    pub(crate) fn jinja_templates(&self) -> &Keep<Arc<hinagata_jinja::Template>> {
        &self.jinja
    }

    /// All names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.sources.names()
    }

    /// The joined name of the template that `from` calls `name`.
    pub(crate) fn join<'n>(&self, from: &str, name: &'n str) -> Result<Cow<'n, str>> {
        if let Some(joined) = self.known.and_then(|known| known.get(from, name)) {
            return Ok(Cow::Owned(joined.to_owned()));
        }
        if let Some(joined) = self.joined.borrow().get(from, name) {
            return Ok(Cow::Owned(joined.to_owned()));
        }
        let joined = self.sources.join(from, name)?;
        let mut known = self.joined.borrow_mut();
        // One template may have many names, so the number of stored names is limited too.
        if matches!(joined, Cow::Owned(_)) && known.len() < self.limits.templates {
            known.insert(from, name, &joined);
        }
        Ok(joined)
    }

    /// The language of the template called `name`. `None` if it does not exist.
    pub(crate) fn language_of(&self, name: &str) -> Result<Option<Language>> {
        if name == self.root.name() {
            return Ok(Some(self.root.language()));
        }
        Ok(self.find(name)?.map(|entry| entry.source.language()))
    }

    /// The compiled template called `name`. `None` if it does not exist.
    pub(crate) fn load(&self, name: &str) -> Result<Option<&Compiled>> {
        let Some(entry) = self.find(name)? else { return Ok(None) };
        if let Some(compiled) = entry.compiled.get() {
            return Ok(Some(compiled));
        }
        let options = self.root.options();
        let template = match self.cache {
            Some(cache) => cache.get(name, &entry.source, options, self.limits)?,
            None => Template::compile_source(name, entry.source.clone(), options.clone(), self.limits)?,
        };
        Ok(Some(entry.compiled.get_or_init(|| self.assign_number(template))))
    }

    /// The stored form of a Jinja template, and its number.
    pub(crate) fn numbered_jinja(&self, template: &Template) -> Option<(&hinagata_jinja::Template, u32)> {
        let Body::Jinja(jinja) = template.body() else { return None };
        let known = self.jinja.iter().enumerate().find(|(_, known)| known.name() == template.name());
        let (place, jinja) = known.unwrap_or_else(|| (self.jinja.len(), self.jinja.push(jinja.clone())));
        Some((jinja, place as u32 + 1))
    }

    fn assign_number(&self, template: Template) -> Compiled {
        let Body::Go(source) = template.body() else { return Compiled::Jinja(template) };
        let (source, first) = (source.clone(), self.next_go.get());
        self.next_go.set(first.saturating_add(source.set.len() as u32));
        Compiled::Go(GoTemplate { template, source, first })
    }

    fn find(&self, name: &str) -> Result<Option<&Entry>> {
        if let Some(&place) = self.by_name.borrow().get(name) {
            return Ok(self.entries.get(place));
        }
        let Some(source) = self.sources.source(name)? else { return Ok(None) };
        if self.len() + self.before >= self.limits.templates {
            return Err(self.too_many());
        }
        self.by_name.borrow_mut().insert(name.into(), self.entries.len());
        Ok(Some(self.entries.push(Entry { source, compiled: OnceCell::new() })))
    }

    #[cold]
    fn too_many(&self) -> Error {
        Error::limit_reached(
            LimitKind::Templates,
            format!("the render loads more than {} templates", self.limits.templates),
        )
    }

    /// The templates that the render used, with their numbers, without the rendered one.
    pub(crate) fn loaded_templates(&self) -> impl Iterator<Item = (&Template, u32)> {
        self.entries.iter().filter_map(|entry| match entry.compiled.get()? {
            Compiled::Go(go) => Some((&go.template, go.first)),
            Compiled::Jinja(template) => {
                let place = self.jinja.iter().position(|known| known.name() == template.name())?;
                Some((template, place as u32 + 1))
            }
        })
    }

    /// The rendered template.
    pub(crate) fn root(&self) -> &'r Template {
        self.root
    }
}

/// Templates that Jinja extends, includes and imports. Go templates are included through the session.
impl hinagata_jinja::Loader for Library<'_> {
    fn load(&self, name: &str) -> Result<Option<Arc<hinagata_jinja::Template>>> {
        match self.language_of(name)? {
            None => Ok(None),
            Some(Language::Go) => Err(Error::runtime(format!(
                "'{name}' is a Go template: it can be included, but not extended or imported"
            ))
            .with_hint("use {% include %} instead")),
            Some(Language::Jinja) => Ok(self.load(name)?.and_then(|compiled| match compiled {
                Compiled::Jinja(template) => match template.body() {
                    Body::Jinja(jinja) => Some(jinja.clone()),
                    Body::Go(_) => None,
                },
                Compiled::Go(_) => None,
            })),
        }
    }

    fn join<'n>(&self, from: &str, name: &'n str) -> Result<Cow<'n, str>> {
        self.join(from, name)
    }

    fn names(&self) -> Vec<String> {
        self.names()
    }
}

impl fmt::Debug for Library<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("entries", &self.entries).finish_non_exhaustive()
    }
}
