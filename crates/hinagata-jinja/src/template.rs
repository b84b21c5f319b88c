//! Compiled templates and their loaders.

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

/// The largest output size that a template remembers for its next render.
const LARGEST_HINT: usize = 1 << 20;

/// A compiled template. Compile once, render often, from any thread.
pub struct Template {
    pub(crate) source: Source,
    pub(crate) code: TemplateCode,
    /// The size of the last output, to reserve memory for the next one.
    size: AtomicUsize,
    /// The tree that was compiled, until it is analysed.
    tree: Mutex<Option<ast::Template>>,
    analysis: OnceLock<Arc<Analysis>>,
}

impl Template {
    /// Compiles `source` under the name `name`.
    ///
    /// # Errors
    /// When it is not a valid template (kind `syntax`, with its place), or exceeds `limits`.
    pub fn compile(name: &str, source: &str, options: &ParseOptions, limits: &Limits) -> Result<Self> {
        let budget = Budget::new(limits.clone());
        let tree = parse(name, source, options, &budget)?;
        Self::compile_checked(tree, Source::new(name, source), &budget)
    }

    /// Compiles a tree that was put together from parts of parsed ones. Errors have the spans of the nodes; their
    /// lines and columns are those in `source`, which may be empty.
    ///
    /// # Errors
    /// It uses an unknown filter or test (kind `syntax`), or exceeds `limits`.
    pub fn compile_tree(tree: ast::Template, source: Source, limits: &Limits) -> Result<Self> {
        Self::compile_checked(tree, source, &Budget::new(limits.clone()))
    }

    fn compile_checked(tree: ast::Template, source: Source, budget: &Budget) -> Result<Self> {
        check_names(&tree, &source)?;
        let code = compile::compile_template(&tree, &source, budget)?;
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

    /// What it reads, uses and defines. The first call analyses the syntax tree and then drops it.
    pub fn analysis(&self) -> &Arc<Analysis> {
        self.analysis.get_or_init(|| {
            let tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner).take();
            Arc::new(tree.map(|tree| analyze_template(&tree, &self.source)).unwrap_or_default())
        })
    }

    /// The probable size of the next output.
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

/// Prints the name only: scopes of the code share others, so the whole would be many times the source.
impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Refuses unknown filters and tests where Jinja2 refuses them when it compiles.
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

/// Finds the templates that a render includes, extends and imports.
pub trait Loader {
    /// Returns the template `name`, compiled under that name; `None` if it does not exist.
    ///
    /// # Errors
    /// When it exists, but cannot be read or compiled.
    fn load(&self, name: &str) -> Result<Option<Arc<Template>>>;

    /// Returns the full name of the template that the template `from` calls `name`; `name` itself if there
    /// is no such template.
    ///
    /// The meaning of a name may depend on the template that contains it: `from` is the template with the
    /// statement, even if one of its blocks or macros runs for another template. Everything else in a run
    /// (loading, places of errors, sites) uses the joined name.
    ///
    /// # Errors
    /// When the name is ambiguous.
    fn join<'n>(&self, from: &str, name: &'n str) -> Result<Cow<'n, str>> {
        let _ = from;
        Ok(Cow::Borrowed(name))
    }

    /// All names, to suggest similar ones when a template is not found.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A loader without templates.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTemplates;

impl Loader for NoTemplates {
    fn load(&self, _name: &str) -> Result<Option<Arc<Template>>> {
        Ok(None)
    }
}

/// A loader of compiled templates.
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

/// A loader that compiles each source once, on first use.
#[derive(Debug, Default)]
pub struct Sources {
    sources: HashMap<String, String>,
    options: ParseOptions,
    limits: Limits,
    compiled: std::sync::Mutex<HashMap<String, Arc<Template>>>,
}

impl Sources {
    /// Creates a loader from sources by name.
    #[must_use]
    pub fn new(sources: HashMap<String, String>, options: ParseOptions, limits: Limits) -> Self {
        Self { sources, options, limits, compiled: std::sync::Mutex::default() }
    }
}

impl Loader for Sources {
    fn load(&self, name: &str) -> Result<Option<Arc<Template>>> {
        // The map is complete even if another thread panicked, so a poisoned lock is usable.
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
