//! The state shared by all connections: the public prompts, which follow the workspace.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use hinagata::{Code, Context, Engine, Error, LocalPlaces, Reason, RenderJob, Rendered, Result, Strictness};
use rmcp::{
    ErrorData,
    model::{Implementation, ResourceContents, ServerCapabilities, ServerConfig},
};
use serde_json::{Map, Value, json};
use tokio::{
    sync::{
        Notify,
        broadcast::{self, Receiver},
    },
    task::JoinHandle,
};

use crate::{
    backend::{RenderBackend, RenderReport, Viewer},
    declared_resource::ResourceSource,
    exposure::Exposure,
    failure::{BUSY, from_engine_error, truncate_for_display},
    host::HostProfile,
    messages::{LocalResource, with_warnings},
    names::split_version,
    notices::{ChangeNotice, NOTICE_CAPACITY},
    pack_tool::PackedProject,
    parameters::is_free_text,
    placeholder::Placeholders,
    project::ProjectSource,
    prompt::PublicPrompt,
    resources::{Resources, embedded_content, prompt_source, prompt_uri},
    skill::EXTENSION,
    state::{ChangedPaths, PublicState},
    watched::WatchedResources,
};

/// Changes within this time are handled together.
const GATHER_TIME: Duration = Duration::from_millis(50);

/// Maximum changed paths to track individually.
const MAX_PATHS: usize = 1_000;

/// Options for serving prompts.
#[derive(Debug, Default)]
pub struct McpOptions {
    /// Whether prompts are also served as tools, for clients without prompts.
    pub tools: bool,
    /// Whether prompts are also served as Agent Skills.
    pub skills: bool,
    /// The caller of requests that do not name one. Without it, such requests are rejected.
    pub viewer: Option<Viewer>,
    /// The resources declared in the settings.
    pub resources: Resources,
    /// Which prompts are served.
    pub exposure: Exposure,
    /// The project whose files the tool `pack_context` packs, for callers who may see all of it.
    pub project: Option<PackedProject>,
    /// The host for which prompts are prepared, as in the setting `mcp.host`. Without it, the name of the client decides.
    pub host: Option<String>,
    /// Where the project directory comes from, beneath which callers name files.
    pub project_source: ProjectSource,
}

/// The state shared by all connections. Cheap to clone.
#[derive(Clone)]
pub struct Mcp(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    engine: Engine,
    pub(crate) backend: Arc<dyn RenderBackend>,
    pub(crate) options: McpOptions,
    pub(crate) config: ServerConfig,
    /// The profile of all clients, if the settings name one.
    pub(crate) host_profile: Option<&'static HostProfile>,
    /// Directories that callers do not see.
    pub(crate) places: LocalPlaces,
    resources: ArcSwap<Resources>,
    exposure: ArcSwap<Exposure>,
    state: ArcSwap<PublicState>,
    notices: broadcast::Sender<Arc<ChangeNotice>>,
    touched: Mutex<ChangedPaths>,
    wake: Arc<Notify>,
    /// Updates the state after changes.
    follower: OnceLock<JoinHandle<()>>,
    /// What subscribed resources depend on.
    pub(crate) watched: Arc<WatchedResources>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(follower) = self.follower.get() {
            follower.abort();
        }
    }
}

impl Mcp {
    /// Serves the prompts of `engine`. The owner must report changes with [`Mcp::notify_change`].
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn new(engine: Engine, mut options: McpOptions, backend: Arc<dyn RenderBackend>) -> Self {
        let exposure = Arc::new(std::mem::take(&mut options.exposure));
        let resources = std::mem::take(&mut options.resources);
        let (notices, _) = broadcast::channel(NOTICE_CAPACITY);
        let wake = Arc::new(Notify::new());
        let inner = Arc::new(Shared {
            config: server_config(&options),
            host_profile: options.host.as_deref().and_then(HostProfile::from_name),
            places: engine.local_places(),
            state: ArcSwap::from_pointee(PublicState::new(&engine, &exposure)),
            resources: ArcSwap::from_pointee(Resources::default()),
            exposure: ArcSwap::new(exposure),
            notices,
            touched: Mutex::default(),
            wake: Arc::clone(&wake),
            follower: OnceLock::new(),
            watched: Arc::default(),
            engine,
            backend,
            options,
        });
        let _ = inner.follower.set(tokio::spawn(follow_changes(Arc::downgrade(&inner), wake)));
        inner.set_resources(resources);
        Self(inner)
    }

