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

use arc_swap::ArcSwap;
use hinagata::{Catalog, Code, Context, Engine, Error, LocalPlaces, Reason, Result};
use hinagata_host::{Audit, OpenWorkspace};
use hinagata_llm::Llm;
use hinagata_mcp::HttpService;
use serde_json::{Map, Value};

use crate::{
    access::{Access, Caller},
    bulkhead::Bulkheads,
    checks::PromptChecks,
    connections::ConnectionRoom,
    events::Events,
    findings::StoreFindings,
    metrics::Metrics,
    origin::OriginPolicy,
    problem::Problem,
    rates::RateLimits,
    render_pool::RenderPool,
    render_times::RenderTimes,
    settings::ServerSettings,
    spans::LinkSpan,
};

/// Describes the Python sandbox of this machine as JSON. It may block for a moment.
pub type DescribeSandbox = Arc<dyn Fn() -> Value + Send + Sync>;

/// The state that all requests share.
pub(crate) struct App {
    pub(crate) workspace: Arc<OpenWorkspace>,
    pub(crate) engine: Engine,
    pub(crate) llm: Llm,
    /// The settings as they were at the start.
    pub(crate) settings: ServerSettings,
    /// The settings as they were read last. Those that a running daemon can take over count from here.
    pub(crate) current_settings: ArcSwap<ServerSettings>,
    pub(crate) access: Access,
    pub(crate) origins: OriginPolicy,
    pub(crate) places: LocalPlaces,
    pub(crate) events: Events,
    pub(crate) audit: Audit,
    /// The MCP service, once the daemon is open.
    pub(crate) mcp: OnceLock<HttpService>,
    pub(crate) metrics: Metrics,
    pub(crate) store_findings: StoreFindings,
    pub(crate) prompt_checks: PromptChecks,
    /// Room for concurrent requests, by what they do.
    pub(crate) bulkheads: Bulkheads,
    /// Places of connections.
    pub(crate) connections: Arc<ConnectionRoom>,
    pub(crate) render_pool: RenderPool,
    pub(crate) render_times: RenderTimes,
    pub(crate) link_span: Option<LinkSpan>,
    sandbox: Option<DescribeSandbox>,
    /// The description of the sandbox, once it is known.
    sandbox_report: OnceLock<Value>,
    /// A directory whose files take the place of the embedded web page.
    #[cfg_attr(not(feature = "page"), expect(dead_code, reason = "there is no page to replace"))]
    pub(crate) page_directory: Option<PathBuf>,
    pub(crate) address: SocketAddr,
    pub(crate) started: Instant,
    /// Held while packs or resolutions change, so that every change sees the one before.
    pub(crate) change_lock: Mutex<()>,
    pub(crate) rates: RateLimits,
    /// The rate of renders and completions over MCP.
    pub(crate) mcp_rates: RateLimits,
    stopping: AtomicBool,
}

/// What the daemon serves.
pub(crate) struct Served {
    pub(crate) workspace: Arc<OpenWorkspace>,
    pub(crate) engine: Engine,
    pub(crate) llm: Llm,
    pub(crate) render_pool: RenderPool,
    pub(crate) page_directory: Option<PathBuf>,
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
        let Served { workspace, engine, llm, render_pool, page_directory } = served;
        let Observers { audit, events, metrics, link_span, sandbox } = observers;
        Self {
            origins: OriginPolicy::new(address, &settings.hosts, &settings.origins),
            places: LocalPlaces::new(&workspace.root.path, workspace.state.as_ref())
                .with_libraries(workspace.libraries.iter().map(|library| &*library.root)),
            bulkheads: Bulkheads::new(&settings),
            connections: ConnectionRoom::new(settings.max_connections),
            current_settings: ArcSwap::from_pointee(settings.clone()),
            rates: RateLimits::new(settings.rate),
            mcp_rates: RateLimits::new(settings.mcp_rate),
            started: Instant::now(),
            change_lock: Mutex::new(()),
            stopping: AtomicBool::new(false),
            render_times: RenderTimes::default(),
            mcp: OnceLock::new(),
            sandbox_report: OnceLock::new(),
            store_findings: StoreFindings::default(),
            prompt_checks: PromptChecks::default(),
            workspace,
            engine,
            llm,
            render_pool,
            page_directory,
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

    /// The names of bulkheads that refuse requests now, and `renders` when no render can be queued.
    pub(crate) fn full_parts(&self) -> Vec<&'static str> {
        let full = self.bulkheads.iter().filter(|bulkhead| bulkhead.is_full()).map(|bulkhead| bulkhead.name);
        full.chain(self.render_pool.is_full().then_some("renders")).collect()
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

    /// Reads the context of a request. Files beneath its `workspace_path` can be read, so it must be beneath the
    /// workspace root or one of `server.workspaces`.
    pub(crate) fn check_context(&self, passed: &Map<String, Value>) -> Result<Context> {
        let mut context = Context { project: self.settings.project.clone(), ..Context::from_map(passed) };
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
        let settings = self.current_settings.load();
        let above = std::iter::once(root.as_path()).chain(settings.workspaces.iter().map(PathBuf::as_path));
        let is_beneath = |above: &Path| above.canonicalize().is_ok_and(|above| path.starts_with(above));
        above.into_iter().any(is_beneath).then_some(path)
    }

    /// Describes the Python sandbox, determined once on a blocking thread.
    pub(crate) async fn describe_sandbox(self: &Arc<Self>) -> Option<Value> {
        let (app, tell) = (Arc::clone(self), self.sandbox.clone()?);
        tokio::task::spawn_blocking(move || app.sandbox_report.get_or_init(|| tell()).clone()).await.ok()
    }

    /// Runs an edit after all earlier changes, on a blocking thread, and lists the workspace again.
    pub(crate) async fn run_edit<T: Send + 'static>(
        self: &Arc<Self>,
        edit: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let done = self.run_exclusive(move |app| {
            let edited = edit(app);
            app.events.publish_catalog(&app.engine.reload());
            Ok(edited)
        });
        done.await?
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
