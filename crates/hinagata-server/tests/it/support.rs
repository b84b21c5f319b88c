//! A daemon of a test, and requests to it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use hinagata::{Engine, StateDir, Trust, ports::Store, store::StoreChange, store::StoreKind};
use hinagata_host::{Environment, OpenOptions, OpenWorkspace};
use hinagata_server::{Reloader, Server, ServerOptions};
use hinagata_store::MemoryStore;
use reqwest::{Client, Method, RequestBuilder, StatusCode, header::HeaderMap};
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

/// Far longer than anything takes: only a test that fails waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A daemon that runs until it is dropped.
pub(crate) struct Daemon {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) client: Client,
    pub(crate) directory: Arc<tempfile::TempDir>,
    pub(crate) engine: Engine,
    pub(crate) reloader: Reloader,
    options: OpenOptions,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

/// What a request was answered with.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON of an answer with this status.
    pub(crate) fn expect_status(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self.json()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub(crate) fn is_problem(&self) -> bool {
        self.header("content-type") == "application/problem+json"
    }
}

/// A key: its name, its scopes, the prompts that it is for.
pub(crate) type KeyOf<'k> = (&'k str, &'k [&'k str], Option<&'k [&'k str]>);

/// How a daemon of a test is made.
pub(crate) struct Setup {
    directory: Arc<tempfile::TempDir>,
    settings: Vec<String>,
    environment: Environment,
    store: Arc<dyn Store>,
    deadline: Option<Duration>,
    is_trusted: bool,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self::new_in(tempfile::tempdir().expect("a directory"))
    }

    /// One whose workspace is the directory `root` in `directory`.
    pub(crate) fn new_in(directory: tempfile::TempDir) -> Self {
        Self {
            directory: Arc::new(directory),
            settings: ["server.listen=127.0.0.1:0", "server.linger=10ms"].map(str::to_owned).to_vec(),
            environment: Environment::without_variables(),
            store: Arc::new(MemoryStore::new("shenma:")),
            deadline: None,
            is_trusted: true,
        }
    }

    /// Leaves the workspace as it is after a clone: nobody said that its settings can be trusted.
    pub(crate) fn untrusted(mut self) -> Self {
        self.is_trusted = false;
        self
    }

    pub(crate) fn set(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment = self.environment.with_variable(name, value);
        self
    }

    pub(crate) fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = store;
        self
    }

    pub(crate) fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        write(&self.directory.path().join("root").join(path), text);
        self
    }

    /// Keys as the settings have them, each of its own name: `key-NAME`.
    pub(crate) fn keys(self, keys: &[KeyOf<'_>]) -> Self {
        let mut text = String::new();
        for (name, scopes, prompts) in keys {
            let hash = hinagata::Digest::sha256(format!("key-{name}").as_bytes());
            text.push_str(&format!(
                "[[keys]]\nname = \"{name}\"\nhash = \"sha256:{hash}\"\nscopes = {}\n",
                json!(scopes)
            ));
            if let Some(prompts) = prompts {
                text.push_str(&format!("prompts = {}\n", json!(prompts)));
            }
        }
        self.file("hinagata.toml", &text)
    }

    pub(crate) async fn start(self) -> Daemon {
        let root = self.directory.path().join("root");
        std::fs::create_dir_all(&root).expect("a directory");
        let environment =
            self.environment.with_variable(StateDir::VARIABLE, self.directory.path().join("state"));
        let options =
            OpenOptions { root: Some(root), settings: self.settings, environment, ..OpenOptions::default() };
        if self.is_trusted {
            trust_settings(&options);
        }
        let workspace = OpenWorkspace::open(&options, Path::new(".")).expect("the workspace opens");
        let workspace = Arc::new(workspace.with_store(self.store));
        let (deadline, open_options) = (self.deadline, options);
        let engine = workspace.open_engine_with(None, |options| options.limits.deadline = deadline);
        let engine = engine.expect("the engine opens");
        let options = ServerOptions {
            workspace,
            engine: engine.clone(),
            link_span: None,
            sandbox: Some(Arc::new(|| json!({"tier": "A"}))),
            listener: None,
            page_directory: None,
        };
        let server = Server::open(options).await.expect("the daemon opens");
        let url = format!("http://{}", server.address());
        let (token, reloader) = (server.token().to_owned(), server.reloader());
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(server.run_until(async move {
            let _ = stopped.await;
        }));
        hinagata_http::install_tls();
        let client = Client::builder().timeout(LONG).build().expect("a client");
        Daemon {
            url,
            token,
            client,
            directory: self.directory,
            engine,
            reloader,
            options: open_options,
            stop: Some(stop),
            running: Some(running),
        }
    }
}

/// Trusts the settings as they are in the files. Those that cannot be read stay as they are.
fn trust_settings(options: &OpenOptions) {
    let Ok(workspace) = OpenWorkspace::open(options, Path::new(".")) else { return };
    let state = workspace.state.as_ref().expect("has a state directory");
    let privileged = workspace.privileged_settings.as_deref();
    Trust::new(state).record(&workspace.root.path, privileged, SystemTime::now()).expect("is recorded");
}

impl Daemon {
    pub(crate) async fn start() -> Self {
        Setup::new().start().await
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub(crate) async fn get(&self, path: &str) -> Answered {
        send(self.request("GET", path)).await
    }

    /// With `accept: application/problem+json`, as our own clients ask.
    pub(crate) async fn get_with_problem(&self, path: &str) -> Answered {
        send(self.request("GET", path).header("accept", "application/problem+json, application/json")).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answered {
        send(self.request("POST", path).body(body.to_string())).await
    }

    /// As whoever started the daemon.
    pub(crate) async fn as_owner(&self, method: &str, path: &str, body: &Value) -> Answered {
        send(self.request(method, path).bearer_auth(&self.token).body(body.to_string())).await
    }

    /// Puts a document into the store, past the daemon.
    pub(crate) async fn put(&self, kind: StoreKind, id: &str, value: Value) {
        self.engine.write_store(vec![StoreChange::set(kind, id, value)]).await.expect("is written");
    }

    /// Trusts the settings of the workspace as they are now.
    pub(crate) fn trust_settings(&self) {
        trust_settings(&self.options);
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    /// Asks it to stop.
    pub(crate) fn begin_stop(&mut self) {
        self.stop.take();
    }

    /// Waits until it stopped.
    pub(crate) async fn stopped(&mut self) {
        let running = self.running.take().expect("runs");
        tokio::time::timeout(LONG, running).await.expect("stops").expect("stops well");
    }
}

pub(crate) async fn send(request: RequestBuilder) -> Answered {
    let response = request.send().await.expect("is answered");
    let (status, headers) = (response.status(), response.headers().clone());
    Answered { status, headers, text: response.text().await.expect("is text") }
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("is in a directory")).expect("a directory");
    std::fs::write(path, text).expect("is written");
}

/// A pack as a .tar.gz: the paths and texts of its files.
pub(crate) fn pack_archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append_data(&mut header, path, text.as_bytes()).expect("fits");
    }
    tar.into_inner().expect("ends").finish().expect("ends")
}
