//! What the protocol needs from its host: who calls, how a prompt is rendered, and what is recorded.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use hinagata::{Reach, RenderJob, Rendered, Result, ports::PortFuture};
use hinagata_host::{Audit, AuditEntry};

use crate::quick_prompts::QuickPrompts;

/// A caller and what is visible to it.
#[derive(Clone)]
pub struct Viewer {
    /// The name of the caller in the audit log.
    pub name: Arc<str>,
    /// The address of the caller, if it connects over a network.
    pub from: Option<IpAddr>,
    /// The id of the request, if the transport has one.
    pub request: Option<Arc<str>>,
    /// Whether the caller may render.
    pub can_render: bool,
    /// Whether the caller may pack files of the workspace.
    pub can_pack: bool,
    /// Whether the caller identified itself with a key. Its answers are private then.
    pub has_key: bool,
    /// What is visible to the caller, or everything.
    reach: Option<Arc<Reach>>,
}

impl Viewer {
    /// A caller who may see and render everything.
    #[must_use]
    pub fn for_owner() -> Self {
        Self {
            name: "-".into(),
            from: None,
            request: None,
            can_render: true,
            can_pack: true,
            has_key: false,
            reach: None,
        }
    }

    /// Restricts the caller to the prompts and shared variables in `reach`.
    #[must_use]
    pub fn with_reach(mut self, reach: Arc<Reach>) -> Self {
        self.reach = Some(reach);
        self
    }

    /// What is visible to the caller, or `None` for everything.
    #[must_use]
    pub fn reach(&self) -> Option<&Arc<Reach>> {
        self.reach.as_ref()
    }

    /// Whether the prompt `id` is visible to the caller.
    #[must_use]
    pub fn can_see(&self, id: &str) -> bool {
        self.reach.as_ref().is_none_or(|reach| reach.has_prompt(id))
    }

    /// Whether everything is visible to the caller.
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

/// A request that was answered.
#[derive(Debug)]
pub struct RenderReport<'d> {
    /// The method, such as `prompts/get`.
    pub method: &'static str,
    /// The name or URI in the request.
    pub name: &'d str,
    /// Whether the request renders a prompt.
    pub renders: bool,
    /// The error code, if the request failed.
    pub failure: Option<i32>,
    /// How long the request took.
    pub time: Duration,
}

impl RenderReport<'_> {
    /// The line of the audit log. Requests that render nothing have none.
    #[must_use]
    pub fn audit_entry(&self, viewer: &Viewer) -> Option<AuditEntry> {
        self.renders.then(|| AuditEntry {
            at: SystemTime::now(),
            request: viewer.request.clone(),
            who: Arc::clone(&viewer.name),
            from: viewer.from.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            method: "MCP",
            route: self.method,
            names: vec![("id", self.name.to_owned())],
            model: None,
            status: http_status(self.failure),
            micros: u64::try_from(self.time.as_micros()).unwrap_or(u64::MAX),
        })
    }
}

/// The HTTP status for a JSON-RPC error code.
fn http_status(failure: Option<i32>) -> u16 {
    match failure {
        None => 200,
        Some(-32603) => 500,
        Some(-32600) => 403,
        Some(-32000) => 429,
        Some(_) => 400,
    }
}

/// Renders prompts and records requests for the protocol.
pub trait RenderBackend: Send + Sync + 'static {
    /// Renders a prompt.
    fn render_prompt(&self, job: RenderJob) -> PortFuture<'_, Result<Rendered>>;

    /// Counts a request of the viewer.
    ///
    /// # Errors
    /// The seconds to wait, if it sends too many.
    fn check_rate(&self, _viewer: &Viewer) -> Result<(), u32> {
        Ok(())
    }

    /// Records an answered request.
    fn record_report(&self, viewer: &Viewer, report: &RenderReport<'_>);
}

/// The backend of a process that serves one caller: it renders in place and records nothing.
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

/// The backend of a process that serves one caller and records its renders in the audit log. Other messages are handled while
/// a prompt renders that is not known to be quick, also by a runtime with one worker thread.
pub struct AuditedBackend {
    audit: RwLock<Option<Audit>>,
    quick: QuickPrompts,
}

impl AuditedBackend {
    /// Records renders in `audit`.
    #[must_use]
    pub fn new(audit: Audit) -> Self {
        Self { audit: RwLock::new(Some(audit)), quick: QuickPrompts::default() }
    }

    /// Writes the remaining lines. Later requests are not recorded.
    pub fn close_audit(&self) {
        drop(self.audit.write().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl RenderBackend for AuditedBackend {
    fn render_prompt(&self, job: RenderJob) -> PortFuture<'_, Result<Rendered>> {
        Box::pin(async move { self.quick.render_prompt(&job).await })
    }

    fn record_report(&self, viewer: &Viewer, report: &RenderReport<'_>) {
        DirectBackend.record_report(viewer, report);
        let audit = self.audit.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(audit) = audit.as_ref().filter(|audit| audit.is_enabled())
            && let Some(entry) = report.audit_entry(viewer)
        {
            audit.add_entry(entry);
        }
    }
}