    /// Serves other resources and prompts from now on, after the settings changed. Clients are notified.
    pub fn set_served(&self, resources: Resources, exposure: Exposure) {
        self.0.exposure.store(Arc::new(exposure));
        self.0.set_resources(resources);
        self.0.send_notice(ChangeNotice { anything: true, ..ChangeNotice::default() });
        self.0.notify_change(None);
    }

    /// Reports that these files changed, as absolute paths, or that anything may have changed. It can be called on any
    /// thread and returns immediately.
    pub fn notify_change(&self, paths: Option<&[PathBuf]>) {
        self.0.notify_change(paths);
    }

    /// A callback for reporting changes that does not keep the state alive.
    pub fn change_notifier(&self) -> impl Fn(Option<&[PathBuf]>) + Send + Sync + use<> {
        let inner = Arc::downgrade(&self.0);
        move |paths| {
            if let Some(inner) = inner.upgrade() {
                inner.notify_change(paths);
            }
        }
    }
}

fn server_config(options: &McpOptions) -> ServerConfig {
    let capabilities = ServerCapabilities::builder()
        .enable_prompts()
        .enable_prompts_list_changed()
        .enable_resources()
        .enable_resources_list_changed()
        .enable_resources_subscribe()
        .enable_completions();
    let mut capabilities = if options.tools {
        capabilities.enable_tools().enable_tool_list_changed().build()
    } else {
        capabilities.build()
    };
    if options.skills {
        capabilities.extensions.get_or_insert_default().insert(EXTENSION.to_owned(), Map::new());
    }
    let server = Implementation::new("hinagata", env!("CARGO_PKG_VERSION")).with_title("Hinagata");
    ServerConfig::new(capabilities)
        .with_server_info(server)
        .with_instructions("Prompts of a workspace. Arguments are strings; write lists and objects as JSON.")
}

/// Updates the state after each change until the shared state is dropped.
async fn follow_changes(inner: Weak<Shared>, wake: Arc<Notify>) {
    loop {
        wake.notified().await;
        tokio::time::sleep(GATHER_TIME).await;
        let Some(inner) = inner.upgrade() else { return };
        // Updating reads files.
        let _ = tokio::task::spawn_blocking(move || inner.update_state()).await;
    }
}

impl Shared {
    /// Replaces the declared resources, and logs what is wrong with them.
    fn set_resources(&self, resources: Resources) {
        for problem in resources.problems() {
            tracing::error!(error = problem.message(), "leaving out a resource");
        }
        self.resources.store(Arc::new(resources));
    }

    /// The declared resources.
    pub(crate) fn resources(&self) -> Arc<Resources> {
        self.resources.load_full()
    }

    fn notify_change(&self, paths: Option<&[PathBuf]>) {
        let root = self.engine.root();
        let real = root.canonicalize().unwrap_or_else(|_| root.clone());
        let from_root = |path: &PathBuf| {
            let inner = path.strip_prefix(&real).or_else(|_| path.strip_prefix(&root)).ok();
            inner.and_then(|inner| inner.to_str()).map(str::to_owned)
        };
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        let known: Option<Vec<String>> = paths.and_then(|paths| paths.iter().map(from_root).collect());
        match known {
            Some(known) if touched.paths.len() + known.len() <= MAX_PATHS => touched.paths.extend(known),
            _ => touched.anything = true,
        }
        drop(touched);
        self.wake.notify_one();
    }

    /// Replaces the state and sends notices of what differs.
    fn update_state(&self) {
        let touched = std::mem::take(&mut *self.touched.lock().unwrap_or_else(PoisonError::into_inner));
        let before = self.state.load_full();
        let next = Arc::new(before.next_state(&self.engine, &self.exposure.load_full(), &touched));
        self.state.store(Arc::clone(&next));
        let affected = self.watched.changed_by_prompts(&next.engine, touched.anything);
        let (Some(old), Some(new)) = (before.loaded_list(), next.loaded_list()) else {
            // A listener is waiting and its list was never loaded, so there is nothing to compare with.
            if self.notices.receiver_count() > 0 {
                self.send_notice(ChangeNotice {
                    rewritten: affected,
                    anything: true,
                    ..ChangeNotice::default()
                });
            }
            return;
        };
        let uri = |id: String| {
            let prompt = new.prompts.iter().find(|prompt| prompt.id == id)?;
            Some((id, prompt_uri(prompt)))
        };
        let rewritten = new.changed_sources(old).into_iter().filter_map(uri).chain(affected).collect();
        self.send_notice(ChangeNotice {
            listed: new.changed_entries(old),
            rewritten,
            ..ChangeNotice::default()
        });
    }

