//! Traits for what the engine needs from outside: Python, tools, the store, models and the clock.
//!
//! An embedder passes implementations to [`crate::EngineBuilder`]; the engine renders without any of them, except for
//! prompts that need one. Futures are those of the standard library, so any executor can wait for them; an
//! implementation that needs a runtime brings its own.
//!
//! The reasons are in `docs/design/ports.md`.

use std::{
    collections::BTreeMap,
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use hinagata_module::Message;
use serde_json::{Map, Value};

use crate::{
    Catalog, Diagnostic, Error, PromptId, Result,
    definition::ProjectValue,
    store::{StoreChange, StoreSnapshot},
};

pub use crate::secrets::Secrets;
pub use hinagata_catalog::{OnError, ToolDocument, ToolDocuments};

/// The future that an asynchronous port returns.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> SystemTime;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Runs the Python of prompts and packs.
pub trait Hooks: Send + Sync {
    /// Runs one job. Dropping the future ends the job and every process that it started.
    ///
    /// # Errors
    /// Code `hook` with the details `exception` and, if known, `frames`; code `hook_timeout`.
    fn run_hook<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>>;
}

/// A run of Python code.
#[derive(Clone)]
pub struct HookJob<'a> {
    /// The function to call.
    pub stage: Stage<'a>,
    /// The file, as a path from the workspace root.
    pub file: &'a str,
    /// The source to run. The file may have changed since; this text runs.
    pub source: &'a str,
    /// The granted permissions; its context has no other entries.
    pub permissions: Vec<&'a str>,
    /// Declared permissions that are withheld because the user does not trust the workspace. The entries exist in its
    /// context, and calling them fails.
    pub withheld: Vec<&'a str>,
    /// Data in its context: `workspace_path`, `session`, and `session_state` if permitted.
    pub context: Map<String, Value>,
    /// The workspace root of the engine, which contains prompts and packs.
    pub root: &'a Path,
    /// The directory that the caller works on. The permission `read_file` allows reading files in it.
    pub workspace: PathBuf,
    /// The directory that it may always read: that of its prompt, or the approved copy of its pack. The engine checks
    /// that it does not lead outside the workspace.
    pub own_directory: Option<PathBuf>,
    /// The file in that directory, for `__file__`.
    pub path: PathBuf,
    /// The pack that owns the code, or the prompt. Workers are shared fairly between owners.
    pub owner: &'a str,
    /// The limit on its wall-clock time, from when it starts to run.
    pub time: Duration,
    /// When the render has to end, even if this job still waits or runs.
    pub deadline: Option<Instant>,
    /// What it sees in place of the machine's clock, time zone and random numbers; those of the machine if `None`.
    pub fixed: Option<FixedSurroundings>,
    /// Records how long the job waits before it runs; this does not count against its time.
    pub waited: &'a QueueTime,
    /// Values to mask in its output and its exceptions.
    pub secrets: Arc<Secrets>,
    /// Answers its requests to the engine.
    pub capabilities: &'a dyn Capabilities,
}

/// A clock that stands still, a time zone and a seed, for Python whose results have to repeat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FixedSurroundings {
    /// The time.
    pub now: SystemTime,
    /// The time zone: a name, or an offset such as `+09:00`.
    pub timezone: String,
    /// The seed of random numbers.
    pub seed: u64,
}

/// The time that Python waited for a free process. Jobs that wait at the same time count once.
#[derive(Debug, Default)]
pub struct QueueTime(Mutex<QueueState>);

#[derive(Debug, Default)]
struct QueueState {
    total: Duration,
    since: Option<Instant>,
    waiting: usize,
}

impl QueueTime {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to count; dropping the guard stops.
    #[must_use]
    pub fn start_waiting(&self) -> QueueGuard<'_> {
        let mut state = self.state();
        state.since.get_or_insert_with(Instant::now);
        state.waiting += 1;
        QueueGuard(self)
    }

    /// The time so far, including a wait in progress.
    #[must_use]
    pub fn total(&self) -> Duration {
        let state = self.state();
        state.total + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// A wait in progress; dropping it ends the wait.
#[derive(Debug)]
pub struct QueueGuard<'w>(&'w QueueTime);

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waiting -= 1;
        if state.waiting == 0
            && let Some(since) = state.since.take()
        {
            state.total += since.elapsed();
        }
    }
}

/// The function that a [`HookJob`] calls.
#[derive(Clone, Copy, Debug)]
pub enum Stage<'a> {
    /// `pre_render(variables, context)`; the result is the new variables.
    PreRender {
        /// The variables.
        variables: &'a Map<String, Value>,
    },
    /// `post_render(text, variables, context)`; the result is the new text.
    PostRender {
        /// The rendered text.
        text: &'a str,
        /// The variables.
        variables: &'a Map<String, Value>,
    },
    /// `provide(context)`; the result is the value of its namespace.
    Provide {
        /// The namespace.
        namespace: &'a str,
    },
    /// Runs the file; the result is its constants `METADATA`, `VARIABLES`, `PERMISSIONS`, `LIMITS`, `TEMPLATE`.
    Load,
}

impl Stage<'_> {
    /// The name in errors and traces.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::PreRender { .. } => "pre_render",
            Self::PostRender { .. } => "post_render",
            Self::Provide { .. } => "provide",
            Self::Load => "load",
        }
    }
}

