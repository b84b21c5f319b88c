//! Rendering: text, messages, or text with its origins; in one go or with calls to the outside.

use std::fmt;

use hinagata_value::{
    Budget, Call, Calls, Cancel, Functions, Heap, Limits, Off, Output, Pass, Provenance, Result, Segments,
    Variables, Written,
};
use serde_json::Value as Json;

use crate::{
    Cache, Message, NoSources, Pool, PooledText, SourceMap, Sources, Template, library::Library,
    messages::messages, session::Session, structure::default_functions,
};

/// The role of what stands outside of all messages.
const DEFAULT_ROLE: &str = "user";

/// How templates are rendered: limits, functions, other templates.
///
/// ```
/// use hinagata_template::{Engine, MemorySources, Options, Render, Template};
/// use hinagata_value::Limits;
///
/// let sources = MemorySources::from_iter([("tool.gotmpl", "- {{.tool.name | printf \"%q\"}}\n")]);
/// let source = "{% for tool in tools %}{% include 'tool.gotmpl' %}{% endfor %}";
/// let template = Template::compile(Engine::Jinja, "tools.md", source, &Options::default(), &Limits::default())?;
///
/// let data = serde_json::json!({"tools": [{"name": "search"}, {"name": "read"}]});
/// let text = Render::new().sources(&sources).text(&template, &data)?;
/// assert_eq!(text, "- \"search\"\n- \"read\"\n");
/// # Ok::<(), hinagata_value::Error>(())
/// ```
#[derive(Clone)]
pub struct Render<'r> {
    limits: Limits,
    functions: &'r Functions,
    sources: &'r dyn Sources,
    cache: Option<&'r Cache>,
    cancel: Option<Cancel>,
    default_role: &'r str,
}

/// A text, and where each piece of it came from.
#[derive(Debug)]
pub struct Traced {
    /// The text with its marks and segments.
    pub written: Written<Segments>,
    /// What the segments point into.
    pub map: SourceMap,
}

impl Default for Render<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'r> Render<'r> {
    /// The product's limits, the functions `role`, `media` and `resource`, no other templates.
    #[must_use]
    pub fn new() -> Self {
        Self {
            limits: Limits::default(),
            functions: default_functions(),
            sources: &NoSources,
            cache: None,
            cancel: None,
            default_role: DEFAULT_ROLE,
        }
    }

    /// The same with these limits; all templates of a render share them.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same with these functions, and no others: start from [`crate::structure_functions`] to keep
    /// `role`, `media` and `resource`.
    #[must_use]
    pub fn functions(mut self, functions: &'r Functions) -> Self {
        self.functions = functions;
        self
    }

    /// The same with templates that can be included, extended and imported.
    #[must_use]
    pub fn sources(mut self, sources: &'r dyn Sources) -> Self {
        self.sources = sources;
        self
    }

