//! What all requests share.

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use hinagata::{
    Catalog, Code, Context, Engine, Error, Rendered, Request, Result, StateDir, definition::UndefinedMode,
};
use hinagata_llm::Llm;
use hinagata_mcp::HttpService;
use hinagata_value::Cancel;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use crate::{
    access::{Access, Caller},
    audit::Audit,
    events::Events,
    metrics::Metrics,
    origin::Known,
    pace::{Lap, Paces},
    rates::Rates,
    settings::ServerSettings,
    spans::{self, TieSpan},
};

/// Tells what confines Python on this machine, as JSON; it may take a moment.
pub type TellSandbox = Arc<dyn Fn() -> Value + Send + Sync>;

/// What all requests share.
pub(crate) struct App {
    pub(crate) engine: Engine,
    pub(crate) llm: Llm,
    /// Whether the user trusts the workspace.
    pub(crate) trusted: bool,
    pub(crate) settings: ServerSettings,
    pub(crate) hinagata: hinagata::Settings,
    pub(crate) state: Option<StateDir>,
    pub(crate) access: Access,
    pub(crate) known: Known,
    pub(crate) events: Events,
    pub(crate) audit: Audit,
    /// Answers clients of the Model Context Protocol, as soon as the daemon is open.
    pub(crate) mcp: OnceLock<HttpService>,
    pub(crate) metrics: Metrics,
    /// Requests that may be under way.
    pub(crate) busy: Semaphore,
    pub(crate) tie_span: Option<TieSpan>,
    sandbox: Option<TellSandbox>,
    /// What it told.
    known_sandbox: OnceLock<Value>,
    pub(crate) address: SocketAddr,
    pub(crate) started: Instant,
    /// Held while packs or choices are changed: one change sees the one before.
    pub(crate) changing: Mutex<()>,
    rates: Rates,
    stopping: AtomicBool,
    paces: Paces,
}

/// What a request says about how to render, besides its variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As the prompt says.
    #[default]
    Strict,
    /// As the second dialect has it: nothing is checked, and what is not there prints as nothing does in Go.
    Lenient,
}

/// A render to make.
pub(crate) struct Job {
    pub(crate) prompt: String,
    pub(crate) variables: Map<String, Value>,
    pub(crate) context: Context,
    pub(crate) manner: Manner,
}

impl Job {
    fn request<'j>(&'j self, deadline: Instant, cancel: Option<Cancel>) -> Request<'j> {
        let mut request = Request::new(&self.prompt)
            .variable_map(&self.variables)
            .context(&self.context)
            .deadline(deadline);
        if self.manner == Manner::Lenient {
            request = request.unchecked().undefined(UndefinedMode::Empty);
        }
        match cancel {
            Some(cancel) => request.cancel(cancel),
            None => request,
        }
    }
}

impl App {
    #[expect(clippy::too_many_arguments, reason = "it is put together once, field by field")]
    pub(crate) fn new(
        engine: Engine,
        llm: Llm,
        trusted: bool,
        settings: ServerSettings,
        hinagata: hinagata::Settings,
        state: Option<StateDir>,
        access: Access,
        audit: Audit,
        events: Events,
        tie_span: Option<TieSpan>,
        sandbox: Option<TellSandbox>,
        address: SocketAddr,
    ) -> Self {
        Self {
            known: Known::new(address, &settings.hosts, &settings.origins),
            busy: Semaphore::new(settings.max_requests),
            rates: Rates::new(settings.rate),
            metrics: Metrics::new(),
            started: Instant::now(),
            changing: Mutex::new(()),
            stopping: AtomicBool::new(false),
            paces: Paces::default(),
            mcp: OnceLock::new(),
            engine,
            llm,
            trusted,
            settings,
            hinagata,
            state,
            access,
            events,
            audit,
            tie_span,
            sandbox,
            known_sandbox: OnceLock::new(),
            address,
        }
    }

    /// The current state of the workspace.
    pub(crate) fn catalog(&self) -> Catalog {
        self.engine.catalog()
    }

