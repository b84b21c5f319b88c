//! Opening the daemon, and running it until it is told to stop.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use hinagata::{Code, Engine, Error, Result, StateDir, ports::Store, watch::Watcher};
use hinagata_host::OpenWorkspace;
use tokio::net::TcpListener;

use crate::{
    access::{Access, new_secret},
    audit::Audit,
    events::Events,
    lanes::Lanes,
    listen, mcp,
    metrics::Metrics,
    routes::{self, Router},
    settings::{AuditPlace, ServerSettings},
    spans::TieSpan,
    state::{App, Observers, Served, TellSandbox},
};

/// How often counters are tidied.
const TIDY: Duration = Duration::from_secs(5);

/// What a daemon is made of.
pub struct ServerOptions {
    /// The workspace: its settings, trust, store and models.
    pub workspace: Arc<OpenWorkspace>,
    /// Its engine.
    pub engine: Engine,
    /// Ties spans to the traces that callers name, where spans are collected.
    pub tie_span: Option<TieSpan>,
    /// Tells what confines Python on this machine; asked once, when somebody wants to know.
    pub sandbox: Option<TellSandbox>,
}

impl ServerOptions {
    /// Serves `workspace`, with an engine that runs its Python.
    ///
    /// # Errors
    /// As [`OpenWorkspace::open_engine`].
    pub fn new(workspace: Arc<OpenWorkspace>) -> Result<Self> {
        let engine = workspace.open_engine()?;
        Ok(Self { workspace, engine, tie_span: None, sandbox: None })
    }
}

/// A daemon that listens.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    lanes: Lanes,
    token: String,
    token_file: Option<PathBuf>,
    /// Tells of changed files for as long as it lives.
    _watcher: Option<Watcher>,
    warnings: Vec<Error>,
}

impl Server {
    /// Binds the address of the settings and prepares everything.
    ///
    /// # Errors
    /// Code `definition` for settings that cannot be used, code `system` when the address or the audit log cannot be
    /// had.
    pub async fn open(options: ServerOptions) -> Result<Self> {
        let ServerOptions { workspace, engine, tie_span, sandbox } = options;
        let (store, llm, state) = (workspace.store(), workspace.llm()?, workspace.state.clone());
        let settings = ServerSettings::read(&workspace.settings)?;
        let listener = bind(settings.listen).await?;
        let address = listener.local_addr().map_err(|error| unbound(settings.listen, &error))?;
        let lanes = Lanes::start(settings.threads).map_err(|error| {
            Error::new(Code::System, format!("no threads can be started to answer: {error}"))
                .with("reason", "threads")
                .with_hint("lower the setting `server.threads`")
        })?;
        let token = new_secret()?;
        let audit = open_audit(&settings.audit, state.as_ref())?;
        let mut warnings = Vec::new();
        let token_file = match state.as_ref().map(|state| keep_token(state, address, &token)) {
            Some(Ok(path)) => Some(path),
            Some(Err(error)) => {
                warnings.push(error);
                None
            }
            None => None,
        };
        let events = Events::new();
        events.start(&engine.catalog(), engine.store());
        if !address.ip().is_loopback() && settings.keys.is_empty() && !settings.open {
            warnings.push(
                Error::new(Code::Approval, format!("{address} is for others too, but there are no keys: only this machine is served"))
                    .with_hint("`hina key NAME --scope render` makes a key; `server.open = true` lets everybody read and render"),
            );
        }
        let access = Access::new(settings.keys.clone(), &token);
        let metrics = Metrics::new(routes::specs());
        let served = Served { workspace, engine, llm };
        let observers = Observers { audit, events, metrics, tie_span, sandbox };
        let app = Arc::new(App::new(address, settings, access, served, observers));
        let told: Told = Arc::new(mcp::open(&app)?);
        follow_store(&app, &*store, &told);
        let watcher = match follow_files(&app, &told) {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                warnings.push(error);
                None
            }
        };
        Ok(Self { app, listener, lanes, token, token_file, _watcher: watcher, warnings })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.app.address
    }

    /// The token of this start: whoever has it may do everything.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The file that the token is kept in.
    #[must_use]
    pub fn token_file(&self) -> Option<&Path> {
        self.token_file.as_deref()
    }

    /// What does not work as it should.
    #[must_use]
    pub fn warnings(&self) -> &[Error] {
        &self.warnings
    }

    /// Answers until `stop` is done; then requests under way are finished, as long as the settings allow.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let router = Router::new(&self.app);
        let app = Arc::clone(&self.app);
        let tidy = tokio::spawn(async move {
            let mut every = tokio::time::interval(TIDY);
            loop {
                every.tick().await;
                app.metrics.tidy();
            }
        });
        listen::serve(&self.app, self.listener, self.lanes, router, stop).await;
        tidy.abort();
        if let Some(file) = &self.token_file {
            let _ = std::fs::remove_file(file);
        }
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| unbound(address, &error))
}

fn unbound(address: SocketAddr, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there, perhaps another daemon; `--listen 127.0.0.1:0` takes a free port"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 are for the system; take another",
        _ => "the setting `server.listen` says where it listens",
    };
    Error::new(Code::System, format!("cannot listen at {address}: {error}"))
        .with("reason", "listen")
        .with("address", address.to_string())
        .with_hint(hint)
}

fn open_audit(place: &AuditPlace, state: Option<&StateDir>) -> Result<Audit> {
    match (place, state) {
        (AuditPlace::File(path), _) => Audit::open(path),
        (AuditPlace::State, Some(state)) => Audit::open(&state.path().join("daemon/audit.jsonl")),
        (AuditPlace::State, None) | (AuditPlace::Off, _) => Ok(Audit::off()),
    }
}

/// Puts the token where only the user can read it.
fn keep_token(state: &StateDir, address: SocketAddr, token: &str) -> Result<PathBuf> {
    let directory = state.path().join("daemon");
    let path = directory.join(format!("token-{}", address.port()));
    let failed = |error: io::Error| {
        Error::new(Code::System, format!("the token could not be kept in {}: {error}", path.display()))
            .with_hint("it is printed, and only there")
    };
    std::fs::create_dir_all(&directory).map_err(failed)?;
    // A file of another start may be open to others.
    let _ = std::fs::remove_file(&path);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(failed)?;
    io::Write::write_all(&mut file, format!("{token}\n").as_bytes()).map_err(failed)?;
    Ok(path)
}

/// Whoever is told of changes besides those who listen to events: files, or anything.
type Told = Arc<dyn Fn(Option<&[PathBuf]>) + Send + Sync>;

/// Tells of changes of the store. The engine is held weakly: the store keeps its listeners for as long as it lives.
fn follow_store(app: &App, store: &dyn Store, told: &Told) {
    let (events, engine, told) = (app.events.clone(), app.engine.downgrade(), Arc::clone(told));
    store.subscribe(Box::new(move |snapshot| {
        if events.store(snapshot)
            && let Some(engine) = engine.upgrade()
        {
            events.catalog(&engine.catalog());
            told(None);
        }
    }));
}

/// Looks at the workspace again when its files change, and tells what is different.
fn follow_files(app: &App, told: &Told) -> Result<Watcher> {
    let (events, told) = (app.events.clone(), Arc::clone(told));
    app.engine.watch(move |catalog, change| {
        events.catalog(catalog);
        told(if change.more { None } else { Some(&change.paths) });
    })
}
