//! Renders templates to text, to messages, or to text with its origins.

mod run;

use std::{fmt, ops::Range};

use hinagata_value::{
    Call, Calls, Cancel, Functions, Limits, Off, Pass, Result, Segments, Source, Variables, Written,
};
use serde_json::Value as Json;

use crate::{
    Cache, Content, JoinedNames, Message, MessageLayout, Meter, NoSources, Pool, PooledText, Recorded,
    SourceMap, Sources, Template,
    messages::{content_ranges, message_ranges, split_content, split_messages},
    structure::default_functions,
};

/// The role of text outside of all messages.
const DEFAULT_ROLE: &str = "user";

/// A configured render: limits, functions, other templates.
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
    layout: MessageLayout,
    drops_empty: bool,
    meter: Option<&'r Meter>,
    one_message: bool,
}

/// A rendered text that tells values from the text of templates.
#[derive(Debug)]
pub struct Traced {
    /// The text with its marks and segments.
    pub written: Written<Segments>,
}

/// A rendered text with its source map.
#[derive(Debug)]
pub struct Mapped {
    /// The text with its marks.
    pub written: Written,
    /// Where each piece of the text comes from.
    pub map: SourceMap,
}

impl From<Recorded<'_>> for Mapped {
    fn from(recorded: Recorded<'_>) -> Self {
        let map = recorded.source_map();
        Self { written: recorded.written, map }
    }
}

impl Traced {
    /// Whether the byte at `offset` of the text comes from a printed value, not from the text of a template.
    #[must_use]
    pub fn is_value_at(&self, offset: usize) -> bool {
        let segment = self.written.provenance.segment_at(offset);
        segment.is_some_and(|segment| segment.source != Source::Text)
    }
}