    /// Whether the daemon is about to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.events.close();
        if let Some(mcp) = self.mcp.get() {
            mcp.stop();
        }
    }

    /// Whether the caller may send one more request now; if not, the seconds until then.
    pub(crate) fn within_rate(&self, caller: &Caller, address: IpAddr) -> Result<(), u32> {
        self.rates.check(caller, self.access.rate_of(caller), address)
    }

    /// Renders with `engine`, which has what the caller reaches. Quick prompts run on the thread that serves the request;
    /// others run on one of their own, so that others are answered meanwhile. Both stop when nobody waits for them any
    /// more, with their hooks and tools.
    pub(crate) async fn render_with(self: &Arc<Self>, engine: &Engine, job: Job) -> Result<Rendered> {
        let span = spans::of_render();
        if span.is_disabled() {
            return self.render_unseen(engine, job).await;
        }
        let rendered = match self.settings.trace_values {
            true => self.explain_with(engine, job).instrument(span.clone()).await,
            false => self.render_unseen(engine, job).instrument(span.clone()).await,
        };
        if let Ok(rendered) = &rendered {
            spans::rendered(&span, rendered);
        }
        rendered
    }

    async fn render_unseen(self: &Arc<Self>, engine: &Engine, job: Job) -> Result<Rendered> {
        if !self.paces.is_quick(&job.prompt) {
            return self.render_beside(engine.clone(), job).await;
        }
        let lap = Lap::start();
        // Whoever does not wait any more drops this, and with it everything that it waits for.
        let rendered = engine.render(&job.request(self.deadline(), None)).await;
        // What else the thread did while this waited counts too, which errs on the safe side.
        self.paces.ran_among(&job.prompt, lap.time());
        rendered
    }

    async fn render_beside(self: &Arc<Self>, engine: Engine, job: Job) -> Result<Rendered> {
        let (app, deadline) = (Arc::clone(self), self.deadline());
        run_beside(move |cancel| {
            let started = Instant::now();
            let rendered = engine.render_blocking(&job.request(deadline, Some(cancel)));
            // What is not there, or does not work, tells nothing.
            if rendered.is_ok() {
                app.paces.ran_beside(&job.prompt, started.elapsed());
            }
            rendered
        })
        .await
    }

    /// When a render that starts now is over.
    fn deadline(&self) -> Instant {
        Instant::now() + self.settings.request_timeout
    }

    /// Renders with `engine`, which has what the caller reaches, and tells why the result looks as it does.
    pub(crate) async fn explain_with(&self, engine: &Engine, job: Job) -> Result<Rendered> {
        let (engine, deadline) = (engine.clone(), self.deadline());
        run_beside(move |cancel| engine.explain_blocking(&job.request(deadline, Some(cancel)))).await
    }

    /// The context that a caller gives. Files beneath its `workspace_path` can be read, so it may only name what the
    /// settings list, and what is beneath the workspace root.
    pub(crate) fn context(&self, given: &Map<String, Value>) -> Result<Context> {
        let mut context = Context::from_map(given);
        if let Some(path) = &context.workspace_path {
            let found = self.allowed(path).ok_or_else(|| {
                Error::new(
                    Code::Validation,
                    "`workspace_path` names a directory that this daemon does not open",
                )
                .with("reason", "workspace_path")
                .with_hint(
                    "name one beneath the workspace root, or list it in the setting `server.workspaces`",
                )
            })?;
            context.workspace_path = Some(found.display().to_string());
        }
        Ok(context)
    }

    fn allowed(&self, path: &str) -> Option<PathBuf> {
        let root = self.engine.root();
        let path = root.join(path).canonicalize().ok()?;
        let above =
            std::iter::once(root.as_path()).chain(self.settings.workspaces.iter().map(PathBuf::as_path));
        let is_beneath = |above: &Path| above.canonicalize().is_ok_and(|above| path.starts_with(above));
        above.into_iter().any(is_beneath).then_some(path)
    }

    /// What confines Python on this machine, looked at once, on a thread that may wait for it.
    pub(crate) async fn sandbox(self: &Arc<Self>) -> Option<Value> {
        let (app, tell) = (Arc::clone(self), self.sandbox.clone()?);
        tokio::task::spawn_blocking(move || app.known_sandbox.get_or_init(|| tell()).clone()).await.ok()
    }

    /// Makes a change that sees the one before, on a thread that may wait for the disk.
    pub(crate) async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let app = Arc::clone(self);
        let work = move || {
            let _one_at_a_time = app.changing.lock().unwrap_or_else(PoisonError::into_inner);
            change(&app)
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(Error::new(Code::Store, "the change did not end well")))
    }
}

/// Runs a render on a thread of its own, until nobody waits for it any more.
async fn run_beside(work: impl FnOnce(Cancel) -> Result<Rendered> + Send + 'static) -> Result<Rendered> {
    let cancel = Cancel::default();
    let guard = CancelOnDrop(cancel.clone());
    let rendered = tokio::task::spawn_blocking(move || work(cancel)).await;
    drop(guard);
    rendered.unwrap_or_else(|_| Err(Error::new(Code::RenderRuntime, "the render did not end well")))
}

/// Stops a render when nobody waits for it any more.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