/// Requests of running Python to the engine.
pub trait Capabilities: Send + Sync {
    /// Renders the template that `include` would find as `name`, with `variables` added to the current ones.
    fn render_template<'a>(
        &'a self,
        name: &'a str,
        variables: &'a Map<String, Value>,
    ) -> PortFuture<'a, Result<String>>;

    /// The variable at a dotted path. Runs the provider of its namespace if necessary.
    fn get_variable<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<Option<Value>>>;

    /// The text of a file beneath the workspace path.
    fn read_file<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<String>>;

    /// The text of a model's response, or its value if the request has a schema.
    fn llm_call<'a>(&'a self, request: ModelRequest) -> PortFuture<'a, Result<Value>>;
}

/// Functions that templates can call and other programs run.
pub trait Tools: Send + Sync {
    /// The current tools: those of `documents`, in their order, and those from elsewhere.
    ///
    /// While nothing changes, the same documents return the same set, because plans are cached for a set.
    fn tool_set(&self, documents: &[ToolDocuments]) -> Arc<dyn ToolSet>;
}

/// An immutable set of tools. It works for as long as it is held.
pub trait ToolSet: Send + Sync {
    /// The tools by function name. A tool can have several names.
    fn tools(&self) -> &BTreeMap<String, Arc<Tool>>;

    /// Calls the tool with the function name `name`.
    ///
    /// Dropping the future cancels the call.
    ///
    /// # Errors
    /// Code `tool`.
    fn call_tool<'a>(&'a self, name: &'a str, arguments: Value) -> PortFuture<'a, Result<Value>>;

    /// The schemas of a tool in the words of the server that answers it; `None` for a tool whose server states none, as
    /// with those called by plain HTTP requests.
    ///
    /// # Errors
    /// Code `tool` if the server cannot be asked, or does not know the tool.
    fn server_schema<'a>(&'a self, _name: &'a str) -> PortFuture<'a, Result<Option<Value>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Problems in the definitions of tools.
    fn diagnostics(&self) -> &[Diagnostic] {
        &[]
    }
}

/// A tool as templates see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tool {
    /// The id, such as `files.search`.
    pub id: String,
    /// The module it belongs to: `tools.<module>.<name>` calls it too.
    pub module: Option<String>,
    /// Its name in the module.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// The schema of its arguments: they are passed as an object if it is an object schema, else as a list.
    pub parameters: Option<Value>,
    /// Whether equal calls in one render may run once.
    pub pure: bool,
    /// What a failed call does to the render, unless the prompt sets it.
    pub on_error: OnError,
    /// The value of a failed call.
    pub fallback: Value,
}

/// Documents that several machines share: extensions, templates, environs and tools.
pub trait Store: Send + Sync {
    /// The current state of the store, which is consistent and immutable. The engine calls this for every render, so it
    /// has to be cheap.
    fn snapshot(&self) -> Arc<StoreSnapshot>;

    /// Writes changes that [`crate::store::check_change`] accepted: all or none, if the store supports that. Afterwards
    /// [`Store::snapshot`] contains them.
    ///
    /// # Errors
    /// Code `store`.
    fn write_changes(&self, changes: Vec<StoreChange>) -> PortFuture<'_, Result<()>>;

    /// Calls `listener` after every change of the snapshot. The listener must not block.
    fn subscribe(&self, listener: StoreListener);
}

/// A function that a store calls with each new snapshot.
pub type StoreListener = Box<dyn Fn(&Arc<StoreSnapshot>) + Send + Sync>;

/// A language model.
pub trait Model: Send + Sync {
    /// Sends a request and returns the text of the response, or its value if the request has a schema.
    ///
    /// # Errors
    /// Code `model`; code `answer` if the response does not follow the schema.
    fn call_model(&self, request: ModelRequest) -> PortFuture<'_, Result<Value>>;
}

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The model; the configured one if `None`.
    pub model: Option<String>,
    /// Maximum tokens of the response.
    pub max_tokens: Option<u64>,
    /// The JSON Schema that the answer has to follow.
    pub schema: Option<Value>,
}

/// Makes texts from the project directory of a caller.
pub trait ProjectReader: Send + Sync {
    /// The text of `value` in `directory`, without secrets.
    ///
    /// # Errors
    /// Code `validation` if the directory has no such text.
    fn read_project<'a>(
        &'a self,
        directory: &'a Path,
        value: &'a ProjectValue,
    ) -> PortFuture<'a, Result<ProjectText>>;
}

/// A text from a project directory.
#[derive(Clone, Debug, Default)]
pub struct ProjectText {
    /// The text.
    pub text: String,
    /// What is missing or changed in the text, each with what it is about.
    pub warnings: Vec<(String, Error)>,
}

/// Decides whether a snapshot of the workspace may be rendered, such as a lock that it has to match.
pub trait Guard: Send + Sync {
    /// Checks a snapshot, once before its first render.
    ///
    /// # Errors
    /// Why no prompt of it may be rendered.
    fn check_catalog(&self, catalog: &Catalog) -> Result<()>;

    /// Whether single prompts are checked, too.
    fn checks_prompts(&self) -> bool;

    /// Checks a prompt by the SHA-256 of all its files, once before its first render.
    ///
    /// # Errors
    /// Why it may not be rendered.
    fn check_prompt(&self, prompt: &PromptId, definition_hash: &str) -> Result<()>;
}

/// The ports of an engine.
#[derive(Clone)]
pub(crate) struct Ports {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    pub(crate) tools: Option<Arc<dyn Tools>>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) model: Option<Arc<dyn Model>>,
    pub(crate) project: Option<Arc<dyn ProjectReader>>,
    pub(crate) guard: Option<Arc<dyn Guard>>,
}

impl Default for Ports {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            hooks: None,
            tools: None,
            store: None,
            model: None,
            project: None,
            guard: None,
        }
    }
}
