//! The Model Context Protocol in the daemon: the same keys, limits and audit log as every other route.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    sync::{Arc, Weak},
};

use hinagata::{Code, Error, Reason, RenderJob, Rendered, Result, ports::PortFuture};
use hinagata_host::OpenWorkspace;
use hinagata_mcp::{
    Exposure, Mcp, McpOptions, PackedProject, ProjectSource, RenderBackend, RenderReport, Resources, Viewer,
};
use hyper::{Method, StatusCode};

use crate::{
    access::{Caller, Scope},
    body::Body,
    call::{Answer, Call},
    gate::GRACE,
    problem::Problem,
    state::App,
};

/// Opens the MCP service, and returns the function to call on changes.
pub(crate) fn open_mcp(app: &Arc<App>) -> Result<impl Fn(Option<&[PathBuf]>) + Send + Sync + use<>> {
    let (resources, exposure) = read_served(&app.workspace)?;
    let options = McpOptions {
        tools: app.workspace.settings.is_on("mcp.tools"),
        skills: app.workspace.settings.is_on("mcp.skills"),
        viewer: None,
        resources,
        exposure,
        project: Some(PackedProject::from_settings(
            &app.workspace.settings,
            &app.engine.root(),
            app.workspace.trust.is_trusted(),
        )),
        host: app.workspace.settings.text("mcp.host").map(str::to_owned),
        project_source: app.settings.project.clone().map_or(ProjectSource::Absent, ProjectSource::Fixed),
    };
    let mcp = Mcp::new(app.engine.clone(), options, Arc::new(AppBackend(Arc::downgrade(app))));
    let changed = mcp.change_notifier();
    let _ = app.mcp.set(mcp.http_service(app.settings.max_body));
    Ok(changed)
}

/// What the settings of a workspace say about what is served.
///
/// # Errors
/// An invalid pattern in `mcp.expose`.
pub(crate) fn read_served(workspace: &OpenWorkspace) -> Result<(Resources, Exposure)> {
    let (settings, root) = (&workspace.settings, &workspace.root.path);
    let resources = Resources::from_settings(settings, root, workspace.trust.is_trusted());
    Ok((resources, Exposure::from_settings(settings)?))
}

/// `/mcp`, with every method.
pub(crate) async fn handle_mcp(mut call: Call) -> Answer {
    let app = Arc::clone(&call.app);
    let viewer = viewer_for(&call);
    call.parts.extensions.insert(viewer);
    let closed = || Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "the daemon is not ready");
    let service = app.mcp.get().ok_or_else(closed)?;
    let request = call.into_request().ok_or_else(closed)?;
    let ends = request.method() == Method::DELETE;
    let mut response = service.handle_request(request).await.map(Body::Boxed);
    // The session has ended, and clients expect 204.
    if ends && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    Ok(response)
}

/// What a caller may see and do over MCP.
fn viewer_for(Call { app, caller, notes, .. }: &Call) -> Viewer {
    let mut viewer = Viewer::for_owner();
    viewer.name = app.access.caller_name(caller);
    viewer.from = Some(notes.client);
    viewer.request = Some(notes.request_id.to_shared());
    viewer.can_render = app.access.has_scope(caller, Scope::Render);
    viewer.can_pack = app.access.has_scope(caller, Scope::Admin);
    viewer.has_key = !matches!(caller, Caller::Anonymous);
    match app.access.reach(caller) {
        None => viewer,
        Some(reach) => viewer.with_reach(Arc::clone(reach)),
    }
}

/// Renders as every other route does. The app owns the MCP service, so this reference is weak.
struct AppBackend(Weak<App>);

impl RenderBackend for AppBackend {
    fn render_prompt(&self, job: RenderJob) -> PortFuture<'_, Result<Rendered>> {
        let app = self.0.upgrade();
        Box::pin(async move {
            let app = app.ok_or_else(|| Error::new(Code::Store, "the daemon is stopping"))?;
            // MCP sessions outlive connections, so no other limit applies to their requests.
            let time = app.settings.request_timeout;
            let slot = Arc::new(app.bulkheads.enter_without_request());
            let rendered = tokio::time::timeout(time + GRACE, app.render_job(job, slot)).await;
            rendered.map(|rendered| rendered.map_err(Error::from)).unwrap_or_else(|_| {
                let message = format!("the render exceeded the time limit of {} s", time.as_secs_f64());
                Err(Error::new(Code::Deadline, message)
                    .with_reason(Reason::Deadline)
                    .with_hint("the setting `server.request_timeout` sets the limit"))
            })
        })
    }

    fn check_rate(&self, viewer: &Viewer) -> Result<(), u32> {
        let Some(app) = self.0.upgrade() else { return Ok(()) };
        let key = viewer.has_key.then_some(&viewer.name);
        app.mcp_rates.check_sender(key, viewer.from.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)))
    }

    /// Reads are recorded only where they render.
    fn record_report(&self, viewer: &Viewer, report: &RenderReport<'_>) {
        let Some(app) = self.0.upgrade().filter(|app| app.audit.is_enabled()) else { return };
        if let Some(entry) = report.audit_entry(viewer) {
            app.audit.add_entry(entry);
        }
    }
}
