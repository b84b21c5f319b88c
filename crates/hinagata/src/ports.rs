//! What the engine asks of the outside: Python, tools, the store, models, the clock.
//!
//! The engine only knows these traits. Whoever opens an [`crate::Engine`] plugs in what there is; without any of
//! them everything works that does not need it. Futures are plain ones of the standard library: an implementation
//! that lives on a runtime of its own hands out futures that any executor can wait for.
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

use hinagata_template::Message;
use serde_json::{Map, Value};

use crate::{
    Diagnostic, Result,
    store::{StoreChange, StoreSnapshot},
};

pub use crate::engine::Secrets;
pub use hinagata_catalog::{OnError, ToolDocument, ToolDocuments};

/// What an asynchronous port returns.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> SystemTime;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Runs the Python of prompts and packs.
pub trait Hooks: Send + Sync {
    /// Runs one job. Dropping what it gives ends the job, with every process that it started.
    ///
    /// # Errors
    /// Code `hook` with the details `exception` and, where there are any, `frames`; code `hook_timeout`.
    fn run<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>>;
}

/// Python to run.
#[derive(Clone)]
pub struct HookJob<'a> {
    /// What to do with it.
    pub stage: Stage<'a>,
    /// The file, as a path from the workspace root.
    pub file: &'a str,
    /// The source that runs: exactly this text, whatever the file holds by now.
    pub source: &'a str,
    /// What it may use, by name; what is not here is not in its context.
    pub permissions: Vec<&'a str>,
    /// What it declares and does not get, because the user does not trust the workspace: there, and refused.
    pub withheld: Vec<&'a str>,
    /// Plain entries of its context: `workspace_path`, `session`, and `session_state` where it may be read.
    pub context: Map<String, Value>,
    /// The workspace root of the engine; prompts and packs lie beneath.
    pub root: &'a Path,
    /// The directory that is worked on: where it has the permission `read_file`, it may read what is beneath.
    pub workspace: PathBuf,
    /// The directory that it may always read: that of its prompt, or the approved copy of its pack. Whoever made the job
    /// has looked where it leads.
    pub own_directory: Option<PathBuf>,
    /// The file in there, for `__file__`.
    pub path: PathBuf,
    /// Who it belongs to: its pack, else its prompt. No owner may keep the others from running.
    pub owner: &'a str,
    /// Wall-clock time that it may take once it runs.
    pub time: Duration,
    /// When the render is over, whatever its jobs are doing or waiting for.
    pub deadline: Option<Instant>,
    /// Notes how long it waited before it could run, which is not taken off its time.
    pub waited: &'a QueueTime,
    /// Values that must not be shown: what it prints and raises is told without them.
    pub secrets: Arc<Secrets>,
    /// Answers what it asks the engine for.
    pub capabilities: &'a dyn Capabilities,
}

/// Time that Python waited for a process to run in. Jobs that wait at the same moment count once.
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

    /// Counts from now on, until what this gives is dropped.
    #[must_use]
    pub fn start_waiting(&self) -> QueueGuard<'_> {
        let mut state = self.state();
        state.since.get_or_insert_with(Instant::now);
        state.waiting += 1;
        QueueGuard(self)
    }

    /// The time so far, with that of a wait that goes on.
    #[must_use]
    pub fn total(&self) -> Duration {
        let state = self.state();
        state.total + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// A wait that goes on until this is dropped.
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

/// What a [`HookJob`] does.
#[derive(Clone, Copy, Debug)]
pub enum Stage<'a> {
    /// `pre_render(variables, context)`; the result is the new variables.
    PreRender {
        /// The variables.
        variables: &'a Map<String, Value>,
    },
    /// `post_render(text, variables, context)`; the result is the new text.
    PostRender {
        /// What was rendered.
        text: &'a str,
        /// The variables.
        variables: &'a Map<String, Value>,
    },
    /// `provide(context)`; the result is the value of its namespace.
    Provide,
    /// Runs the file and tells its constants `METADATA`, `VARIABLES`, `PERMISSIONS`, `LIMITS`, `TEMPLATE`.
    Load,
}

