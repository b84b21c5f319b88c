//! A workspace, a server for it, and clients.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hinagata::{
    Engine, Settings,
    settings::{SettingsSources, UserConfig},
    watch::Watcher,
};
use hinagata_mcp::{
    DirectBackend, Exposure, Mcp, McpOptions, PackedProject, ProjectSource, RenderBackend, Resources, Viewer,
};
use rmcp::{
    ClientHandler, ClientServiceExt as _, RoleClient, ServiceError, ServiceExt as _,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData,
        GetPromptRequestParams, GetPromptResult, Implementation, ProtocolVersion,
    },
    service::{ClientLifecycleMode, NotificationContext, RequestContext, RunningService},
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Far longer than anything takes. Only a failing test waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The eras of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28: without sessions.
    Modern,
    /// 2025-11-25 and earlier.
    Legacy,
}

pub(crate) const ERAS: [Era; 2] = [Era::Modern, Era::Legacy];

/// A client that records notifications and forms, and answers forms.
#[derive(Clone)]
pub(crate) struct Told {
    /// The name of the host.
    name: String,
    notices: UnboundedSender<String>,
    forms: UnboundedSender<Value>,
    /// The answer to each form, the last one to all others. None without forms; `null` declines.
    answers: Option<Vec<Value>>,
    asked: Arc<AtomicUsize>,
    /// The revision that a client of the older era requests.
    version: ProtocolVersion,
    roots: Option<Arc<Mutex<Vec<PathBuf>>>>,
}

impl ClientHandler for Told {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = match &self.answers {
            Some(_) => ClientCapabilities::builder().enable_elicitation().build(),
            None => ClientCapabilities::default(),
        };
        capabilities.roots = self.roots.as_ref().map(|_| Default::default());
        let info = Implementation::new(&self.name, "1");
        ClientConfig::new(capabilities, info).with_protocol_version(self.version.clone())
    }

    async fn create_elicitation(
        &self,
        form: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let _ = self.forms.send(serde_json::to_value(form).expect("is JSON"));
        let answers = self.answers.as_deref().unwrap_or_default();
        let round = self.asked.fetch_add(1, Ordering::Relaxed).min(answers.len().saturating_sub(1));
        Ok(match answers.get(round) {
            Some(Value::Null) | None => ElicitResult::new(ElicitationAction::Decline),
            Some(answer) => ElicitResult::new(ElicitationAction::Accept).with_content(answer.clone()),
        })
    }

    #[expect(deprecated, reason = "clients have roots")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        let roots = self.roots.as_ref().map(|roots| roots.lock().expect("is not poisoned").clone());
        let uri =
            |path: PathBuf| rmcp::model::Root::new(format!("file://{}", path.display()).replace(' ', "%20"));
        Ok(rmcp::model::ListRootsResult::new(roots.unwrap_or_default().into_iter().map(uri).collect()))
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.notices.send("prompts".to_owned());
    }

    async fn on_resource_updated(
        &self,
        updated: rmcp::model::ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.notices.send(updated.uri);
    }
}

/// A served workspace.
pub(crate) struct Served {
    pub(crate) root: tempfile::TempDir,
    pub(crate) mcp: Mcp,
    _watcher: Watcher,
}

/// A client connection.
pub(crate) struct Client {
    pub(crate) client: RunningService<RoleClient, Told>,
    pub(crate) notices: UnboundedReceiver<String>,
    forms: UnboundedReceiver<Value>,
}

impl Served {
    /// The workspace of the fixtures.
    pub(crate) fn fixtures() -> Self {
        Self::fixtures_and(&[])
    }

    /// The workspace of the fixtures with additional prompt files.
    pub(crate) fn fixtures_and(files: &[(&str, &str)]) -> Self {
        Self::opened(true, files, Viewer::for_owner(), false)
    }

    /// The workspace of the fixtures, with prompts as tools.
    pub(crate) fn with_tools() -> Self {
        Self::opened(true, &[], Viewer::for_owner(), true)
    }

    /// A workspace with only these prompt files, which are also tools.
    pub(crate) fn with_tools_and(files: &[(&str, &str)]) -> Self {
        Self::opened(false, files, Viewer::for_owner(), true)
    }