    pub(crate) fn send_notice(&self, notice: ChangeNotice) {
        if !notice.is_empty() {
            // Sending fails only without receivers.
            let _ = self.notices.send(Arc::new(notice));
        }
    }

    /// The current state for the viewer.
    pub(crate) fn state_for(&self, viewer: &Viewer) -> Arc<PublicState> {
        let state = self.state.load_full();
        match viewer.reach() {
            None => state,
            Some(reach) => state.view_for(reach),
        }
    }

    /// The current state for the viewer, with its list loaded.
    pub(crate) async fn state_with_list(self: &Arc<Self>, viewer: &Viewer) -> Arc<PublicState> {
        self.read_list(self.state_for(viewer)).await
    }

    /// Loads the list of the current state, which later changes are compared with.
    pub(crate) async fn load_list(self: &Arc<Self>) {
        self.read_list(self.state.load_full()).await;
    }

    async fn read_list(self: &Arc<Self>, state: Arc<PublicState>) -> Arc<PublicState> {
        if state.loaded_list().is_none() {
            let reading = Arc::clone(&state);
            let _ = tokio::task::spawn_blocking(move || reading.list().prompts.len()).await;
        }
        state
    }

    /// Subscribes to changes.
    pub(crate) fn subscribe_changes(&self) -> Receiver<Arc<ChangeNotice>> {
        self.notices.subscribe()
    }

    /// Renders a prompt that was called `requested`. If an included part is broken, renders with the previous engine.
    pub(crate) async fn render_prompt(
        &self,
        state: &PublicState,
        requested: &str,
        prompt: &PublicPrompt,
        call: PromptCall,
    ) -> Result<Rendered, ErrorData> {
        let engine = prompt.engine.as_ref().unwrap_or(&state.engine);
        let again = state.previous_engine().map(|before| (before, call.clone()));
        // Keep a vocabulary name, so that a problem with the vocabulary is reported.
        let requested = split_version(requested).0;
        let is_same = engine.catalog().resolve_id(requested).is_ok_and(|id| id.as_str() == prompt.id);
        let name = if is_same { requested } else { prompt.id.as_str() };
        let failed = match self.render_with_engine(engine, name, call).await {
            Ok(rendered) => return Ok(rendered),
            Err(error) => error,
        };
        if let (true, Some((before, call))) = (is_broken(&failed), again)
            && let Ok(rendered) = self.render_with_engine(before, &prompt.id, call).await
        {
            tracing::warn!(
                prompt = prompt.id,
                place = failed.place().map(tracing::field::display),
                error = failed.message(),
                "an included template is broken; serving its last good state"
            );
            state.mark_fallback_used();
            return Ok(rendered);
        }
        Err(from_engine_error(&failed, &self.places))
    }

    /// Renders a prompt whose host inserts some values later. These values are not checked: they fit no type.
    pub(crate) async fn render_placeholders(
        &self,
        state: &PublicState,
        prompt: &PublicPrompt,
        PromptCall { variables, project }: PromptCall,
        placeholders: &Placeholders,
    ) -> Result<Rendered, ErrorData> {
        let engine = prompt.engine.as_ref().unwrap_or(&state.engine);
        let is_checked = |name: &String| {
            let declared = prompt.inherited.parameters.get(name);
            declared.is_some_and(|parameter| !is_free_text(parameter) || parameter.schema.is_some())
        };
        let strictness =
            if placeholders.names().any(is_checked) { Strictness::Lenient } else { Strictness::Strict };
        let render = async |as_uris: bool| {
            let mut job = RenderJob { strictness, ..RenderJob::new(engine.clone(), &prompt.id) };
            job.variables = variables.clone();
            job.variables.extend(placeholders.to_variables(as_uris));
            job.context.project.clone_from(&project);
            self.backend.render_prompt(job).await
        };
        let rendered = match render(false).await {
            Err(error) if error.reason() == Some(Reason::Uri) => render(true).await,
            other => other,
        };
        rendered.map_err(|error| from_engine_error(&error, &self.places))
    }