impl Stage<'_> {
    /// The name in errors and traces.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::PreRender { .. } => "pre_render",
            Self::PostRender { .. } => "post_render",
            Self::Provide => "provide",
            Self::Load => "load",
        }
    }
}

/// What running Python can ask the engine for.
pub trait Capabilities: Send + Sync {
    /// The template called `name`, as `include` would find it, with `variables` over the current ones.
    fn render_template<'a>(
        &'a self,
        name: &'a str,
        variables: &'a Map<String, Value>,
    ) -> PortFuture<'a, Result<String>>;

    /// The variable at a dotted path; runs the provider of its namespace where that is needed.
    fn get_variable<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<Option<Value>>>;

    /// The text of a file beneath the workspace path.
    fn read_file<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<String>>;

    /// The answer of a model.
    fn llm_call<'a>(&'a self, request: ModelRequest) -> PortFuture<'a, Result<String>>;
}

/// Functions that templates can call, served by other programs.
pub trait Tools: Send + Sync {
    /// The tools of this moment: those of `documents`, in their order, and whatever else it knows.
    ///
    /// As long as nothing changes, the same documents give the same set: plans are kept for a set.
    fn tools(&self, documents: &[ToolDocuments]) -> Arc<dyn ToolSet>;
}

/// One state of the tools. It does not change, and answers for as long as anybody holds it.
pub trait ToolSet: Send + Sync {
    /// The tools by the names of their functions; one tool can have several.
    fn tools(&self) -> &BTreeMap<String, Arc<Tool>>;

    /// Calls the tool with the function name `name`.
    ///
    /// Dropping what it gives ends the call.
    ///
    /// # Errors
    /// Code `tool`.
    fn call<'a>(&'a self, name: &'a str, arguments: Value) -> PortFuture<'a, Result<Value>>;

    /// What is wrong with definitions of tools.
    fn diagnostics(&self) -> &[Diagnostic] {
        &[]
    }
}

/// A tool as templates see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tool {
    /// The id, such as `files.search`.
    pub id: String,
    /// What it belongs to: `tools.<module>.<name>` calls it too.
    pub module: Option<String>,
    /// Its name there.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// The schema of its arguments: an object schema makes an object of them, anything else a list.
    pub parameters: Option<Value>,
    /// Whether equal calls in one render may be one.
    pub pure: bool,
    /// What a failed call does to the render, unless the prompt says it.
    pub on_error: OnError,
    /// The value of a failed call.
    pub fallback: Value,
}

/// What many machines share: extensions, templates, environs and tools.
pub trait Store: Send + Sync {
    /// The state of the store now. The answer is one consistent state that does not change, and asking costs
    /// nothing: it is asked for every render.
    fn snapshot(&self) -> Arc<StoreSnapshot>;

    /// Makes changes, all of them or none where the store can do that. Once the result is there, so are they in
    /// [`Store::snapshot`]. What is written was checked before, by [`crate::store::check_change`].
    ///
    /// # Errors
    /// Code `store`.
    fn write(&self, changes: Vec<StoreChange>) -> PortFuture<'_, Result<()>>;

    /// Calls `told` after every change of the snapshot, for as long as the store lives. It must not block.
    fn subscribe(&self, told: StoreListener);
}

/// Who wants to know of changes of a store.
pub type StoreListener = Box<dyn Fn(&Arc<StoreSnapshot>) + Send + Sync>;

/// A model that answers.
pub trait Model: Send + Sync {
    /// Asks it.
    ///
    /// # Errors
    /// Code `model`.
    fn call(&self, request: ModelRequest) -> PortFuture<'_, Result<String>>;
}

/// What a model is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The model to ask; the configured one unless given.
    pub model: Option<String>,
    /// Most tokens of the answer.
    pub max_tokens: Option<u64>,
}

/// The ports of an engine.
#[derive(Clone)]
pub(crate) struct Ports {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    pub(crate) tools: Option<Arc<dyn Tools>>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) model: Option<Arc<dyn Model>>,
}

impl Default for Ports {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), hooks: None, tools: None, store: None, model: None }
    }
}
