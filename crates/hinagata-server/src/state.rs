//! The state that all requests share.

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use hinagata::{Catalog, Code, Context, Engine, Error, Reason, RenderJob, Rendered, Result};
use hinagata_host::OpenWorkspace;
use hinagata_llm::Llm;
use hinagata_mcp::HttpService;
use hinagata_value::CancelOnDrop;
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

/// Describes the Python sandbox of this machine as JSON. It may block for a moment.
pub type DescribeSandbox = Arc<dyn Fn() -> Value + Send + Sync>;

/// The state that all requests share.
pub(crate) struct App {
    pub(crate) workspace: Arc<OpenWorkspace>,
    pub(crate) engine: Engine,
    pub(crate) llm: Llm,
    pub(crate) settings: ServerSettings,
    pub(crate) access: Access,
    pub(crate) origins: OriginPolicy,
    pub(crate) events: Events,
    pub(crate) audit: Audit,
    /// The MCP service, once the daemon is open.
    pub(crate) mcp: OnceLock<HttpService>,
    pub(crate) metrics: Metrics,
    /// Slots for concurrent requests.
    pub(crate) request_slots: Semaphore,
    pub(crate) link_span: Option<LinkSpan>,
    sandbox: Option<DescribeSandbox>,
    /// The description of the sandbox, once it is known.
    sandbox_report: OnceLock<Value>,
    pub(crate) address: SocketAddr,
    pub(crate) started: Instant,
    /// Held while packs or resolutions change, so that every change sees the one before.
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

/// Where the daemon reports what it does.
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

    /// The current catalog of the workspace.
    pub(crate) fn catalog(&self) -> Catalog {
        self.engine.catalog()
    }

    /// Whether the daemon is stopping.
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

    /// Whether the caller may send a request now; if not, the seconds to wait.
    pub(crate) fn check_rate(&self, caller: &Caller, address: IpAddr) -> Result<(), u32> {
        self.rates.check_rate(caller, self.access.rate(caller), address)
    }

    /// Renders. Fast prompts run on the thread that serves the request, others on a blocking thread, so that other
    /// requests do not wait. Dropping the future stops the render with its hooks and tools.
    pub(crate) async fn render_job(self: &Arc<Self>, job: RenderJob) -> Result<Rendered> {
        let span = spans::render_span();
        if span.is_disabled() {
            return self.render_untraced(job).await;
        }
        let rendered = if self.settings.trace_values {
            self.explain_job(job).instrument(span.clone()).await
        } else {
            self.render_untraced(job).instrument(span.clone()).await
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
        // Dropping this future drops everything that the render waits for.
        let rendered = job.render().await;
        // The time includes what else the thread did meanwhile, which errs on the safe side.
        self.render_times.record_inline(&job.prompt, timer.elapsed());
        rendered
    }

    async fn render_on_worker(self: &Arc<Self>, job: RenderJob) -> Result<Rendered> {
        let app = Arc::clone(self);
        run_on_worker(job, move |job| {
            let started = Instant::now();
            let rendered = job.render_blocking();
            // A failed render says nothing about its usual time.
            if rendered.is_ok() {
                app.render_times.record_on_worker(&job.prompt, started.elapsed());
            }
            rendered
        })
        .await
    }

    /// The deadline of a render that starts now.
    fn deadline(&self) -> Instant {
        Instant::now() + self.settings.request_timeout
    }

    /// Renders with a trace of where every part came from.
    pub(crate) async fn explain_job(&self, mut job: RenderJob) -> Result<Rendered> {
        job.deadline = Some(self.deadline());
        run_on_worker(job, RenderJob::explain_blocking).await
    }

    /// Reads the context of a request. Files beneath its `workspace_path` can be read, so it must be beneath the
    /// workspace root or one of `server.workspaces`.
    pub(crate) fn check_context(&self, passed: &Map<String, Value>) -> Result<Context> {
        let mut context = Context::from_map(passed);
        if let Some(path) = &context.workspace_path {
            let found = self.allowed_directory(path).ok_or_else(|| {
                Error::new(
                    Code::Validation,
                    "the directory in `workspace_path` is not allowed",
                )
                .with_reason(Reason::WorkspacePath)
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

    /// Describes the Python sandbox, determined once on a blocking thread.
    pub(crate) async fn describe_sandbox(self: &Arc<Self>) -> Option<Value> {
        let (app, tell) = (Arc::clone(self), self.sandbox.clone()?);
        tokio::task::spawn_blocking(move || app.sandbox_report.get_or_init(|| tell()).clone()).await.ok()
    }

    /// Runs a change after all earlier ones, on a blocking thread.
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

/// Runs a render on a blocking thread, and cancels it when this future is dropped.
async fn run_on_worker(
    mut job: RenderJob,
    work: impl FnOnce(&RenderJob) -> Result<Rendered> + Send + 'static,
) -> Result<Rendered> {
    let guard = CancelOnDrop::new(job.cancel.get_or_insert_default().clone());
    let rendered = tokio::task::spawn_blocking(move || work(&job)).await;
    drop(guard);
    rendered.unwrap_or_else(|_| Err(Error::new(Code::RenderRuntime, "the render failed unexpectedly")))
}
