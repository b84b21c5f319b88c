//! The entry point of the crate: renders a template.

use std::fmt;

use hinagata_value::{
    Budget, Calls, Cancel, Functions, Heap, Keep, Limits, Off, Output, Pass, Provenance, Result, Segments,
    Variables, Written,
};

use super::{Data, Run};
use crate::{Loader, NoTemplates, Template, context::Settings};

/// How templates are rendered: settings, limits, functions, other templates.
///
/// ```
/// use hinagata_jinja::{ParseOptions, Render, Template};
/// use hinagata_value::Limits;
///
/// let limits = Limits::default();
/// let template = Template::compile("hello", "Hello {{ user.name|upper }}!", &ParseOptions::default(), &limits)?;
/// let text = Render::new().render_text(&template, &serde_json::json!({"user": {"name": "Rumi"}}))?;
/// assert_eq!(text, "Hello RUMI!");
/// # Ok::<(), hinagata_value::Error>(())
/// ```
#[derive(Clone)]
pub struct Render<'r> {
    settings: Settings,
    limits: Limits,
    loader: &'r dyn Loader,
    functions: Option<&'r Functions>,
    cancel: Option<Cancel>,
}

/// The result of a pass over a template.
pub type Rendered<P = Off> = Written<P>;

impl Default for Render<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'r> Render<'r> {
    /// Creates a render with the default settings and limits, without functions and other templates.
    #[must_use]
    pub fn new() -> Self {
        Self {
            settings: Settings::default(),
            limits: Limits::default(),
            loader: &NoTemplates,
            functions: None,
            cancel: None,
        }
    }

    /// Sets the settings.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the loader of templates that can be included, extended and imported.
    #[must_use]
    pub fn with_loader(mut self, loader: &'r dyn Loader) -> Self {
        self.loader = loader;
        self
    }

    /// Sets the functions of the host.
    #[must_use]
    pub fn with_functions(mut self, functions: &'r Functions) -> Self {
        self.functions = Some(functions);
        self
    }

    /// Sets a handle that can stop the render.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Renders to text.
    ///
    /// # Errors
    /// The error of the template, with its place; kind `suspended` when a function has to wait for a result
    /// (use [`Render::run_pass`] then).
    pub fn render_text(&self, template: &Template, variables: &dyn Variables) -> Result<String> {
        if template.is_plain(&self.settings)
            && let Some(written) =
                template.render_plain::<Off>(&self.limits, variables, 0, (template.expected_size(), 0))
        {
            template.remember_size(written.text.len());
            return Ok(written.text);
        }
        let calls = Calls::new();
        self.one_pass::<Off>(template, variables, &calls)?.into_text()
    }

    /// Renders to text and a record of where each piece came from.
    ///
    /// # Errors
    /// As [`Render::render_text`].
    pub fn render_traced(
        &self,
        template: &Template,
        variables: &dyn Variables,
    ) -> Result<Rendered<Segments>> {
        let calls = Calls::new();
        self.one_pass(template, variables, &calls)
    }

    /// Runs one pass of a render whose functions may have to wait for results.
    ///
    /// If it has to wait, it returns the started calls. Resolve them in `calls` and run the next pass with
    /// the same `calls`.
    ///
    /// # Errors
    /// The error of the template, with its place.
    pub fn run_pass<'c, P: Provenance>(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &'c Calls,
    ) -> Result<Pass<'c, Rendered<P>>> {
        calls.begin_pass(&self.limits)?;
        calls.end_pass(self.one_pass(template, variables, calls))
    }

    fn one_pass<P: Provenance>(
        &self,
        template: &Template,
        variables: &dyn Variables,
        calls: &Calls,
    ) -> Result<Rendered<P>> {
        let mut budget = Budget::new(self.limits.clone());
        if let Some(cancel) = &self.cancel {
            budget = budget.with_cancel(cancel.clone());
        }
        let loaded = Keep::new();
        let functions = self.functions.unwrap_or(Functions::empty());
        let heap = Heap::new(&budget);
        let run = Run {
            heap: &heap,
            settings: &self.settings,
            loader: self.loader,
            outside: &(),
            functions,
            calls,
            loaded: &loaded,
            number: 0,
        };
        let mut out = Output::<P>::with_capacity(&budget, template.expected_size())?;
        run.render(template, Data::Variables(variables), &mut out)?;
        let written = out.finish();
        template.remember_size(written.text.len());
        Ok(written)
    }
}

impl fmt::Debug for Render<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Render")
            .field("settings", &self.settings)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