    /// A workspace with only these prompt files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self::opened(false, files, Viewer::for_owner(), false)
    }

    /// The workspace of the fixtures for this viewer.
    pub(crate) fn seen_by(viewer: Viewer) -> Self {
        Self::opened(true, &[], viewer, true)
    }

    /// A workspace with only these prompt files, prepared for the host that the setting names.
    pub(crate) fn for_host(files: &[(&str, &str)], host: &str) -> Self {
        Self::with_options(files, |options| options.host = Some(host.to_owned()))
    }

    /// The workspace of the fixtures, rendered by this backend.
    pub(crate) fn rendered_by(backend: Arc<dyn RenderBackend>) -> Self {
        Self::opened_with(true, &[], backend, |_| {})
    }

    /// A workspace with only these prompt files, whose clients work in a project from `project_source`.
    pub(crate) fn with_project(files: &[(&str, &str)], project_source: ProjectSource) -> Self {
        Self::with_options(files, |options| options.project_source = project_source)
    }

    /// A workspace with only these prompt files, served with changed options.
    pub(crate) fn with_options(files: &[(&str, &str)], change: impl FnOnce(&mut McpOptions)) -> Self {
        Self::opened_with(false, files, Arc::new(DirectBackend), change)
    }

    fn opened(fixtures: bool, files: &[(&str, &str)], viewer: Viewer, tools: bool) -> Self {
        Self::opened_with(fixtures, files, Arc::new(DirectBackend), |options| {
            options.viewer = Some(viewer);
            options.tools = tools;
        })
    }

    fn opened_with(
        fixtures: bool,
        files: &[(&str, &str)],
        backend: Arc<dyn RenderBackend>,
        change: impl FnOnce(&mut McpOptions),
    ) -> Self {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(root.path().join("user_data/shared/prompts")).expect("is made");
        if fixtures {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/mcp");
            copy(&source, root.path());
        }
        for (path, text) in files {
            write(root.path(), path, text);
        }
        let settings = read_settings(root.path());
        let (resources, exposure) = read_served(&settings, root.path());
        let engine = Engine::builder(root.path())
            .with_trust(true)
            .with_project_reader(Arc::new(hinagata_agent::ProjectPacker::new(&settings, true)))
            .open();
        let project = Some(PackedProject::from_settings(&settings, root.path(), true));
        let viewer = Some(Viewer::for_owner());
        let mut options =
            McpOptions { skills: true, viewer, resources, exposure, project, ..McpOptions::default() };
        change(&mut options);
        let mcp = Mcp::new(engine.clone(), options, backend);
        let told = mcp.change_notifier();
        let watcher =
            engine.watch_files(move |_, change| told(if change.more { None } else { Some(&change.paths) }));
        Self { root, mcp, _watcher: watcher.expect("can be watched") }
    }

    /// Serves what the settings say now.
    pub(crate) fn reload_settings(&self) {
        let (resources, exposure) = read_served(&read_settings(self.root.path()), self.root.path());
        self.mcp.set_served(resources, exposure);
    }

    /// What is wrong with the resources of the settings.
    pub(crate) fn resource_problems(&self) -> Vec<String> {
        let (resources, _) = read_served(&read_settings(self.root.path()), self.root.path());
        resources.problems().iter().map(ToString::to_string).collect()
    }

    pub(crate) fn prompt_file(&self, path: &str) -> PathBuf {
        self.root.path().join("user_data/shared/prompts").join(path)
    }

    /// Writes a prompt file atomically, as editors do.
    pub(crate) fn write(&self, path: &str, text: &str) {
        write(self.root.path(), path, text);
    }

    pub(crate) async fn client(&self, era: Era) -> Client {
        self.host(era, "test").await
    }

    /// A client that works in these directories.
    pub(crate) async fn rooted(&self, era: Era, roots: &Arc<Mutex<Vec<PathBuf>>>) -> Client {
        self.connect(era, ProtocolVersion::V_2025_11_25, "test", None, Some(Arc::clone(roots))).await
    }

    /// A client that answers every form with `answer`.
    pub(crate) async fn answering(&self, era: Era, answer: Value) -> Client {
        self.host_with_forms(era, "test", vec![answer]).await
    }

    /// The client of a host without forms.
    pub(crate) async fn host(&self, era: Era, name: &str) -> Client {
        self.connect(era, ProtocolVersion::V_2025_11_25, name, None, None).await
    }

    /// The client of a host that answers each form with the next of `answers`.
    pub(crate) async fn host_with_forms(&self, era: Era, name: &str, answers: Vec<Value>) -> Client {
        self.connect(era, ProtocolVersion::V_2025_11_25, name, Some(answers), None).await
    }

    /// A client of the oldest revision.
    pub(crate) async fn old_client(&self) -> Client {
        self.connect(Era::Legacy, ProtocolVersion::V_2024_11_05, "test", None, None).await
    }

    async fn connect(
        &self,
        era: Era,
        version: ProtocolVersion,
        name: &str,
        answers: Option<Vec<Value>>,
        roots: Option<Arc<Mutex<Vec<PathBuf>>>>,
    ) -> Client {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let session = self.mcp.open_session();
        tokio::spawn(async move {
            if let Ok(running) = session.serve(tokio::io::split(ours)).await {
                let _ = running.waiting().await;
            }
        });
        let (sender, notices) = unbounded_channel();
        let mode = match era {
            Era::Modern => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
            Era::Legacy => ClientLifecycleMode::Initialize,
        };
        let (form_sender, forms) = unbounded_channel();
        let told = Told {
            name: name.to_owned(),
            notices: sender,
            forms: form_sender,
            answers,
            asked: Arc::default(),
            version,
            roots,
        };
        let client = told.serve_with_lifecycle(tokio::io::split(theirs), mode).await.expect("connects");
        Client { client, notices, forms }
    }
}

