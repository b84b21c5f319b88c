//! Compiled templates, kept for the next render.
//!
//! The key of an entry is everything that compiling looks at: name, language, text, options, limits of
//! the source. A source that changed is another key, so nothing stale can be served and nothing has to
//! be invalidated; the old entry is not used any more and falls out. That holds for whole graphs too:
//! a compiled template knows the templates it includes by name only and every render looks them up
//! anew, so a change anywhere in a graph is seen by the next render.
//!
//! The reasons are in `docs/design/template-cache.md`.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use hinagata_value::{BoundedCache, Limits, Result};

use crate::{Options, SourceText, Template};

/// Templates that are kept by default.
const CAPACITY: usize = 100;

/// A bounded cache of compiled templates, shared between threads: the one used longest ago goes first.
///
/// Threads that ask for the same template at the same time compile it once. A template that does not
/// compile is not kept: the error is made anew each time it is asked for.
pub struct Cache {
    /// Nothing is kept without.
    entries: Option<BoundedCache<Key, Arc<Entry>>>,
    compiled: AtomicU64,
}

#[derive(Clone)]
struct Key {
    name: Arc<str>,
    source: SourceText,
    options: Arc<Options>,
    /// Limits that decide whether the source compiles at all.
    limits: (usize, u32),
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.source.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
            && self.name == other.name
            && self.limits == other.limits
            && (Arc::ptr_eq(&self.options, &other.options)
                || self.options.compile_alike(&other.options, self.source.language()))
    }
}

impl Eq for Key {}

#[derive(Default)]
struct Entry {
    template: OnceLock<Template>,
    /// Held while the template is compiled, so that others wait for it rather than compile it too.
    compiling: Mutex<()>,
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(CAPACITY)
    }
}

impl Cache {
    /// A cache of at most `capacity` templates; with 0 everything is compiled each time.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let entries = (capacity > 0).then(|| BoundedCache::new(capacity));
        Self { entries, compiled: AtomicU64::new(0) }
    }

    /// The compiled template of `source`.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn get(
        &self,
        name: &str,
        source: &SourceText,
        options: &Arc<Options>,
        limits: &Limits,
    ) -> Result<Template> {
        let compile = || {
            self.compiled.fetch_add(1, Ordering::Relaxed);
            Template::compile_source(name, source.clone(), options.clone(), limits)
        };
        let Some(entries) = &self.entries else { return compile() };
        let key = Key {
            name: name.into(),
            source: source.clone(),
            options: options.clone(),
            limits: (limits.source, limits.nesting),
        };
        let entry = entries.get_or_insert_with(&key, Arc::default);
        if let Some(template) = entry.template.get() {
            return Ok(with_options(template, options));
        }
        let compiling = entry.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(template) = entry.template.get() {
            return Ok(with_options(template, options));
        }
        match compile() {
            Ok(template) => Ok(entry.template.get_or_init(|| template).clone()),
            Err(error) => {
                drop(compiling);
                // Unless another one took its place meanwhile.
                entries.remove_if(&key, |kept| Arc::ptr_eq(kept, &entry));
                Err(error)
            }
        }
    }

    /// How many templates are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.as_ref().map_or(0, BoundedCache::len)
    }

    /// Whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How often a template was compiled because it was not there.
    #[must_use]
    pub fn compiled_count(&self) -> u64 {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Forgets all templates.
    pub fn clear(&self) {
        if let Some(entries) = &self.entries {
            entries.clear();
        }
    }
}

/// The template as one of `options`: what a run looks at may differ from what it was compiled with.
fn with_options(template: &Template, options: &Arc<Options>) -> Template {
    if Arc::ptr_eq(template.options(), options) { template.clone() } else { template.with_options(options) }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("entries", &self.entries).finish_non_exhaustive()
    }
}
