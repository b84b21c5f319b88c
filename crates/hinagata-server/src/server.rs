//! Opening and running the daemon.

use std::{
    io,
    net::{self, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use hinagata::{Code, Engine, Error, Reason, Result, StateDir, ports::Store, watch::Watcher};
use hinagata_host::OpenWorkspace;
use tokio::net::TcpListener;

use crate::{
    access::{Access, new_secret},
    docs,
    events::Events,
    listen::{self, ListenSocket},
    mcp,
    metrics::Metrics,
    reload::Reloader,
    render_pool::RenderPool,
    routes::{self, Router},
    settings::{ServerSettings, core_count},
    spans::LinkSpan,
    state::{App, DescribeSandbox, Observers, Served},
    template_cache::TemplateCacheWatch,
    worker_threads::WorkerThreads,
};

/// How often the metrics run their upkeep.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// What [`Server::open`] needs.
pub struct ServerOptions {
    /// The workspace to serve: its settings, trust, store and models.
    pub workspace: Arc<OpenWorkspace>,
    /// The engine of the workspace.
    pub engine: Engine,
    /// Links request spans to the traces that callers name, where spans are exported.
    pub link_span: Option<LinkSpan>,
    /// Describes the Python sandbox of this machine. It is called once, on the first request for health.
    pub sandbox: Option<DescribeSandbox>,
    /// The socket that a service manager passed. It takes the place of the setting `server.listen`.
    pub listener: Option<net::TcpListener>,
    /// A directory whose files take the place of the embedded web page, for whoever changes it. Loopback only.
    pub page_directory: Option<PathBuf>,
}

impl ServerOptions {
    /// Options to serve `workspace`, with an engine that runs its Python.
    ///
    /// # Errors
    /// As [`OpenWorkspace::open_engine`].
    pub fn new(workspace: Arc<OpenWorkspace>) -> Result<Self> {
        let engine = workspace.open_engine()?;
        Ok(Self { workspace, engine, link_span: None, sandbox: None, listener: None, page_directory: None })
    }
}

/// A daemon that is bound to its address.
pub struct Server {
    app: Arc<App>,
    socket: ListenSocket,
    threads: WorkerThreads,
    token: String,
    token_file: Option<PathBuf>,
    /// Reports changed files until it is dropped.
    _watcher: Option<Watcher>,
    warnings: Vec<Error>,
}

impl Server {
    /// Binds the address of the settings and prepares everything.
    ///
    /// # Errors
    /// Code `definition` for invalid settings, code `system` when the address or the audit log is not available.
    pub async fn open(options: ServerOptions) -> Result<Self> {
        let ServerOptions { workspace, engine, link_span, sandbox, listener, page_directory } = options;
        let (store, llm, state) = (workspace.store(), workspace.llm()?, workspace.state.clone());
        let settings = ServerSettings::from_settings(&workspace.settings)?;
        let socket = match listener {
            Some(listener) => use_passed_listener(listener),
            None => bind_listener(settings.listen).await,
        };
        let listen_error = |error: io::Error| listen_error(settings.listen, &error);
        let socket = socket.map_err(listen_error)?;
        let address = socket.listener.local_addr().map_err(listen_error)?;
        if page_directory.is_some() && !address.ip().is_loopback() {
            return Err(Error::new(
                Code::Definition,
                format!("a page from a directory cannot be served on {address}"),
            )
            .with_reason(Reason::Listen)
            .with_hint("listen on a loopback address, such as 127.0.0.1:8700"));
        }
        let threads =
            WorkerThreads::start_threads(settings.threads).map_err(|error| threads_error(&error))?;
        let render_pool = RenderPool::start_threads(core_count(), settings.max_queued)
            .map_err(|error| threads_error(&error))?;
        let token = new_secret()?;
        let audit = workspace.open_audit(address.to_string(), |lost| {
            metrics::counter!("hinagata_audit_lost_total").increment(lost);
        })?;
        let mut warnings = Vec::new();
        let token_file = match state.as_ref().map(|state| write_token_file(state, address, &token)) {
            Some(Ok(path)) => Some(path),
            Some(Err(error)) => {
                warnings.push(error);
                None
            }
            None => None,
        };
        let events = Events::new();
        events.set_baseline(&engine.catalog(), engine.store());
        warnings.extend(settings.check_openness(address).err());
        let access = Access::new(settings.keys.clone(), &token);
        let metrics = Metrics::new(routes::route_specs());
        let served = Served { workspace, engine, llm, render_pool, page_directory };
        let observers = Observers { audit, events, metrics, link_span, sandbox };
        let app = Arc::new(App::new(address, settings, access, served, observers));
        let on_change: OnChange = Arc::new(mcp::open_mcp(&app)?);
        follow_store(&app, &*store, &on_change);
        let watcher = match follow_files(&app, &on_change) {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                warnings.push(error);
                None
            }
        };
        Ok(Self { app, socket, threads, token, token_file, _watcher: watcher, warnings })
    }

    /// The address that the daemon listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.app.address
    }

    /// A call that works in every new workspace, for a shell. With keys, `KEY` in it stands for one.
    #[must_use]
    pub fn example_call(&self) -> String {
        docs::example_call(self.app.address, self.app.access.has_keys())
    }

    /// The token of this daemon, which has every scope.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The file that contains the token.
    #[must_use]
    pub fn token_file(&self) -> Option<&Path> {
        self.token_file.as_deref()
    }

    /// Problems that did not keep the daemon from opening.
    #[must_use]
    pub fn warnings(&self) -> &[Error] {
        &self.warnings
    }

    /// Takes over changed settings while the daemon runs.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        Reloader::new(&self.app)
    }

    /// Serves until `stop` resolves, then finishes running requests within the stop timeout of the settings.
    pub async fn run_until(self, stop: impl Future<Output = ()>) {
        let router = Router::new(&self.app);
        let app = Arc::clone(&self.app);
        let upkeep = tokio::spawn(async move {
            let mut every = tokio::time::interval(UPKEEP_INTERVAL);
            let mut template_cache = TemplateCacheWatch::new(Instant::now());
            loop {
                every.tick().await;
                app.metrics.run_upkeep();
                template_cache.check_cache(&app.engine.plan_cache_stats(), Instant::now());
            }
        });
        listen::serve_connections(&self.app, self.socket, self.threads, router, stop).await;
        upkeep.abort();
        if let Some(file) = &self.token_file {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn threads_error(error: &io::Error) -> Error {
    Error::new(Code::System, format!("cannot start worker threads: {error}"))
        .with_reason(Reason::Threads)
        .with_hint("lower the setting `server.threads`")
}

async fn bind_listener(address: SocketAddr) -> io::Result<ListenSocket> {
    Ok(ListenSocket { listener: TcpListener::bind(address).await?, is_passed: false })
}

fn use_passed_listener(listener: net::TcpListener) -> io::Result<ListenSocket> {
    listener.set_nonblocking(true)?;
    Ok(ListenSocket { listener: TcpListener::from_std(listener)?, is_passed: true })
}

fn listen_error(address: SocketAddr, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program uses this TCP port; set `server.listen` to `127.0.0.1:0` for a free one"
        }
        io::ErrorKind::PermissionDenied => "TCP ports below 1024 are reserved for the system; choose another",
        _ => "change the setting `server.listen`",
    };
    Error::new(Code::System, format!("cannot listen on {address}: {error}"))
        .with_reason(Reason::Listen)
        .with("address", address.to_string())
        .with_hint(hint)
}

