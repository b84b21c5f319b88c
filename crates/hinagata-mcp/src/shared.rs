//! What all connections share: the public state, kept in step with the workspace, and what is made of it.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use hinagata::{Code, Engine, Error, RenderJob, Rendered, Result, watch::Watcher};
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
use tokio_util::sync::CancellationToken;

use crate::{
    door::{Done, Door, Viewer},
    failure::{of_engine, shown},
    names::with_version,
    notices::{Notice, WAITING},
    prompt::PublicPrompt,
    resources::{Resources, Source, embedded_content, prompt_source, prompt_uri},
    state::{State, Touched},
};

/// Changes of so long are one: files are gathered before they are told, and come here late enough as it is.
const GATHERED: Duration = Duration::from_millis(50);

/// Most paths of changes that are remembered one by one.
const MOST_PATHS: usize = 1_000;

/// How prompts are served.
#[derive(Debug, Default)]
pub struct McpOptions {
    /// Whether prompts are tools too, for clients without prompts.
    pub tools: bool,
    /// Who asks where a request does not say; nobody is served then without.
    pub viewer: Option<Viewer>,
    /// The resources that the settings declare.
    pub resources: Resources,
}

/// What all connections share. Cheap to clone.
#[derive(Clone)]
pub struct Mcp(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    engine: Engine,
    pub(crate) door: Arc<dyn Door>,
    pub(crate) options: McpOptions,
    pub(crate) config: ServerConfig,
    state: ArcSwap<State>,
    notices: broadcast::Sender<Arc<Notice>>,
    touched: Mutex<Touched>,
    wake: Arc<Notify>,
    /// Makes the next state whenever something changed.
    follower: OnceLock<JoinHandle<()>>,
    /// Tells of changed files of resources for as long as it lives.
    watcher: OnceLock<Watcher>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(follower) = self.follower.get() {
            follower.abort();
        }
    }
}

impl Mcp {
    /// Serves the prompts of `engine`. Whoever opens it tells it of changes, with [`Mcp::changed`].
    ///
    /// It has to be called inside of a tokio runtime.
    #[must_use]
    pub fn new(engine: Engine, options: McpOptions, door: Arc<dyn Door>) -> Self {
        let (notices, _) = broadcast::channel(WAITING);
        let wake = Arc::new(Notify::new());
        let inner = Arc::new(Inner {
            config: config(options.tools),
            state: ArcSwap::from_pointee(State::new(&engine)),
            notices,
            touched: Mutex::default(),
            wake: Arc::clone(&wake),
            follower: OnceLock::new(),
            watcher: OnceLock::new(),
            engine,
            door,
            options,
        });
        let _ = inner.follower.set(tokio::spawn(follow(Arc::downgrade(&inner), wake)));
        let files = inner.options.resources.files();
        if !files.is_empty() {
            match watch(&inner, files) {
                Ok(watcher) => drop(inner.watcher.set(watcher)),
                Err(error) => tracing::warn!(%error, "files of resources are not watched"),
            }
        }
        Self(inner)
    }

    /// Tells that files changed, as absolute paths, or that anything may have. It can be called on any thread, and comes
    /// back at once.
    pub fn changed(&self, paths: Option<&[PathBuf]>) {
        self.0.changed(paths);
    }

    /// A way to tell of changes that does not keep everything alive.
    pub fn teller(&self) -> impl Fn(Option<&[PathBuf]>) + Send + Sync + use<> {
        let inner = Arc::downgrade(&self.0);
        move |paths| {
            if let Some(inner) = inner.upgrade() {
                inner.changed(paths);
            }
        }
    }
}

