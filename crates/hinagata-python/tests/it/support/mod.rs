//! Shared by the tests of hooks: a pool with the launcher of this crate, and a fake engine.

use std::{
    future::Future,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use hinagata::{
    Code, Error, Reason, Result,
    ports::{
        Capabilities, FixedSurroundings, HookJob, Hooks as _, ModelRequest, PortFuture, QueueTime, Secrets,
        Stage,
    },
};
use hinagata_python::{HookOptions, HookPool, Launcher};
use serde_json::{Map, Value, json};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks this thread until the future is ready.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// The launcher that was built for the tests.
pub(crate) fn launcher() -> Launcher {
    Launcher::from_program(env!("CARGO_BIN_EXE_hinagata-hook-launcher"))
}

pub(crate) fn options() -> HookOptions {
    HookOptions { launcher: launcher(), ..HookOptions::default() }
}

pub(crate) fn pool() -> HookPool {
    HookPool::new(options())
}

/// Waits until exactly `count` processes have `marker` among their arguments.
///
/// It has no timeout: a leftover process makes the test hang, and the runner names the test.
pub(crate) fn processes_with(marker: &str, count: usize) {
    let has = |path: PathBuf| {
        let arguments = std::fs::read(path.join("cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|argument| argument == marker.as_bytes())
    };
    let all = || {
        std::fs::read_dir("/proc")
            .expect("there are processes")
            .flatten()
            .filter(|entry| has(entry.path()))
            .count()
    };
    while all() != count {
        thread::yield_now();
    }
}

/// A fake engine.
pub(crate) struct Engine;

impl Capabilities for Engine {
    fn render_template<'a>(
        &'a self,
        name: &'a str,
        variables: &'a Map<String, Value>,
    ) -> PortFuture<'a, Result<String>> {
        let text = format!("{name} with {}", Value::Object(variables.clone()));
        Box::pin(async move { Ok(text) })
    }

    fn get_variable<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<Option<Value>>> {
        Box::pin(async move { Ok((path == "known.name").then(|| json!({"a": [1, 2.5, null]}))) })
    }

    fn read_file<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<String>> {
        Box::pin(async move {
            match path {
                "absent" => {
                    Err(Error::new(Code::Validation, "there is no file `absent`").with_reason(Reason::File))
                }
                path => Ok(format!("content of {path}")),
            }
        })
    }

    fn llm_call<'a>(&'a self, _request: ModelRequest) -> PortFuture<'a, Result<Value>> {
        Box::pin(async { Err(Error::new(Code::Model, "no model is configured")) })
    }
}

/// A builder for jobs.
#[derive(Clone)]
pub(crate) struct Ask<'a> {
    pub(crate) source: &'a str,
    pub(crate) variables: Map<String, Value>,
    pub(crate) permissions: Vec<&'a str>,
    pub(crate) withheld: Vec<&'a str>,
    pub(crate) workspace: PathBuf,
    pub(crate) own_directory: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) time: Duration,
    pub(crate) owner: &'a str,
    pub(crate) deadline: Option<Instant>,
    pub(crate) fixed: Option<FixedSurroundings>,
    pub(crate) secrets: Arc<Secrets>,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self {
            source,
            variables: Map::new(),
            permissions: Vec::new(),
            withheld: Vec::new(),
            workspace: PathBuf::from("/no/such/workspace"),
            own_directory: PathBuf::from("/no/such/prompt"),
            root: PathBuf::from("/no/such/root"),
            time: Duration::from_secs(60),
            owner: "user_data/shared/prompts/p",
            deadline: None,
            fixed: None,
            secrets: Arc::default(),
        }
    }

    pub(crate) fn permissions(mut self, permissions: &[&'a str]) -> Self {
        self.permissions = permissions.to_vec();
        self
    }

    pub(crate) fn workspace(mut self, workspace: &Path) -> Self {
        self.workspace = workspace.to_owned();
        self
    }

    pub(crate) fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    pub(crate) fn variables(mut self, variables: Value) -> Self {
        let Value::Object(variables) = variables else { panic!("variables are a map") };
        self.variables = variables;
        self
    }

    pub(crate) async fn run(&self, pool: &HookPool, stage: Stage<'_>) -> Result<Value> {
        let mut context = Map::new();
        context.insert("workspace_path".to_owned(), self.workspace.to_string_lossy().into());
        context.insert("session".to_owned(), json!({"session_id": "s1"}));
        let job = HookJob {
            stage,
            file: "user_data/shared/prompts/p/prompt.py",
            source: self.source,
            permissions: self.permissions.clone(),
            withheld: self.withheld.clone(),
            context,
            root: &self.root,
            workspace: self.workspace.clone(),
            own_directory: Some(self.own_directory.clone()),
            path: self.own_directory.join("prompt.py"),
            owner: self.owner,
            time: self.time,
            deadline: self.deadline,
            fixed: self.fixed.clone(),
            waited: &QueueTime::default(),
            secrets: Arc::clone(&self.secrets),
            capabilities: &Engine,
        };
        pool.run_hook(job).await
    }

    pub(crate) fn pre_render(&self, pool: &HookPool) -> Result<Value> {
        block_on(self.run(pool, Stage::PreRender { variables: &self.variables }))
    }

    pub(crate) fn post_render(&self, pool: &HookPool, text: &str) -> Result<Value> {
        block_on(self.run(pool, Stage::PostRender { text, variables: &self.variables }))
    }

    pub(crate) fn provide(&self, pool: &HookPool) -> Result<Value> {
        block_on(self.run(pool, Stage::Provide { namespace: "test" }))
    }

    pub(crate) fn load(&self, pool: &HookPool) -> Result<Value> {
        block_on(self.run(pool, Stage::Load))
    }
}