/// Writes the token to a file that only the user can read.
fn write_token_file(state: &StateDir, address: SocketAddr, token: &str) -> Result<PathBuf> {
    let directory = state.path().join("daemon");
    let path = directory.join(format!("token-{}", address.port()));
    let token_error = |error: io::Error| {
        Error::new(Code::System, format!("cannot write the token to {}: {error}", path.display()))
            .with_hint("use the token that the daemon prints")
    };
    std::fs::create_dir_all(&directory).map_err(token_error)?;
    // The file of an earlier daemon may be readable by others.
    let _ = std::fs::remove_file(&path);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(token_error)?;
    io::Write::write_all(&mut file, format!("{token}\n").as_bytes()).map_err(token_error)?;
    Ok(path)
}

/// Called on changes, with the changed files, or with `None` when anything may have changed.
type OnChange = Arc<dyn Fn(Option<&[PathBuf]>) + Send + Sync>;

/// Publishes changes of the store. The reference to the engine is weak, because the store keeps its listeners.
fn follow_store(app: &App, store: &dyn Store, on_change: &OnChange) {
    let (events, engine, on_change) = (app.events.clone(), app.engine.downgrade(), Arc::clone(on_change));
    store.subscribe(Box::new(move |snapshot| {
        if events.publish_store(snapshot)
            && let Some(engine) = engine.upgrade()
        {
            events.publish_catalog(&engine.catalog());
            on_change(None);
        }
    }));
}

/// Reloads the workspace when its files change, and publishes the difference.
fn follow_files(app: &App, on_change: &OnChange) -> Result<Watcher> {
    let (events, on_change) = (app.events.clone(), Arc::clone(on_change));
    app.engine.watch_files(move |catalog, change| {
        events.publish_catalog(catalog);
        on_change(if change.more { None } else { Some(&change.paths) });
    })
}