    async fn render_with_engine(
        &self,
        engine: &Engine,
        prompt: &str,
        PromptCall { variables, project }: PromptCall,
    ) -> Result<Rendered> {
        let context = Context { project, ..Context::default() };
        let job = RenderJob { variables, context, ..RenderJob::new(engine.clone(), prompt) };
        self.backend.render_prompt(job).await
    }

    /// Runs a request and records it, if the viewer may render what the request `renders`. If the client cancels it,
    /// the work is dropped with its renders, hooks and tools.
    pub(crate) async fn run_request<T>(
        &self,
        viewer: &Viewer,
        RequestSummary { method, name, renders }: RequestSummary<'_>,
        cancelled: impl Future<Output = ()>,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        let started = Instant::now();
        let allowed = async {
            if renders && !viewer.can_render {
                return Err(ErrorData::invalid_request("this key does not allow `render`", None));
            }
            self.check_rate(viewer)?;
            work.await
        };
        let answer = tokio::select! {
            answer = allowed => answer,
            () = cancelled => Err(ErrorData::internal_error("the request was cancelled", None)),
        };
        let failure = answer.as_ref().err().map(|error| error.code.0);
        self.backend.record_report(
            viewer,
            &RenderReport {
                method,
                name: &truncate_for_display(name),
                renders,
                failure,
                time: started.elapsed(),
            },
        );
        answer
    }

    /// Counts a request of the viewer, if it may send one now.
    pub(crate) fn check_rate(&self, viewer: &Viewer) -> Result<(), ErrorData> {
        self.backend.check_rate(viewer).map_err(|seconds| {
            let data = json!({"code": "rate", "retry_after": seconds});
            ErrorData::new(BUSY, format!("rate limit exceeded; retry after {seconds} s"), Some(data))
        })
    }

    /// Whether reading the resource at `uri` renders a prompt.
    pub(crate) fn renders_on_read(&self, uri: &str) -> bool {
        if self.options.skills && uri.starts_with("skill://") {
            return true;
        }
        let resources = self.resources();
        let declared = || resources.find_resource(uri);
        !uri.starts_with(PROMPT_SCHEME)
            && declared().is_some_and(|(declared, _)| matches!(declared.content, ResourceSource::Prompt(_)))
    }

    /// Checks that the resource at `uri` is visible to the viewer, without rendering it.
    pub(crate) async fn check_resource(
        self: &Arc<Self>,
        viewer: &Viewer,
        uri: &str,
    ) -> Result<(), ErrorData> {
        let resources = self.resources();
        match resources.find_resource(uri).map(|(declared, _)| &declared.content) {
            Some(ResourceSource::Prompt(name)) if self.renders_on_read(uri) => self
                .state_for(viewer)
                .find_any_prompt(name, viewer)
                .map(|_| ())
                .map_err(|_| resource_not_found_error(uri)),
            _ => self.read_resource(viewer, uri, None).await.map(|_| ()),
        }
    }

    /// The contents of the resource at `uri`.
    pub(crate) async fn read_resource(
        self: &Arc<Self>,
        viewer: &Viewer,
        uri: &str,
        project: Option<PathBuf>,
    ) -> Result<Vec<ResourceContents>, ErrorData> {
        let missing = || resource_not_found_error(uri);
        if let Some(name) = uri.strip_prefix(PROMPT_SCHEME) {
            let name = name.split('#').next().unwrap_or(name);
            let state = self.state_for(viewer);
            return match state.find_prompt(name, viewer) {
                Ok(prompt) => Ok(prompt_source(&prompt)),
                Err(error) if is_hidden(&error) => Err(error),
                Err(_) => Err(missing()),
            };
        }
        if let Some(contents) = self.skill_contents(viewer, uri).await? {
            return Ok(vec![contents]);
        }
        let resources = self.resources();
        if let Some((declared, values)) = resources.find_resource(uri) {
            if let ResourceSource::Prompt(name) = &declared.content {
                let state = self.state_for(viewer);
                let prompt = state.find_any_prompt(name, viewer).map_err(|_| missing())?;
                let variables = values.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
                let variables = crate::arguments::check_arguments(&prompt, &variables)?.into_variables()?;
                let call = PromptCall { variables, project };
                let rendered = self.render_prompt(&state, name, &prompt, call).await?;
                return Ok(vec![declared.prompt_contents(rendered, uri, &self.places)]);
            }
            if !viewer.can_see_all() {
                return Err(missing());
            }
            let (inner, uri_read) = (Arc::clone(self), uri.to_owned());
            let resources = Arc::clone(&resources);
            let read = tokio::task::spawn_blocking(move || {
                let (declared, values) = resources.find_resource(&uri_read)?;
                Some(resources.read_content(declared, &uri_read, &values, &inner.places))
            });
            return match read.await {
                Ok(Some(Ok(Some(contents)))) => Ok(vec![contents]),
                Ok(Some(Err(error))) => {
                    tracing::warn!(uri, error = error.message(), "cannot read a resource");
                    // Only the server log names the file and the rule.
                    Err(match error.code() {
                        Code::Approval => ErrorData::invalid_params(
                            "the resource is withheld: it contains a secret, or the workspace is not trusted",
                            Some(json!({"uri": truncate_for_display(uri), "code": error.code().as_str()})),
                        ),
                        _ => missing(),
                    })
                }
                _ => Err(missing()),
            };
        }
        let state = self.state_with_list(viewer).await;
        self.embedded_resource(&state, viewer, uri).map(|contents| vec![contents]).ok_or_else(missing)
    }

