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

use hinagata::{Catalog, Code, Context, Engine, Error, RenderJob, Rendered, Result};
use hinagata_host::OpenWorkspace;
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
    origin::OriginPolicy,
    rates::RateLimits,
    render_times::{RenderTimes, ThreadTimer},
    settings::ServerSettings,
    spans::{self, LinkSpan},
};

/// Tells what confines Python on this machine, as JSON; it may take a moment.
pub type DescribeSandbox = Arc<dyn Fn() -> Value + Send + Sync>;

/// What all requests share.
pub(crate) struct App {
    pub(crate) workspace: Arc<OpenWorkspace>,
    pub(crate) engine: Engine,
    pub(crate) llm: Llm,
    pub(crate) settings: ServerSettings,
    pub(crate) access: Access,
    pub(crate) origins: OriginPolicy,
    pub(crate) events: Events,
    pub(crate) audit: Audit,
    /// Answers clients of the Model Context Protocol, as soon as the daemon is open.
    pub(crate) mcp: OnceLock<HttpService>,
    pub(crate) metrics: Metrics,
    /// Requests that may be under way.
    pub(crate) request_slots: Semaphore,
    pub(crate) link_span: Option<LinkSpan>,
    sandbox: Option<DescribeSandbox>,
    /// What it told.
    sandbox_report: OnceLock<Value>,
    pub(crate) address: SocketAddr,
    pub(crate) started: Instant,
    /// Held while packs or choices are changed: one change sees the one before.
    pub(crate) change_lock: Mutex<()>,
    rates: RateLimits,
    stopping: AtomicBool,
    render_times: RenderTimes,
}

/// What the daemon serves.
pub(crate) struct Served {
    pub(crate) workspace: Arc<OpenWorkspace>,
    pub(crate) engine: Engine,
    pub(crate) llm: Llm,
}

/// Where the daemon reports what it does, and what it knows of its machine.
pub(crate) struct Observers {
    pub(crate) audit: Audit,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    pub(crate) link_span: Option<LinkSpan>,
    pub(crate) sandbox: Option<DescribeSandbox>,
}

