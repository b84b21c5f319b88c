//! What stands between a connection and the handler: who asks, how renders are made, what is written down.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use hinagata::{Reach, RenderJob, Rendered, Result, ports::PortFuture};

/// Whoever asks, and what is there for them.
#[derive(Clone)]
pub struct Viewer {
    /// Who it is, in the audit log.
    pub name: Arc<str>,
    /// Where they are, when they come over a network.
    pub from: Option<IpAddr>,
    /// Whether they may render.
    pub can_render: bool,
    /// Whether they are known by a key: what is told to them is told to nobody else then.
    pub has_key: bool,
    /// What is there for them; everything without.
    reach: Option<Arc<Reach>>,
}

impl Viewer {
    /// Whoever may see and render everything.
    #[must_use]
    pub fn for_owner() -> Self {
        Self { name: "-".into(), from: None, can_render: true, has_key: false, reach: None }
    }

    /// The same with only those prompts and shared variables that `reach` has.
    #[must_use]
    pub fn with_reach(mut self, reach: Arc<Reach>) -> Self {
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
    pub fn can_see(&self, id: &str) -> bool {
        self.reach.as_ref().is_none_or(|reach| reach.has_prompt(id))
    }

    /// Whether everything is there for them.
    #[must_use]
    pub fn can_see_all(&self) -> bool {
        self.reach.is_none()
    }
}

impl fmt::Debug for Viewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Viewer").field("name", &self.name).field("can_see_all", &self.can_see_all()).finish()
    }
}

/// Something that was asked for and is answered.
#[derive(Debug)]
pub struct RenderReport<'d> {
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
pub trait RenderBackend: Send + Sync + 'static {
    /// Renders.
    fn render_prompt(&self, job: RenderJob) -> PortFuture<'_, Result<Rendered>>;

    /// Writes down what was done.
    fn record_report(&self, viewer: &Viewer, report: &RenderReport<'_>);
}

/// The door of a process that serves one caller: renders run where they are asked for, nothing is written down.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectBackend;

impl RenderBackend for DirectBackend {
    fn render_prompt(&self, job: RenderJob) -> PortFuture<'_, Result<Rendered>> {
        Box::pin(async move { job.render().await })
    }

    fn record_report(&self, _: &Viewer, report: &RenderReport<'_>) {
        tracing::debug!(method = report.method, name = report.name, failure = report.failure, time = ?report.time, "answered");
    }
}