    /// The content of a resource that a prompt embeds.
    fn embedded_resource(&self, state: &PublicState, viewer: &Viewer, uri: &str) -> Option<ResourceContents> {
        let seen = state.list().prompts.iter().filter(|prompt| viewer.can_see(&prompt.id));
        let is_it = |fields: &&Map<String, Value>| fields.get("uri").and_then(Value::as_str) == Some(uri);
        let (prompt, fields) = seen
            .filter_map(|prompt| Some((prompt, prompt.embedded_resources().into_iter().find(is_it)?.clone())))
            .next()?;
        let engine = prompt.engine.as_ref().unwrap_or(&state.engine);
        let filled = engine.filled_part(&prompt.id, "resource", fields);
        filled
            .and_then(|(filled, warnings)| {
                Ok(with_warnings(embedded_content(&filled)?, &warnings, &self.places))
            })
            .ok()
    }

    /// The declared resource that a render names by its URI alone.
    pub(crate) fn local_resource(&self, viewer: &Viewer, uri: &str) -> LocalResource {
        let resources = self.resources();
        let Some((declared, values)) = resources.find_resource(uri).filter(|_| viewer.can_see_all()) else {
            return LocalResource::Elsewhere;
        };
        if matches!(declared.content, ResourceSource::Prompt(_)) {
            return LocalResource::Elsewhere;
        }
        match resources.read_content(declared, uri, &values, &self.places) {
            Ok(Some(contents)) => LocalResource::Found(Box::new(contents)),
            Ok(None) => LocalResource::Unreadable("its file is missing"),
            Err(error) => {
                tracing::warn!(uri, error = error.message(), "cannot read a resource of a message");
                LocalResource::Unreadable(match error.code() {
                    Code::Approval => "it is withheld",
                    _ => "see the log of the server",
                })
            }
        }
    }
}

/// The arguments of a render.
#[derive(Clone, Debug)]
pub(crate) struct PromptCall {
    pub(crate) variables: Map<String, Value>,
    /// The project directory of the caller.
    pub(crate) project: Option<PathBuf>,
}

/// What a request asks for, as it is recorded.
pub(crate) struct RequestSummary<'r> {
    /// The method, such as `prompts/get`.
    pub(crate) method: &'static str,
    /// The name or URI in the request.
    pub(crate) name: &'r str,
    /// Whether the request renders a prompt.
    pub(crate) renders: bool,
}

/// The URI scheme of prompt sources.
pub(crate) const PROMPT_SCHEME: &str = "prompt://";

pub(crate) fn resource_not_found_error(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("resource not found", Some(json!({"uri": truncate_for_display(uri)})))
}

/// Whether the error says that a prompt is not served.
fn is_hidden(error: &ErrorData) -> bool {
    error.data.as_ref().is_some_and(|data| data.get("hidden").is_some())
}

/// Whether the definition of the prompt or of an included template is broken.
fn is_broken(error: &Error) -> bool {
    matches!(error.code(), Code::Definition | Code::RenderSyntax | Code::RenderTemplateNotFound)
}
