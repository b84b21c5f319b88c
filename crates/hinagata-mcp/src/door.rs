//! What stands between a connection and the handler: who asks, how renders are made, what is written down.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use hinagata::{Reach, RenderJob, Rendered, Result, ports::Waiting};

/// Whoever asks, and what is there for them.
#[derive(Clone)]
pub struct Viewer {
    /// Who it is, in the audit log.
    pub name: Arc<str>,
    /// Where they are, when they come over a network.
    pub from: Option<IpAddr>,
    /// Whether they may render.
    pub renders: bool,
    /// Whether they are known by a key: what is told to them is told to nobody else then.
    pub with_key: bool,
    /// What is there for them; everything without.
    reach: Option<Arc<Reach>>,
}

impl Viewer {
    /// Whoever may see and render everything.
    #[must_use]
    pub fn owner() -> Self {
        Self { name: "-".into(), from: None, renders: true, with_key: false, reach: None }
    }

    /// The same with only those prompts and shared variables that `reach` has.
    #[must_use]
    pub fn within(mut self, reach: Arc<Reach>) -> Self {
        self.reach = Some(reach);
        self
    }

    /// What is there for them; `None` for everything.
    #[must_use]
    pub fn reach(&self) -> Option<&Arc<Reach>> {
        self.reach.as_ref()
    }

    /// Whether the prompt `id` is there for them.
    #[must_use]
    pub fn sees(&self, id: &str) -> bool {
        self.reach.as_ref().is_none_or(|reach| reach.has_prompt(id))
    }

    /// Whether everything is there for them.
    #[must_use]
    pub fn sees_all(&self) -> bool {
        self.reach.is_none()
    }
}

impl fmt::Debug for Viewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Viewer").field("name", &self.name).field("sees_all", &self.sees_all()).finish()
    }
}

/// Something that was asked for and is answered.
#[derive(Debug)]
pub struct Done<'d> {
    /// The method, as `prompts/get`.
    pub method: &'static str,
    /// What it names.
    pub name: &'d str,
    /// Whether a prompt was to be rendered for it.
    pub renders: bool,
    /// The code of the failure, where it failed.
    pub failure: Option<i32>,
    /// How long it took.
    pub time: Duration,
}

/// How requests come in.
pub trait Door: Send + Sync + 'static {
    /// Renders.
    fn render(&self, job: RenderJob) -> Waiting<'_, Result<Rendered>>;

    /// Writes down what was done.
    fn done(&self, viewer: &Viewer, done: &Done<'_>);
}

/// The door of a process that serves one caller: renders run where they are asked for, nothing is written down.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainDoor;

impl Door for PlainDoor {
    fn render(&self, job: RenderJob) -> Waiting<'_, Result<Rendered>> {
        Box::pin(async move { job.render().await })
    }

    fn done(&self, _: &Viewer, done: &Done<'_>) {
        tracing::debug!(method = done.method, name = done.name, failure = done.failure, time = ?done.time, "answered");
    }
}