    /// The same, looking for compiled templates in `cache`.
    #[must_use]
    pub fn cache(mut self, cache: &'r Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// The same, watching a handle that stops the render.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The same with another role than `user` for what stands outside of all messages.
    #[must_use]
    pub fn default_role(mut self, role: &'r str) -> Self {
        self.default_role = role;
        self
    }

    /// Renders to text. Parts are left out: a role, a picture or a resource leaves nothing behind.
    ///
    /// # Errors
    /// The failure of the template, with its place; kind `suspended` when a function needs the outside
    /// (use [`Render::pass`] or [`Render::text_with`] then).
    pub fn text(&self, template: &Template, variables: &dyn Variables) -> Result<String> {
        self.written(template, variables)?.into_text()
    }

    /// As [`Render::text`], in a buffer of `pool`.
    ///
    /// # Errors
    /// As [`Render::text`].
    pub fn pooled(&self, template: &Template, variables: &dyn Variables, pool: &Pool) -> Result<PooledText> {
        let (written, ()) =
            self.one_pass::<Off, _>(template, variables, &Calls::new(), Some(pool), |_| ())?;
        Ok(pool.text(written.into_text()?))
    }

    /// Renders to messages; see [`crate::Message`].
    ///
    /// # Errors
    /// As [`Render::text`].
    pub fn messages(&self, template: &Template, variables: &dyn Variables) -> Result<Vec<Message>> {
        self.cut(&self.written(template, variables)?)
    }

    /// Renders to text and a record of where each piece came from.
    ///
    /// # Errors
    /// As [`Render::text`].
    pub fn traced(&self, template: &Template, variables: &dyn Variables) -> Result<Traced> {
        self.one_traced(template, variables, &Calls::new())
    }

    /// Cuts what a pass wrote into messages.
    ///
    /// # Errors
    /// When it holds bytes that are not UTF-8.
    pub fn cut<P>(&self, written: &Written<P>) -> Result<Vec<Message>> {
        messages(written, self.default_role)
    }

    /// Makes one pass of a render whose functions may need the outside.
    ///
    /// Where it must wait, the calls that were started are handed out; resolve them in `calls` and make
    /// the next pass with the same `calls`.
    ///
    /// # Errors
    /// The failure of the template, with its place.
    pub fn pass<'c>(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &'c Calls,
    ) -> Result<Pass<'c, Written>> {
        calls.begin_pass(&self.limits)?;
        let result = self.one_pass::<Off, _>(template, variables, calls, None, |_| ());
        calls.end_pass(result.map(|(written, ())| written))
    }

    /// As [`Render::pass`], with a record of where each piece came from.
    ///
    /// # Errors
    /// As [`Render::pass`].
    pub fn pass_traced<'c>(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &'c Calls,
    ) -> Result<Pass<'c, Traced>> {
        calls.begin_pass(&self.limits)?;
        calls.end_pass(self.one_traced(template, variables, calls))
    }

    /// Renders with calls to the outside that `resolve` answers, one after the other in the order they
    /// were started.
    ///
    /// # Errors
    /// The failure of the template, with its place; that of a call where the template uses its result.
    pub fn written_with(
        &self,
        template: &Template,
        variables: &dyn Variables,
        mut resolve: impl FnMut(&Call) -> Result<Json, String>,
    ) -> Result<Written> {
        let calls = Calls::new();
        loop {
            match self.pass(template, variables, &calls)? {
                Pass::Done(written) => return Ok(written),
                Pass::Wait(waiting) => {
                    for call in waiting {
                        calls.resolve(call.id, resolve(call));
                    }
                }
            }
        }
    }

    /// As [`Render::written_with`], to text.
    ///
    /// # Errors
    /// As [`Render::written_with`].
    pub fn text_with(
        &self,
        template: &Template,
        variables: &dyn Variables,
        resolve: impl FnMut(&Call) -> Result<Json, String>,
    ) -> Result<String> {
        self.written_with(template, variables, resolve)?.into_text()
    }

    /// As [`Render::written_with`], to messages.
    ///
    /// # Errors
    /// As [`Render::written_with`].
    pub fn messages_with(
        &self,
        template: &Template,
        variables: &dyn Variables,
        resolve: impl FnMut(&Call) -> Result<Json, String>,
    ) -> Result<Vec<Message>> {
        self.cut(&self.written_with(template, variables, resolve)?)
    }

    fn written(&self, template: &Template, variables: &dyn Variables) -> Result<Written> {
        Ok(self.one_pass(template, variables, &Calls::new(), None, |_| ())?.0)
    }

    fn one_traced(&self, template: &Template, variables: &dyn Variables, calls: &Calls) -> Result<Traced> {
        let (written, map) = self.one_pass::<Segments, _>(template, variables, calls, None, SourceMap::of)?;
        Ok(Traced { written, map })
    }

    /// One pass over the template; `look` may look at the templates that it used.
    fn one_pass<P: Provenance, M>(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &Calls,
        pool: Option<&Pool>,
        look: impl FnOnce(&Library<'_>) -> M,
    ) -> Result<(Written<P>, M)> {
        let mut budget = Budget::new(self.limits.clone());
        if let Some(cancel) = &self.cancel {
            budget = budget.with_cancel(cancel.clone());
        }
        let library = Library::new(template, self.sources, self.cache, &self.limits);
        let heap = Heap::new(&budget);
        let session = Session::new(&heap, &library, self.functions, calls);
        let mut out = match pool {
            Some(pool) => Output::<P>::with_buffer(&budget, self.buffer(pool))?,
            None => Output::with_capacity(&budget, self.room(template))?,
        };
        let result = session.render(variables, &mut out);
        let written = out.finish();
        if let Err(error) = result {
            if let Some(pool) = pool {
                pool.give(written.text);
            }
            return Err(error);
        }
        template.remember_size(written.text.len());
        let seen = look(&library);
        Ok((written, seen))
    }

    /// A buffer that leaves most of the byte budget to the template.
    fn buffer(&self, pool: &Pool) -> String {
        let buffer = pool.take();
        if buffer.capacity() <= self.limits.bytes / 8 {
            return buffer;
        }
        pool.give(buffer);
        String::new()
    }

    fn room(&self, template: &Template) -> usize {
        template.expected_size().min(self.limits.bytes / 8)
    }
}

impl fmt::Debug for Render<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Render").field("limits", &self.limits).finish_non_exhaustive()
    }
}
