//! A compiled template of either language.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use hinagata_gotemplate::Set;
use hinagata_value::{Budget, Limits, Provenance, Result, Segment, Variables, Written, analysis::Analysis};

use crate::{Language, Options, SourceText};

/// The number of the first Go template in a render. The numbers of Jinja templates start at 0.
pub(crate) const FIRST_GO: u32 = 1 << 31;

/// Maximum buffer size in bytes that a template allocates in advance.
const LARGEST_HINT: usize = 1 << 20;

/// A compiled template. Compile once, render often, from any thread; cheap to clone.
///
/// It does not contain the templates that it includes: every render finds them by name.
///
/// ```
/// use hinagata_template::{Language, Options, Render, Template};
/// use hinagata_value::Limits;
///
/// let (options, limits) = (Options::default(), Limits::default());
/// let jinja = Template::compile(Language::Jinja, "a", "Hello {{ user.name|upper }}!", &options, &limits)?;
/// let go = Template::compile(Language::Go, "b", "Hello {{.user.name | printf \"%q\"}}!", &options, &limits)?;
///
/// let data = serde_json::json!({"user": {"name": "Rumi"}});
/// assert_eq!(Render::new().render_text(&jinja, &data)?, "Hello RUMI!");
/// assert_eq!(Render::new().render_text(&go, &data)?, "Hello \"Rumi\"!");
/// # Ok::<(), hinagata_value::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Template(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: Box<str>,
    source: SourceText,
    options: Arc<Options>,
    body: Body,
    /// The size of the last output, which is the initial capacity of the next one.
    size: AtomicUsize,
    /// The number of pieces in the last record of origins.
    pieces: AtomicUsize,
}

/// The compiled form, in its own language.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Jinja(Arc<hinagata_jinja::Template>),
    Go(Arc<GoSource>),
}

/// The templates of a Go source, and their analysis, once requested.
#[derive(Debug)]
pub(crate) struct GoSource {
    pub(crate) set: Set,
    analysis: OnceLock<Arc<Analysis>>,
}

impl GoSource {
    /// The analysis of the template called `name`, which must always be the name of the source.
    pub(crate) fn analysis(&self, name: &str) -> &Arc<Analysis> {
        self.analysis.get_or_init(|| Arc::new(self.set.analyze_template(name).unwrap_or_default()))
    }
}

impl Template {
    /// Compiles `source` under the name `name`.
    ///
    /// # Errors
    /// The source is not a valid template (kind `syntax`, with its place), or exceeds `limits`.
    pub fn compile(
        language: Language,
        name: &str,
        source: &str,
        options: &Options,
        limits: &Limits,
    ) -> Result<Self> {
        Self::compile_source(name, SourceText::new(language, source), Arc::new(options.clone()), limits)
    }

    pub(crate) fn compile_source(
        name: &str,
        source: SourceText,
        options: Arc<Options>,
        limits: &Limits,
    ) -> Result<Self> {
        let body = match source.language() {
            Language::Jinja => {
                let template =
                    hinagata_jinja::Template::compile(name, source.text(), &options.jinja, limits)?;
                Body::Jinja(Arc::new(template))
            }
            Language::Go => {
                let mut set = Set::with_names(options.go.clone(), options.function_names());
                set.parse(name, source.text(), &Budget::new(limits.clone()))?;
                Body::Go(Arc::new(GoSource { set, analysis: OnceLock::new() }))
            }
        };
        Ok(Self(Arc::new(Inner {
            name: name.into(),
            source,
            options,
            body,
            size: AtomicUsize::new(0),
            pieces: AtomicUsize::new(0),
        })))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its language.
    #[must_use]
    pub fn language(&self) -> Language {
        self.0.source.language()
    }

    /// Its source.
    #[must_use]
    pub fn source(&self) -> &SourceText {
        &self.0.source
    }

    /// The bytes at which the lines of its source start, as its language counts them: in Jinja, a single `\r` ends a
    /// line, too.
    #[must_use]
    pub fn line_starts(&self) -> Vec<usize> {
        let text = self.source().text();
        let bytes = text.as_bytes();
        let is_end = |at: usize| match bytes[at] {
            b'\n' => true,
            b'\r' => self.language() == Language::Jinja && bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        std::iter::once(0).chain((0..bytes.len()).filter(|at| is_end(*at)).map(|at| at + 1)).collect()
    }

    /// The options it was compiled with. Included templates have the same.
    #[must_use]
    pub fn options(&self) -> &Arc<Options> {
        &self.0.options
    }

    /// The same template with other run-time options. The options for compilation must be equal.
    pub(crate) fn with_options(&self, options: &Arc<Options>) -> Self {
        let Inner { name, source, body, .. } = &*self.0;
        Self(Arc::new(Inner {
            name: name.clone(),
            source: source.clone(),
            options: options.clone(),
            body: body.clone(),
            size: AtomicUsize::new(self.expected_size()),
            pieces: AtomicUsize::new(self.expected_pieces()),
        }))
    }

    pub(crate) fn body(&self) -> &Body {
        &self.0.body
    }

    /// Whether it only writes texts and prints variables, so that [`Template::render_plain`] may render it.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        match self.body() {
            Body::Jinja(jinja) => jinja.is_plain(&self.options().settings),
            Body::Go(go) => go.set.is_plain(self.name()),
        }
    }

    /// Renders a plain template by the short way of its language; `None` if the general way has to.
    #[inline]
    pub(crate) fn render_plain<P: Provenance>(
        &self,
        limits: &Limits,
        variables: &dyn Variables,
    ) -> Option<Written<P>> {
        let room = (self.expected_size(), self.expected_pieces());
        match self.body() {
            Body::Jinja(jinja) => jinja.render_plain(limits, variables, 0, room),
            Body::Go(go) => go.set.render_plain(self.name(), variables, limits, FIRST_GO, room),
        }
    }

    /// The expected size of the next output.
    pub(crate) fn expected_size(&self) -> usize {
        self.0.size.load(Ordering::Relaxed)
    }

    /// The expected number of pieces in the next record.
    pub(crate) fn expected_pieces(&self) -> usize {
        self.0.pieces.load(Ordering::Relaxed)
    }

    pub(crate) fn remember_pieces(&self, pieces: usize) {
        let pieces = pieces.min(LARGEST_HINT / size_of::<Segment>());
        if self.expected_pieces() != pieces {
            self.0.pieces.store(pieces, Ordering::Relaxed);
        }
    }

    pub(crate) fn remember_size(&self, size: usize) {
        let size = size.min(LARGEST_HINT);
        if self.expected_size() != size {
            self.0.size.store(size, Ordering::Relaxed);
        }
    }
}
