//! Shared by the tests of tools: a workspace with one prompt, and tools of a store.

use std::{fs, future::Future, net::SocketAddr, sync::Arc};

use hinagata::{
    Engine, EngineOptions, Reason, Rendered, Request, Result,
    ports::{PortFuture, Store, StoreListener},
    store::{StoreChange, StoreKind, StoreSnapshot, Stored},
};
use hinagata_tools::{ToolSettings, Toolbox};
use serde_json::Value;
use tokio::net::TcpListener;

/// Tools as documents of a store.
struct Documents(Arc<StoreSnapshot>);

impl Store for Documents {
    fn snapshot(&self) -> Arc<StoreSnapshot> {
        Arc::clone(&self.0)
    }

    fn write_changes(&self, _changes: Vec<StoreChange>) -> PortFuture<'_, Result<()>> {
        unreachable!("nothing is written")
    }

    fn subscribe(&self, _told: StoreListener) {}
}

/// A workspace whose engine has tools.
pub(crate) struct Place {
    pub(crate) engine: Engine,
    directory: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(tools: Toolbox, documents: &[(&str, Value)]) -> Self {
        Self::with_options(tools, documents, EngineOptions::default())
    }

    pub(crate) fn with_options(tools: Toolbox, documents: &[(&str, Value)], options: EngineOptions) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let stored = |(id, document): &(&str, Value)| ((*id).into(), Stored::new(*id, document.clone()));
        let tools_of_store = documents.iter().map(stored).collect();
        let snapshot = StoreSnapshot::default().with_documents(StoreKind::Tool, tools_of_store);
        let engine = Engine::builder(directory.path())
            .with_options(options)
            .with_store(Arc::new(Documents(Arc::new(snapshot))))
            .with_tools(Arc::new(tools))
            .open();
        Self { engine, directory }
    }

    /// Renders a template.
    pub(crate) fn render(&self, template: &str) -> Result<Rendered> {
        self.render_as("template.md", template)
    }

    /// Renders a Go template.
    pub(crate) fn render_go(&self, template: &str) -> Result<Rendered> {
        self.render_as("template.gotmpl", template)
    }

    fn render_as(&self, file: &str, template: &str) -> Result<Rendered> {
        let directory = self.directory.path().join("user_data/shared/prompts/p");
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("made");
        fs::write(directory.join(file), template).expect("written");
        self.engine.reload();
        self.engine.explain_blocking(&Request::new("p"))
    }

    /// Renders a template without warnings.
    pub(crate) fn text(&self, template: &str) -> String {
        let rendered = self.render(template).expect("renders");
        assert!(rendered.warnings.is_empty(), "{:?}", rendered.warnings);
        rendered.into_text()
    }

    /// Renders a template in which a call fails, and returns the reason.
    pub(crate) fn failed(&self, template: &str) -> (String, String) {
        let rendered = self.render(template).expect("renders");
        let [warning] = rendered.warnings.as_slice() else { panic!("{:?}", rendered.warnings) };
        let reason = warning.error.reason().map_or("", Reason::as_str).to_owned();
        (rendered.text(), reason)
    }
}

/// Settings that allow these hosts.
pub(crate) fn allowing(hosts: &[&str]) -> ToolSettings {
    let mut settings = ToolSettings::default();
    hosts.iter().for_each(|host| settings.hosts.add_entry(host).expect("is a host"));
    settings
}

/// A server on its own threads, at a local address, until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(run: impl FnOnce(TcpListener) -> F) -> Self {
        Self::start_at("127.0.0.1:0".parse().expect("is an address"), run)
    }

    /// As [`Server::start`], at a known address.
    pub(crate) fn start_at<F: Future<Output = ()> + Send + 'static>(
        address: SocketAddr,
        run: impl FnOnce(TcpListener) -> F,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("threads");
        let listener = runtime.block_on(TcpListener::bind(address)).expect("a port");
        let address = listener.local_addr().expect("has an address");
        runtime.spawn(run(listener));
        Self { address, _runtime: runtime }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}