fn config(tools: bool) -> ServerConfig {
    let capabilities = ServerCapabilities::builder()
        .enable_prompts()
        .enable_prompts_list_changed()
        .enable_resources()
        .enable_resources_list_changed()
        .enable_resources_subscribe()
        .enable_completions();
    let capabilities = match tools {
        true => capabilities.enable_tools().enable_tool_list_changed().build(),
        false => capabilities.build(),
    };
    let server = Implementation::new("hinagata", env!("CARGO_PKG_VERSION")).with_title("Hinagata");
    ServerConfig::new(capabilities).with_server_info(server).with_instructions(
        "Prompts of a workspace. Arguments are texts; lists and objects are written as JSON.",
    )
}

/// Makes the next state whenever something changed, for as long as somebody serves.
async fn follow(inner: Weak<Inner>, wake: Arc<Notify>) {
    loop {
        wake.notified().await;
        tokio::time::sleep(GATHERED).await;
        let Some(inner) = inner.upgrade() else { return };
        // Files are read for it.
        let _ = tokio::task::spawn_blocking(move || inner.advance()).await;
    }
}

fn watch(inner: &Arc<Inner>, files: Vec<(PathBuf, String)>) -> Result<Watcher> {
    let weak = Arc::downgrade(inner);
    let places: Vec<PathBuf> = files.iter().map(|(file, _)| file.clone()).collect();
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    Watcher::new(places, move |change| {
        let Some(inner) = weak.upgrade() else { return };
        let changed = |file: &PathBuf| {
            change.more || change.paths.iter().any(|path| *path == *file || *path == real(file))
        };
        let updated: Vec<String> =
            files.iter().filter(|(file, _)| changed(file)).map(|(_, uri)| uri.clone()).collect();
        inner.tell(Notice { updated, ..Notice::default() });
    })
}

impl Inner {
    fn changed(&self, paths: Option<&[PathBuf]>) {
        let root = self.engine.root();
        let real = root.canonicalize().unwrap_or_else(|_| root.clone());
        let from_root = |path: &PathBuf| {
            let inner = path.strip_prefix(&real).or_else(|_| path.strip_prefix(&root)).ok();
            inner.and_then(|inner| inner.to_str()).map(str::to_owned)
        };
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        let known: Option<Vec<String>> = paths.and_then(|paths| paths.iter().map(from_root).collect());
        match known {
            Some(known) if touched.paths.len() + known.len() <= MOST_PATHS => touched.paths.extend(known),
            _ => touched.anything = true,
        }
        drop(touched);
        self.wake.notify_one();
    }

    /// Makes the next state, and tells what is different.
    fn advance(&self) {
        let touched = std::mem::take(&mut *self.touched.lock().unwrap_or_else(PoisonError::into_inner));
        let before = self.state.load_full();
        let next = Arc::new(before.after(&self.engine, &touched));
        self.state.store(Arc::clone(&next));
        let (Some(old), Some(new)) = (before.made_list(), next.made_list()) else {
            // Somebody listens already whose list was not read yet: there is nothing to compare with.
            if self.notices.receiver_count() > 0 {
                self.tell(Notice { anything: true, ..Notice::default() });
            }
            return;
        };
        let uri = |id: String| {
            let prompt = new.prompts.iter().find(|prompt| prompt.id == id)?;
            Some((id, prompt_uri(prompt)))
        };
        let rewritten = new.rewritten(old).into_iter().filter_map(uri).collect();
        self.tell(Notice { listed: new.difference(old), rewritten, ..Notice::default() });
    }

    fn tell(&self, notice: Notice) {
        if !notice.is_empty() {
            // Without listeners nobody needs to know.
            let _ = self.notices.send(Arc::new(notice));
        }
    }

    /// The state now, as it is for the viewer.
    pub(crate) fn state(&self, viewer: &Viewer) -> Arc<State> {
        let state = self.state.load_full();
        match viewer.reach() {
            None => state,
            Some(reach) => state.within(reach),
        }
    }

    /// The state now, as it is for the viewer, with its list, which may have to be read first.
    pub(crate) async fn listed(self: &Arc<Self>, viewer: &Viewer) -> Arc<State> {
        self.with_list(self.state(viewer)).await
    }

