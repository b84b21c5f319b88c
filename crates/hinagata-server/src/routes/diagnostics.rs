//! Reporting what is wrong with prompts and documents.

use std::sync::Arc;

use hinagata::Diagnostic;
use hyper::StatusCode;
use serde_json::Value;

use crate::{
    answer,
    call::{Answer, Call},
    findings::{finding_json, list_findings, severity_name},
    problem::Problem,
};

/// `GET /api/diagnostics`
pub(super) async fn list_diagnostics(call: Call) -> Answer {
    let mut wanted = None;
    for (name, value) in call.query_pairs() {
        match (name.as_str(), value.as_str()) {
            ("severity", "error" | "warning") => wanted = Some(value),
            ("severity", _) => {
                return Err(Problem::bad_request(format!("unknown severity `{value}`"))
                    .with_hint("use `error` or `warning`"));
            }
            _ => {
                return Err(Problem::bad_request(format!("unknown query parameter `{name}`"))
                    .with_hint("known parameters: severity"));
            }
        }
    }
    let app = Arc::clone(&call.app);
    let reach = app.access.reach(&call.caller).cloned();
    let work = move || {
        let checked = app.prompt_checks.diagnostics(&app.workspace, &app.engine);
        list_findings(&app.engine, &app.store_findings, &checked, reach.as_deref())
    };
    let mut found = tokio::task::spawn_blocking(work).await.map_err(|_| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "request", "the check failed unexpectedly")
    })?;
    if call.app.access.can_see_all(&call.caller) {
        let problems =
            call.app.mcp.get().map(hinagata_mcp::HttpService::resource_problems).unwrap_or_default();
        found.extend(problems.into_iter().map(|problem| Diagnostic::error("resources", problem)));
    }
    let is_wanted = |severity| wanted.as_deref().is_none_or(|wanted| wanted == severity_name(severity));
    let mut listed: Value =
        found.iter().filter(|found| is_wanted(found.severity)).map(finding_json).collect();
    call.app.places.hide_in_value(&mut listed);
    answer::json_with_etag(&call.parts, &listed)
}
