//! Compiled templates, and where a render finds them.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use hinagata_value::{Budget, ErrorKind, Limits, Result, analysis::Analysis};

use crate::{
    ParseOptions, Source, analyze_template, ast,
    check::{self, NameKind},
    code::TemplateCode,
    compile,
    library::{filters, tests},
    parse,
};

/// Bytes of room that a template remembers at most for its next render.
const LARGEST_HINT: usize = 1 << 20;

/// A compiled template. Compile once, render often, from any thread.
pub struct Template {
    pub(crate) source: Source,
    pub(crate) code: TemplateCode,
    /// The size of the last output: room for the next one.
    size: AtomicUsize,
    /// The tree that was compiled, until it is analysed.
    tree: Mutex<Option<ast::Template>>,
    analysis: OnceLock<Arc<Analysis>>,
}

impl Template {
    /// Compiles `source` under the name `name`.
    ///
    /// # Errors
    /// When it is not a valid template (kind `syntax`, with its place), or beyond `limits`.
    pub fn compile(name: &str, source: &str, options: &ParseOptions, limits: &Limits) -> Result<Self> {
        let budget = Budget::new(limits.clone());
        let tree = parse(name, source, options, &budget)?;
        let source = Source::new(name, source);
        check_names(&tree, &source)?;
        let code = compile::compile_template(&tree, &source, &budget)?;
        let (size, tree, analysis) = (AtomicUsize::new(0), Mutex::new(Some(tree)), OnceLock::new());
        Ok(Self { source, code, size, tree, analysis })
    }

    /// The name it was compiled under.
    #[must_use]
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Its source.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What it reads, uses and defines. The first call analyses the tree that was compiled and drops it.
    pub fn analysis(&self) -> &Arc<Analysis> {
        self.analysis.get_or_init(|| {
            let tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner).take();
            Arc::new(tree.map(|tree| analyze_template(&tree, &self.source)).unwrap_or_default())
        })
    }

    /// The size that the next output will probably have.
    pub(crate) fn expected_size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    pub(crate) fn remember_size(&self, size: usize) {
        let size = size.min(LARGEST_HINT);
        if self.expected_size() != size {
            self.size.store(size, Ordering::Relaxed);
        }
    }
}

/// The name only: scopes of the code point at each other, so all of it would be many times its source.
impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Refuses filters and tests that do not exist, where Jinja2 refuses them when it compiles.
fn check_names(tree: &ast::Template, source: &Source) -> Result<()> {
    let known = |kind, name: &str| match kind {
        NameKind::Filter => filters::find_filter(name).is_some(),
        NameKind::Test => tests::find_test(name).is_some(),
    };
    let Some(unknown) = check::check_names(tree, &known) else { return Ok(()) };
    let error = match unknown.kind {
        NameKind::Filter => filters::unknown_filter(unknown.name),
        NameKind::Test => tests::unknown_test(unknown.name),
    };
    Err(error.with_kind(ErrorKind::Syntax).with_place(|| source.place(unknown.span)))
}

/// Where a render finds the templates it includes, extends and imports.
pub trait Loader {
    /// The template called `name`; `None` when there is none. It must be compiled under that name.
    ///
    /// # Errors
    /// When there is one, but it cannot be read or compiled.
    fn load(&self, name: &str) -> Result<Option<Arc<Template>>>;

    /// The name under which the template is kept that the template `from` calls `name`; `name` itself
    /// when there is none.
    ///
    /// What a name means may depend on where it is written: `from` is the template that the statement
    /// stands in, also when a block or macro of it runs on behalf of another. Everything else in a run
    /// (looking up, places of errors, sites) uses the joined name.
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

/// No templates beside the one that is rendered.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTemplates;

impl Loader for NoTemplates {
    fn load(&self, _name: &str) -> Result<Option<Arc<Template>>> {
        Ok(None)
    }
}

/// Templates compiled beforehand.
impl Loader for HashMap<String, Arc<Template>> {
    fn load(&self, name: &str) -> Result<Option<Arc<Template>>> {
        Ok(self.get(name).cloned())
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.keys().cloned().collect();
        names.sort_unstable();
        names
    }
}

/// Sources that are compiled when they are needed, each once.
#[derive(Debug, Default)]
pub struct Sources {
    sources: HashMap<String, String>,
    options: ParseOptions,
    limits: Limits,
    compiled: std::sync::Mutex<HashMap<String, Arc<Template>>>,
}

impl Sources {
    /// Sources by name.
    #[must_use]
    pub fn new(sources: HashMap<String, String>, options: ParseOptions, limits: Limits) -> Self {
        Self { sources, options, limits, compiled: std::sync::Mutex::default() }
    }
}

impl Loader for Sources {
    fn load(&self, name: &str) -> Result<Option<Arc<Template>>> {
        // A short critical section; a poisoned lock holds a complete map all the same.
        let mut compiled = self.compiled.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(template) = compiled.get(name) {
            return Ok(Some(template.clone()));
        }
        let Some(source) = self.sources.get(name) else { return Ok(None) };
        let template = Arc::new(Template::compile(name, source, &self.options, &self.limits)?);
        compiled.insert(name.to_owned(), template.clone());
        Ok(Some(template))
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.sources.keys().cloned().collect();
        names.sort_unstable();
        names
    }
}