impl Default for Render<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'r> Render<'r> {
    /// A render with the default limits, the functions `role`, `media` and `resource`, and no other templates.
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
            layout: MessageLayout::Trim,
            drops_empty: false,
            meter: None,
            one_message: false,
        }
    }

    /// Sets the limits, which all templates of a render share.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Replaces the functions. Start from [`crate::structure_functions`] to keep `role`, `media` and `resource`.
    #[must_use]
    pub fn with_functions(mut self, functions: &'r Functions) -> Self {
        self.functions = functions;
        self
    }

    /// Sets the templates that can be included, extended and imported.
    #[must_use]
    pub fn with_sources(mut self, sources: &'r dyn Sources) -> Self {
        self.sources = sources;
        self
    }

    /// Uses a cache of compiled templates.
    #[must_use]
    pub fn with_cache(mut self, cache: &'r Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Uses the names that an analysis joined, see [`crate::Graph::joined`], so that the sources do not join
    /// them again.
    #[must_use]
    pub fn with_joined(mut self, joined: &'r JoinedNames) -> Self {
        self.joined = Some(joined);
        self
    }

    /// Sets a handle that can stop the render.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Sets the role of text outside of all messages, which is `user` by default.
    #[must_use]
    pub fn with_default_role(mut self, role: &'r str) -> Self {
        self.default_role = role;
        self
    }

    /// Sets what happens to whitespace around messages, and whether messages of whitespace alone are left out.
    #[must_use]
    pub fn with_layout(mut self, layout: MessageLayout, drops_empty: bool) -> Self {
        (self.layout, self.drops_empty) = (layout, drops_empty);
        self
    }

    /// Shares the budget of `meter` with other renders.
    #[must_use]
    pub fn with_meter(mut self, meter: &'r Meter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Renders the content of one message: `role` and `{% message %}` are errors at their place.
    ///
    /// Use [`Render::split_content`] for the output of a pass.
    #[must_use]
    pub fn for_one_message(mut self) -> Self {
        self.one_message = true;
        self
    }

    /// Renders to text. Roles, media and resources are left out.
    ///
    /// # Errors
    /// The error of the template, with its place. The kind is `suspended` if a function calls another program:
    /// use [`Render::run_pass`] or [`Render::render_text_with`] for such templates.
    pub fn render_text(&self, template: &Template, variables: &dyn Variables) -> Result<String> {
        self.render_written(template, variables)?.into_text()
    }

    /// Like [`Render::render_text`], with a buffer of `pool`.
    ///
    /// # Errors
    /// Those of [`Render::render_text`].
    pub fn render_pooled(
        &self,
        template: &Template,
        variables: &dyn Variables,
        pool: &Pool,
    ) -> Result<PooledText> {
        let ran = self.one_pass::<Off, _>(template, variables, &Calls::new(), Some(pool), |_, _, _| ())?;
        Ok(pool.pooled_text(self.finish_pass(ran).0.into_text()?))
    }

    /// Renders to messages.
    ///
    /// # Errors
    /// Those of [`Render::render_text`].
    pub fn render_messages(&self, template: &Template, variables: &dyn Variables) -> Result<Vec<Message>> {
        self.split_messages(&self.render_written(template, variables)?)
    }

    /// Renders to the content of one message: text and parts. The caller decides on its role.
    ///
    /// Whitespace is preserved, and an empty text is left out: a template without parts has the output of
    /// [`Render::render_text`].
    ///
    /// # Errors
    /// Those of [`Render::render_text`], and an error if the template starts a message.
    pub fn render_content(&self, template: &Template, variables: &dyn Variables) -> Result<Vec<Content>> {
        self.split_content(&self.clone().for_one_message().render_written(template, variables)?)
    }

    /// Renders to text, and records which pieces are values.
    ///
    /// # Errors
    /// Those of [`Render::render_text`].
    pub fn render_traced(&self, template: &Template, variables: &dyn Variables) -> Result<Traced> {
        let ran = self.one_pass(template, variables, &Calls::new(), None, |_, _, _| ())?;
        Ok(Traced { written: self.finish_pass(ran).0 })
    }

    /// Renders to text with its source map.
    ///
    /// # Errors
    /// Those of [`Render::render_text`].
    pub fn render_mapped(&self, template: &Template, variables: &dyn Variables) -> Result<Mapped> {
        Ok(self.render_recorded(template, variables)?.into())
    }

    /// Renders to text with a record of origins, of which the source map can be made.
    ///
    /// # Errors
    /// Those of [`Render::render_text`].
    pub fn render_recorded<'v>(
        &self,
        template: &Template,
        variables: &'v dyn Variables,
    ) -> Result<Recorded<'v>> {
        if let Some(written) = self.plain_written(template, variables) {
            return Ok(Recorded::plain(written, template, variables));
        }
        let ran = self.recorded_pass(template, variables, &Calls::new())?;
        let (written, origins) = self.finish_pass(ran);
        Ok(Recorded::new(written, origins, variables, None))
    }

    /// Splits the output of a pass into messages.
    ///
    /// # Errors
    /// When it holds bytes that are not UTF-8.
    pub fn split_messages<P>(&self, written: &Written<P>) -> Result<Vec<Message>> {
        split_messages(written, self.default_role, self.layout, self.drops_empty)
    }

    /// Splits the output of a pass into the content of one message; see [`Render::render_content`].
    ///
    /// # Errors
    /// When it holds bytes that are not UTF-8, or starts a message.
    pub fn split_content<P>(&self, written: &Written<P>) -> Result<Vec<Content>> {
        split_content(written)
    }

    /// The ranges of an output that [`Render::split_messages`] makes texts of, in their order.
    #[must_use]
    pub fn message_ranges<P>(&self, written: &Written<P>) -> Vec<Range<usize>> {
        message_ranges(written, self.layout, self.drops_empty)
    }

    /// The ranges of an output that [`Render::split_content`] makes texts of, in their order.
    #[must_use]
    pub fn content_ranges<P>(&self, written: &Written<P>) -> Vec<Range<usize>> {
        content_ranges(written)
    }

    /// Makes one pass of a render whose functions may call other programs.
    ///
    /// If the pass has to wait, it returns the started calls. Resolve them in `calls` and run the next pass with
    /// the same `calls`.
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
        let ran = calls.end_pass(self.one_pass::<Off, _>(template, variables, calls, None, |_, _, _| ()))?;
        Ok(match ran {
            Pass::Done(ran) => Pass::Done(self.finish_pass(ran).0),
            Pass::Wait(waiting) => Pass::Wait(waiting),
        })
    }

    /// Like [`Render::run_pass`], and records which pieces are values.
    ///
    /// # Errors
    /// Those of [`Render::run_pass`].
    pub fn run_traced_pass<'c>(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &'c Calls,
    ) -> Result<Pass<'c, Traced>> {
        calls.begin_pass(&self.limits)?;
        Ok(match calls.end_pass(self.one_pass(template, variables, calls, None, |_, _, _| ()))? {
            Pass::Done(ran) => Pass::Done(Traced { written: self.finish_pass(ran).0 }),
            Pass::Wait(waiting) => Pass::Wait(waiting),
        })
    }

    /// Like [`Render::run_pass`], with a source map.
    ///
    /// # Errors
    /// Those of [`Render::run_pass`].
    pub fn run_mapped_pass<'c>(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &'c Calls,
    ) -> Result<Pass<'c, Mapped>> {
        Ok(match self.run_recorded_pass(template, variables, calls)? {
            Pass::Done(recorded) => Pass::Done(recorded.into()),
            Pass::Wait(waiting) => Pass::Wait(waiting),
        })
    }

    /// Like [`Render::run_pass`], with a record of origins, of which the source map can be made.
    ///
    /// # Errors
    /// Those of [`Render::run_pass`].
    pub fn run_recorded_pass<'c, 'v>(
        &self,
        template: &Template,
        variables: &'v dyn Variables,
        calls: &'c Calls,
    ) -> Result<Pass<'c, Recorded<'v>>>
    where
        'c: 'v,
    {
        calls.begin_pass(&self.limits)?;
        Ok(match calls.end_pass(self.recorded_pass(template, variables, calls))? {
            Pass::Done(ran) => {
                let (written, origins) = self.finish_pass(ran);
                Pass::Done(Recorded::new(written, origins, variables, Some(calls)))
            }
            Pass::Wait(waiting) => Pass::Wait(waiting),
        })
    }

    /// Renders with calls to other programs, which `resolve` answers one after the other in the order of their
    /// start.
    ///
    /// # Errors
    /// The error of the template, with its place; or that of a call whose result the template uses.
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

    /// Like [`Render::render_with`], to text.
    ///
    /// # Errors
    /// Those of [`Render::render_with`].
    pub fn render_text_with(
        &self,
        template: &Template,
        variables: &dyn Variables,
        resolve: impl FnMut(&Call) -> Result<Json, String>,
    ) -> Result<String> {
        self.render_with(template, variables, resolve)?.into_text()
    }

    /// Like [`Render::render_with`], to messages.
    ///
    /// # Errors
    /// Those of [`Render::render_with`].
    pub fn render_messages_with(
        &self,
        template: &Template,
        variables: &dyn Variables,
        resolve: impl FnMut(&Call) -> Result<Json, String>,
    ) -> Result<Vec<Message>> {
        self.split_messages(&self.render_with(template, variables, resolve)?)
    }

    /// Like [`Render::render_with`], to the content of one message.
    ///
    /// # Errors
    /// Those of [`Render::render_with`] and [`Render::render_content`].
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
