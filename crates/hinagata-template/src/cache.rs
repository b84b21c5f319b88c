//! A cache of compiled templates.
//!
//! The key of an entry is the whole input of the compiler: name, language, text, options and limits of the
//! source. A changed source is another key, so entries are never stale and need no invalidation; old entries
//! are evicted. This also holds for graphs: a compiled template refers to included templates by name, and
//! every render looks them up again, so the next render sees every change in a graph.
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

/// Default capacity.
const CAPACITY: usize = 100;

/// A bounded cache of compiled templates for several threads. It drops the least recently used one first.
///
/// Threads that need the same template at the same time compile it once. A template that does not compile is
/// not cached: every use compiles it again and returns the error.
pub struct Cache {
    /// `None` disables the cache.
    entries: Option<BoundedCache<Key, Arc<Entry>>>,
    compiled: AtomicU64,
}

#[derive(Clone)]
struct Key {
    name: Arc<str>,
    source: SourceText,
    options: Arc<Options>,
    /// The limits that affect compilation.
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
    /// Locked during compilation, so that other threads wait instead of compiling the same template.
    compiling: Mutex<()>,
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(CAPACITY)
    }
}

impl Cache {
    /// Creates a cache of at most `capacity` templates. With 0, every use compiles the template.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let entries = (capacity > 0).then(|| BoundedCache::new(capacity));
        Self { entries, compiled: AtomicU64::new(0) }
    }

    /// The compiled template of `source`.
    ///
    /// # Errors
    /// The template does not compile.
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
                // Another thread may have replaced the entry meanwhile.
                entries.remove_if(&key, |kept| Arc::ptr_eq(kept, &entry));
                Err(error)
            }
        }
    }

    /// Number of cached templates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.as_ref().map_or(0, BoundedCache::len)
    }

    /// Whether the cache is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of compilations because of a cache miss.
    #[must_use]
    pub fn compiled_count(&self) -> u64 {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Removes all templates.
    pub fn clear(&self) {
        if let Some(entries) = &self.entries {
            entries.clear();
        }
    }
}

/// The template with `options`, whose run-time part may differ from that of the compiled one.
fn with_options(template: &Template, options: &Arc<Options>) -> Template {
    if Arc::ptr_eq(template.options(), options) { template.clone() } else { template.with_options(options) }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("entries", &self.entries).finish_non_exhaustive()
    }
}