    /// The state now, whoever asks, with its list: changes are found by it.
    pub(crate) async fn listed_all(self: &Arc<Self>) {
        self.with_list(self.state.load_full()).await;
    }

    async fn with_list(self: &Arc<Self>, state: Arc<State>) -> Arc<State> {
        if state.made_list().is_none() {
            let reading = Arc::clone(&state);
            let _ = tokio::task::spawn_blocking(move || reading.list().prompts.len()).await;
        }
        state
    }

    /// What changes from now on.
    pub(crate) fn listen(&self) -> Receiver<Arc<Notice>> {
        self.notices.subscribe()
    }

    /// Renders a prompt that was asked for as `asked`; where a part that it includes broke, as it was before.
    pub(crate) async fn render(
        &self,
        state: &State,
        (asked, prompt): (&str, &PublicPrompt),
        variables: Map<String, Value>,
    ) -> Result<Rendered, ErrorData> {
        let engine = prompt.engine.as_ref().unwrap_or(&state.engine);
        let again = state.before().map(|before| (before, variables.clone()));
        // A name of the vocabulary is told what is wrong with the vocabulary.
        let asked = with_version(asked).0;
        let is_same = engine.catalog().resolve_id(asked).is_ok_and(|id| id.as_str() == prompt.id);
        let name = if is_same { asked } else { prompt.id.as_str() };
        let failed = match self.render_in(engine, name, variables).await {
            Ok(rendered) => return Ok(rendered),
            Err(error) => error,
        };
        if let (true, Some((before, variables))) = (is_broken(&failed), again)
            && let Ok(rendered) = self.render_in(before, &prompt.id, variables).await
        {
            tracing::warn!(
                prompt = prompt.id,
                error = failed.message(),
                "a part is broken; its last good state serves"
            );
            state.lean();
            return Ok(rendered);
        }
        Err(of_engine(&failed))
    }

    async fn render_in(
        &self,
        engine: &Engine,
        prompt: &str,
        variables: Map<String, Value>,
    ) -> Result<Rendered> {
        self.door.render(RenderJob { variables, ..RenderJob::new(engine.clone(), prompt) }).await
    }