impl Client {
    pub(crate) async fn get(&self, name: &str, arguments: Value) -> Result<GetPromptResult, ErrorData> {
        let mut request = GetPromptRequestParams::new(name);
        request.arguments = arguments.as_object().cloned();
        self.client.get_prompt(request).await.map_err(refused)
    }

    /// The text of the first message.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        let got = self.get(name, arguments).await.expect("can be got");
        got.messages[0].content.as_text().expect("is a text").text.clone()
    }

    /// The forms that were shown since the last call.
    pub(crate) fn forms(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.forms.try_recv().ok()).collect()
    }

    /// The entry of a prompt in the list, as JSON.
    pub(crate) async fn entry(&self, name: &str) -> Value {
        let list = self.client.list_all_prompts().await.expect("lists");
        let found = list.into_iter().find(|prompt| prompt.name == name).expect("is listed");
        serde_json::to_value(found).expect("is JSON")
    }

    /// Waits for the notification `wanted`.
    pub(crate) async fn told(&mut self, wanted: &str) {
        let waiting = async {
            while let Some(notice) = self.notices.recv().await {
                if notice == wanted {
                    return;
                }
            }
            panic!("the connection ended");
        };
        tokio::time::timeout(LONG, waiting).await.unwrap_or_else(|_| panic!("nobody told `{wanted}`"));
    }
}

fn read_settings(root: &Path) -> Settings {
    let nobody = UserConfig::find(|_| None);
    let sources = SettingsSources::read(root, &nobody).expect("settings can be read");
    Settings::resolve(&sources, true).expect("settings are fine")
}

fn read_served(settings: &Settings, root: &Path) -> (Resources, Exposure) {
    let exposure = Exposure::from_settings(settings).expect("patterns are fine");
    (Resources::from_settings(settings, root, true), exposure)
}

/// The error of the server.
pub(crate) fn refused(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(error) => error,
        other => panic!("{other}"),
    }
}

pub(crate) fn arguments(pairs: &[(&str, &str)]) -> Value {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join("user_data/shared/prompts").join(path);
    std::fs::create_dir_all(path.parent().expect("has one")).expect("is made");
    let beside = root.join("beside");
    std::fs::write(&beside, text).expect("is written");
    std::fs::rename(beside, path).expect("is moved");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("is made");
    for entry in std::fs::read_dir(from).expect("is there") {
        let entry = entry.expect("is read");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("is known").is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("is copied");
        }
    }
}
