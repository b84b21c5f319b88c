//! A call that owns its parts, for hosts that render later or on another thread.

use std::time::Instant;

use hinagata_value::Cancel;
use serde_json::{Map, Value};

use crate::{
    Result,
    definition::UndefinedMode,
    engine::{Context, Engine, Rendered, Request},
};

/// How strictly a call is checked against what the prompt declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// As the prompt says.
    #[default]
    Strict,
    /// Variables are not checked. An undefined variable renders as empty text in Jinja and as `<no value>` in Go.
    Lenient,
}

/// A render to run: a [`Request`] that owns its parts, and the engine that runs it.
///
/// ```
/// use hinagata::{Engine, RenderJob};
/// use serde_json::json;
///
/// let mut job = RenderJob::new(Engine::open("no/such/workspace"), "planning_task_decomposition");
/// job.variables.insert("task".to_owned(), json!("Paint the tower"));
/// let rendered = std::thread::spawn(move || job.render_blocking()).join().expect("the render does not panic")?;
/// assert!(rendered.text().contains("Paint the tower"));
/// # Ok::<(), hinagata::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RenderJob {
    /// The engine, with what the caller may reach.
    pub engine: Engine,
    /// The prompt, in any spelling.
    pub prompt: String,
    /// Its variables.
    pub variables: Map<String, Value>,
    /// Facts about the call.
    pub context: Context,
    /// How strictly the variables are checked.
    pub strictness: Strictness,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
    /// Whether an explanation has a source map.
    pub is_mapped: bool,
    /// Stops the render from another thread. A render that is awaited needs none: dropping it stops it.
    pub cancel: Option<Cancel>,
}

impl RenderJob {
    /// A render of `prompt` by `engine`, without variables.
    #[must_use]
    pub fn new(engine: Engine, prompt: impl Into<String>) -> Self {
        Self {
            engine,
            prompt: prompt.into(),
            variables: Map::new(),
            context: Context::default(),
            strictness: Strictness::default(),
            deadline: None,
            is_mapped: true,
            cancel: None,
        }
    }

    /// The same call as a request that borrows from this job.
    #[must_use]
    pub fn to_request(&self) -> Request<'_> {
        let mut request =
            Request::new(&self.prompt).with_variable_map(&self.variables).with_context(&self.context);
        if self.strictness == Strictness::Lenient {
            request = request.without_checks().with_undefined(UndefinedMode::Empty);
        }
        if let Some(deadline) = self.deadline {
            request = request.with_deadline(deadline);
        }
        if !self.is_mapped {
            request = request.without_map();
        }
        match &self.cancel {
            Some(cancel) => request.with_cancel(cancel.clone()),
            None => request,
        }
    }

    /// Renders the prompt.
    ///
    /// # Errors
    /// As [`Engine::render`].
    pub async fn render(&self) -> Result<Rendered> {
        self.engine.render(&self.to_request()).await
    }

    /// Renders the prompt and blocks the thread meanwhile.
    ///
    /// # Errors
    /// As [`Engine::render`].
    pub fn render_blocking(&self) -> Result<Rendered> {
        self.engine.render_blocking(&self.to_request())
    }

    /// Renders the prompt with a trace.
    ///
    /// # Errors
    /// As [`Engine::render`].
    pub async fn explain(&self) -> Result<Rendered> {
        self.engine.explain(&self.to_request()).await
    }

    /// Renders the prompt with a trace, and blocks the thread meanwhile.
    ///
    /// # Errors
    /// As [`Engine::render`].
    pub fn explain_blocking(&self) -> Result<Rendered> {
        self.engine.explain_blocking(&self.to_request())
    }
}