    /// Makes an answer, if the viewer may have it and unless the client cancels it, and has it written down. `renders` is
    /// whether a prompt is rendered for it, by whatever name it goes. What is under way when the client cancels is dropped,
    /// and so ends: renders, their hooks and their tools.
    pub(crate) async fn answer<T>(
        &self,
        viewer: &Viewer,
        (method, name, renders): (&'static str, &str, bool),
        cancelled: &CancellationToken,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        let started = Instant::now();
        let allowed = async {
            match renders && !viewer.renders {
                true => Err(ErrorData::invalid_request("this key does not allow `render`", None)),
                false => work.await,
            }
        };
        let answer = tokio::select! {
            answer = allowed => answer,
            () = cancelled.cancelled() => Err(ErrorData::internal_error("the request was cancelled", None)),
        };
        let failure = answer.as_ref().err().map(|error| error.code.0);
        self.door
            .done(viewer, &Done { method, name: &shown(name), renders, failure, time: started.elapsed() });
        answer
    }

    /// Whether reading the resource at `uri` renders a prompt.
    pub(crate) fn reading_renders(&self, uri: &str) -> bool {
        let declared = || self.options.resources.find(uri);
        !uri.starts_with(SOURCES)
            && declared().is_some_and(|(declared, _)| matches!(declared.content, Source::Prompt(_)))
    }

    /// Whether the resource at `uri` is there for the viewer; nothing is rendered.
    pub(crate) async fn check_resource(
        self: &Arc<Self>,
        viewer: &Viewer,
        uri: &str,
    ) -> Result<(), ErrorData> {
        match self.options.resources.find(uri).map(|(declared, _)| &declared.content) {
            Some(Source::Prompt(name)) if self.reading_renders(uri) => {
                self.state(viewer).find(name, viewer).map(|_| ()).map_err(|_| no_resource(uri))
            }
            _ => self.read(viewer, uri).await.map(|_| ()),
        }
    }

    /// The contents of the resource at `uri`.
    pub(crate) async fn read(
        self: &Arc<Self>,
        viewer: &Viewer,
        uri: &str,
    ) -> Result<Vec<ResourceContents>, ErrorData> {
        let missing = || no_resource(uri);
        if let Some(name) = uri.strip_prefix(SOURCES) {
            let name = name.split('#').next().unwrap_or(name);
            let state = self.state(viewer);
            return state.find(name, viewer).map(|prompt| prompt_source(&prompt)).map_err(|_| missing());
        }
        if let Some((declared, values)) = self.options.resources.find(uri) {
            if let Source::Prompt(name) = &declared.content {
                let state = self.state(viewer);
                let prompt = state.find(name, viewer).map_err(|_| missing())?;
                let variables = values.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
                let variables = crate::arguments::variables(&prompt, Some(&variables))?;
                let rendered = self.render(&state, (name, &prompt), variables).await?;
                return Ok(vec![declared.of_prompt(rendered, uri)]);
            }
            if !viewer.sees_all() {
                return Err(missing());
            }
            let (inner, asked) = (Arc::clone(self), uri.to_owned());
            let read = tokio::task::spawn_blocking(move || {
                let resources = &inner.options.resources;
                let (declared, values) = resources.find(&asked)?;
                Some(resources.content(declared, &asked, &values))
            });
            return match read.await {
                Ok(Some(Ok(Some(contents)))) => Ok(vec![contents]),
                Ok(Some(Err(error))) => {
                    tracing::warn!(uri, error = error.message(), "a resource cannot be read");
                    // Which file it is, and which rule keeps it, is told where the daemon runs.
                    Err(match error.code() {
                        Code::Approval => ErrorData::invalid_params(
                            "the resource is withheld: it holds a secret, or the workspace is not trusted",
                            Some(json!({"uri": shown(uri), "code": error.code().as_str()})),
                        ),
                        _ => missing(),
                    })
                }
                _ => Err(missing()),
            };
        }
        let state = self.listed(viewer).await;
        self.embedded(&state, viewer, uri).map(|contents| vec![contents]).ok_or_else(missing)
    }

    /// The content of a resource that a prompt embeds.
    fn embedded(&self, state: &State, viewer: &Viewer, uri: &str) -> Option<ResourceContents> {
        let seen = state.list().prompts.iter().filter(|prompt| viewer.sees(&prompt.id));
        let is_it = |fields: &&Map<String, Value>| fields.get("uri").and_then(Value::as_str) == Some(uri);
        let (prompt, fields) = seen
            .filter_map(|prompt| Some((prompt, prompt.embedded().into_iter().find(is_it)?.clone())))
            .next()?;
        let engine = prompt.engine.as_ref().unwrap_or(&state.engine);
        let filled = engine.filled_part(&prompt.id, "resource", fields);
        filled.and_then(|filled| embedded_content(&filled)).ok()
    }

    /// The content of a resource that a render names by its URI alone, where it is one of ours.
    pub(crate) fn at_hand(&self, viewer: &Viewer, uri: &str) -> Option<ResourceContents> {
        let resources = &self.options.resources;
        let (declared, values) = resources.find(uri).filter(|_| viewer.sees_all())?;
        resources.content(declared, uri, &values).ok().flatten()
    }
}

/// How the URIs of the sources of prompts start.
const SOURCES: &str = "prompt://";

fn no_resource(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": shown(uri)})))
}

/// Whether something that the prompt is made of is written wrongly.
fn is_broken(error: &Error) -> bool {
    matches!(error.code(), Code::Definition | Code::RenderSyntax | Code::RenderTemplateNotFound)
}