impl App {
    pub(crate) fn new(
        address: SocketAddr,
        settings: ServerSettings,
        access: Access,
        served: Served,
        observers: Observers,
    ) -> Self {
        let Served { workspace, engine, llm } = served;
        let Observers { audit, events, metrics, link_span, sandbox } = observers;
        Self {
            origins: OriginPolicy::new(address, &settings.hosts, &settings.origins),
            request_slots: Semaphore::new(settings.max_requests),
            rates: RateLimits::new(settings.rate),
            started: Instant::now(),
            change_lock: Mutex::new(()),
            stopping: AtomicBool::new(false),
            render_times: RenderTimes::default(),
            mcp: OnceLock::new(),
            sandbox_report: OnceLock::new(),
            workspace,
            engine,
            llm,
            settings,
            access,
            audit,
            events,
            metrics,
            link_span,
            sandbox,
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

    pub(crate) fn begin_stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.events.close();
        if let Some(mcp) = self.mcp.get() {
            mcp.stop_sessions();
        }
    }

    /// Whether the caller may send one more request now; if not, the seconds until then.
    pub(crate) fn check_rate(&self, caller: &Caller, address: IpAddr) -> Result<(), u32> {
        self.rates.check_rate(caller, self.access.rate(caller), address)
    }

    /// Renders. Quick prompts run on the thread that serves the request; others run on one of their own, so that others
    /// are answered meanwhile. Both stop when nobody waits for them any more, with their hooks and tools.
    pub(crate) async fn render(self: &Arc<Self>, job: RenderJob) -> Result<Rendered> {
        let span = spans::render_span();
        if span.is_disabled() {
            return self.render_untraced(job).await;
        }
        let rendered = match self.settings.trace_values {
            true => self.explain(job).instrument(span.clone()).await,
            false => self.render_untraced(job).instrument(span.clone()).await,
        };
        if let Ok(rendered) = &rendered {
            spans::record_render(&span, rendered);
        }
        rendered
    }

    async fn render_untraced(self: &Arc<Self>, mut job: RenderJob) -> Result<Rendered> {
        job.deadline = Some(self.deadline());
        if !self.render_times.is_quick(&job.prompt) {
            return self.render_on_worker(job).await;
        }
        let timer = ThreadTimer::start();
        // Whoever does not wait any more drops this, and with it everything that it waits for.
        let rendered = job.render().await;
        // What else the thread did while this waited counts too, which errs on the safe side.
        self.render_times.record_inline(&job.prompt, timer.elapsed());
        rendered
    }

    async fn render_on_worker(self: &Arc<Self>, job: RenderJob) -> Result<Rendered> {
        let app = Arc::clone(self);
        run_on_worker(job, move |job| {
            let started = Instant::now();
            let rendered = job.render_blocking();
            // What is not there, or does not work, tells nothing.
            if rendered.is_ok() {
                app.render_times.record_on_worker(&job.prompt, started.elapsed());
            }
            rendered
        })
        .await
    }

    /// When a render that starts now is over.
    fn deadline(&self) -> Instant {
        Instant::now() + self.settings.request_timeout
    }

    /// Renders, and tells why the result looks as it does.
    pub(crate) async fn explain(&self, mut job: RenderJob) -> Result<Rendered> {
        job.deadline = Some(self.deadline());
        run_on_worker(job, RenderJob::explain_blocking).await
    }

    /// The context that a caller gives. Files beneath its `workspace_path` can be read, so it may only name what the
    /// settings list, and what is beneath the workspace root.
    pub(crate) fn check_context(&self, passed: &Map<String, Value>) -> Result<Context> {
        let mut context = Context::from_map(passed);
        if let Some(path) = &context.workspace_path {
            let found = self.allowed_directory(path).ok_or_else(|| {
                Error::new(
                    Code::Validation,
                    "the directory in `workspace_path` is not allowed",
                )
                .with("reason", "workspace_path")
                .with_hint(
                    "use a directory beneath the workspace root, or add it to the setting `server.workspaces`",
                )
            })?;
            context.workspace_path = Some(found.display().to_string());
        }
        Ok(context)
    }

    fn allowed_directory(&self, path: &str) -> Option<PathBuf> {
        let root = self.engine.root();
        let path = root.join(path).canonicalize().ok()?;
        let above =
            std::iter::once(root.as_path()).chain(self.settings.workspaces.iter().map(PathBuf::as_path));
        let is_beneath = |above: &Path| above.canonicalize().is_ok_and(|above| path.starts_with(above));
        above.into_iter().any(is_beneath).then_some(path)
    }

    /// What confines Python on this machine, looked at once, on a thread that may wait for it.
    pub(crate) async fn describe_sandbox(self: &Arc<Self>) -> Option<Value> {
        let (app, tell) = (Arc::clone(self), self.sandbox.clone()?);
        tokio::task::spawn_blocking(move || app.sandbox_report.get_or_init(|| tell()).clone()).await.ok()
    }

    /// Makes a change that sees the one before, on a thread that may wait for the disk.
    pub(crate) async fn run_exclusive<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let app = Arc::clone(self);
        let work = move || {
            let _one_at_a_time = app.change_lock.lock().unwrap_or_else(PoisonError::into_inner);
            change(&app)
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(Error::new(Code::Store, "the change failed unexpectedly")))
    }
}

/// Runs a render on a thread of its own, until nobody waits for it any more.
async fn run_on_worker(
    mut job: RenderJob,
    work: impl FnOnce(&RenderJob) -> Result<Rendered> + Send + 'static,
) -> Result<Rendered> {
    let guard = CancelOnDrop(job.cancel.get_or_insert_default().clone());
    let rendered = tokio::task::spawn_blocking(move || work(&job)).await;
    drop(guard);
    rendered.unwrap_or_else(|_| Err(Error::new(Code::RenderRuntime, "the render failed unexpectedly")))
}

/// Stops a render when nobody waits for it any more.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
