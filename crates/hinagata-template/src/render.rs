//! Rendering: text, messages, or text with its origins; in one go or with calls to the outside.

mod run;

use std::fmt;

use hinagata_value::{
    Call, Calls, Cancel, Functions, Limits, Off, Pass, Result, Segments, Variables, Written,
};
use serde_json::Value as Json;

use crate::{
    Cache, Content, JoinedNames, Message, Meter, NoSources, Pool, PooledText, SourceMap, Sources, Template,
    messages::{split_content, split_messages},
    structure::default_functions,
};

/// The role of what stands outside of all messages.
const DEFAULT_ROLE: &str = "user";

/// How templates are rendered: limits, functions, other templates.
///
/// ```
/// use hinagata_template::{Language, MemorySources, Options, Render, Template};
/// use hinagata_value::Limits;
///
/// let sources = MemorySources::from_iter([("tool.gotmpl", "- {{.tool.name | printf \"%q\"}}\n")]);
/// let source = "{% for tool in tools %}{% include 'tool.gotmpl' %}{% endfor %}";
/// let template = Template::compile(Language::Jinja, "tools.md", source, &Options::default(), &Limits::default())?;
///
/// let data = serde_json::json!({"tools": [{"name": "search"}, {"name": "read"}]});
/// let text = Render::new().with_sources(&sources).render_text(&template, &data)?;
/// assert_eq!(text, "- \"search\"\n- \"read\"\n");
/// # Ok::<(), hinagata_value::Error>(())
/// ```
#[derive(Clone)]
pub struct Render<'r> {
    limits: Limits,
    functions: &'r Functions,
    sources: &'r dyn Sources,
    cache: Option<&'r Cache>,
    joined: Option<&'r JoinedNames>,
    cancel: Option<Cancel>,
    default_role: &'r str,
    meter: Option<&'r Meter>,
    one_message: bool,
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
            joined: None,
            cancel: None,
            default_role: DEFAULT_ROLE,
            meter: None,
            one_message: false,
        }
    }

    /// The same with these limits; all templates of a render share them.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same with these functions, and no others: start from [`crate::structure_functions`] to keep
    /// `role`, `media` and `resource`.
    #[must_use]
    pub fn with_functions(mut self, functions: &'r Functions) -> Self {
        self.functions = functions;
        self
    }

    /// The same with templates that can be included, extended and imported.
    #[must_use]
    pub fn with_sources(mut self, sources: &'r dyn Sources) -> Self {
        self.sources = sources;
        self
    }

    /// The same, looking for compiled templates in `cache`.
    #[must_use]
    pub fn with_cache(mut self, cache: &'r Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// The same with the names that an analysis joined, see [`crate::Graph::joined`]: the sources are not asked for them.
    #[must_use]
    pub fn with_joined(mut self, joined: &'r JoinedNames) -> Self {
        self.joined = Some(joined);
        self
    }

    /// The same, watching a handle that stops the render.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The same with another role than `user` for what stands outside of all messages.
    #[must_use]
    pub fn with_default_role(mut self, role: &'r str) -> Self {
        self.default_role = role;
        self
    }

    /// The same, sharing the budget of `meter` with other renders.
    #[must_use]
    pub fn with_meter(mut self, meter: &'r Meter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// The same for the content of one message: `role` and `{% message %}` are errors at their place.
    ///
    /// What a pass wrote is cut by [`Render::split_content`] then.
    #[must_use]
    pub fn for_one_message(mut self) -> Self {
        self.one_message = true;
        self
    }

    /// Renders to text. Parts are left out: a role, a picture or a resource leaves nothing behind.
    ///
    /// # Errors
    /// The failure of the template, with its place; kind `suspended` when a function needs the outside
    /// (use [`Render::run_pass`] or [`Render::render_text_with`] then).
    pub fn render_text(&self, template: &Template, variables: &dyn Variables) -> Result<String> {
        self.render_written(template, variables)?.into_text()
    }

    /// As [`Render::render_text`], in a buffer of `pool`.
    ///
    /// # Errors
    /// As [`Render::render_text`].
    pub fn render_pooled(
        &self,
        template: &Template,
        variables: &dyn Variables,
        pool: &Pool,
    ) -> Result<PooledText> {
        let ran = self.one_pass::<Off, _>(template, variables, &Calls::new(), Some(pool), |_| ())?;
        Ok(pool.pooled_text(self.finish_pass(ran).0.into_text()?))
    }

    /// Renders to messages; see [`crate::Message`].
    ///
    /// # Errors
    /// As [`Render::render_text`].
    pub fn render_messages(&self, template: &Template, variables: &dyn Variables) -> Result<Vec<Message>> {
        self.split_messages(&self.render_written(template, variables)?)
    }

    /// Renders to the content of one message, whose role is decided elsewhere: text and parts.
    ///
    /// Whitespace stays as it is, and an empty text is left out: a template without parts gives what
    /// [`Render::render_text`] gives.
    ///
    /// # Errors
    /// As [`Render::render_text`]; and where the template starts a message of its own.
    pub fn render_content(&self, template: &Template, variables: &dyn Variables) -> Result<Vec<Content>> {
        self.split_content(&self.clone().for_one_message().render_written(template, variables)?)
    }

    /// Renders to text and a record of where each piece came from.
    ///
    /// # Errors
    /// As [`Render::render_text`].
    pub fn render_traced(&self, template: &Template, variables: &dyn Variables) -> Result<Traced> {
        Ok(self.finish_traced(self.traced_pass(template, variables, &Calls::new())?))
    }

    /// Cuts what a pass wrote into messages.
    ///
    /// # Errors
    /// When it holds bytes that are not UTF-8.
    pub fn split_messages<P>(&self, written: &Written<P>) -> Result<Vec<Message>> {
        split_messages(written, self.default_role)
    }

    /// The content of one message that a pass wrote; see [`Render::render_content`].
    ///
    /// # Errors
    /// When it holds bytes that are not UTF-8, or starts a message.
    pub fn split_content<P>(&self, written: &Written<P>) -> Result<Vec<Content>> {
        split_content(written)
    }

    /// Makes one pass of a render whose functions may need the outside.
    ///
    /// Where it must wait, the calls that were started are handed out; resolve them in `calls` and make
    /// the next pass with the same `calls`.
    ///
    /// # Errors
    /// The failure of the template, with its place.
    pub fn run_pass<'c>(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &'c Calls,
    ) -> Result<Pass<'c, Written>> {
        calls.begin_pass(&self.limits)?;
        let ran = calls.end_pass(self.one_pass::<Off, _>(template, variables, calls, None, |_| ()))?;
        Ok(match ran {
            Pass::Done(ran) => Pass::Done(self.finish_pass(ran).0),
            Pass::Wait(waiting) => Pass::Wait(waiting),
        })
    }

    /// As [`Render::run_pass`], with a record of where each piece came from.
    ///
    /// # Errors
    /// As [`Render::run_pass`].
    pub fn run_traced_pass<'c>(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &'c Calls,
    ) -> Result<Pass<'c, Traced>> {
        calls.begin_pass(&self.limits)?;
        Ok(match calls.end_pass(self.traced_pass(template, variables, calls))? {
            Pass::Done(ran) => Pass::Done(self.finish_traced(ran)),
            Pass::Wait(waiting) => Pass::Wait(waiting),
        })
    }

    /// Renders with calls to the outside that `resolve` answers, one after the other in the order they
    /// were started.
    ///
    /// # Errors
    /// The failure of the template, with its place; that of a call where the template uses its result.
    pub fn render_with(
        &self,
        template: &Template,
        variables: &dyn Variables,
        mut resolve: impl FnMut(&Call) -> Result<Json, String>,
    ) -> Result<Written> {
        let calls = Calls::new();
        loop {
            match self.run_pass(template, variables, &calls)? {
                Pass::Done(written) => return Ok(written),
                Pass::Wait(waiting) => {
                    for call in waiting {
                        calls.resolve_call(call.id, resolve(call));
                    }
                }
            }
        }
    }

    /// As [`Render::render_with`], to text.
    ///
    /// # Errors
    /// As [`Render::render_with`].
    pub fn render_text_with(
        &self,
        template: &Template,
        variables: &dyn Variables,
        resolve: impl FnMut(&Call) -> Result<Json, String>,
    ) -> Result<String> {
        self.render_with(template, variables, resolve)?.into_text()
    }

    /// As [`Render::render_with`], to messages.
    ///
    /// # Errors
    /// As [`Render::render_with`].
    pub fn render_messages_with(
        &self,
        template: &Template,
        variables: &dyn Variables,
        resolve: impl FnMut(&Call) -> Result<Json, String>,
    ) -> Result<Vec<Message>> {
        self.split_messages(&self.render_with(template, variables, resolve)?)
    }

    /// As [`Render::render_with`], to the content of one message.
    ///
    /// # Errors
    /// As [`Render::render_with`] and [`Render::render_content`].
    pub fn render_content_with(
        &self,
        template: &Template,
        variables: &dyn Variables,
        resolve: impl FnMut(&Call) -> Result<Json, String>,
    ) -> Result<Vec<Content>> {
        self.split_content(&self.clone().for_one_message().render_with(template, variables, resolve)?)
    }
}

impl fmt::Debug for Render<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Render").field("limits", &self.limits).finish_non_exhaustive()
    }
}
