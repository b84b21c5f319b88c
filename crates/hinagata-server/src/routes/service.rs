//! Routes about the daemon itself.

use std::sync::LazyLock;

use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use serde_json::json;

use crate::{
    answer,
    body::Response,
    bulkhead::Bulkhead,
    call::{Answer, Call},
    docs, template_cache,
};

/// `GET /openapi.json`
pub(super) async fn get_openapi(call: Call) -> Answer {
    answer::json_with_etag(&call.parts, super::openapi_document())
}

/// `GET /docs`
pub(super) async fn get_docs(call: Call) -> Answer {
    static PAGE: LazyLock<String> = LazyLock::new(|| docs::docs_page(super::openapi_document()));
    Ok(html_response(docs::page_for_address(&PAGE, call.app.address)))
}

/// `GET /docs.js`
pub(super) async fn get_script(_call: Call) -> Answer {
    Ok(asset_response("text/javascript; charset=utf-8", docs::SCRIPT))
}

/// `GET /docs.css`
pub(super) async fn get_style(_call: Call) -> Answer {
    Ok(asset_response("text/css; charset=utf-8", docs::STYLE))
}

/// `GET /`
#[cfg(not(feature = "page"))]
pub(super) async fn get_start_page(call: Call) -> Answer {
    let app = &call.app;
    Ok(html_response(docs::start_page(super::openapi_document(), app.address, app.access.has_keys())))
}

fn html_response(page: String) -> Response {
    let mut response = answer::bytes_response(StatusCode::OK, "text/html; charset=utf-8", Bytes::from(page));
    let headers = response.headers_mut();
    let policy = HeaderValue::from_static(docs::CONTENT_SECURITY_POLICY);
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn asset_response(media: &'static str, text: &'static str) -> Response {
    let mut response = answer::bytes_response(StatusCode::OK, media, Bytes::from_static(text.as_bytes()));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// `GET /healthz`: callers that may read also see the Python sandbox.
pub(super) async fn get_health(call: Call) -> Answer {
    let mut health = json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")});
    if call.can_read() {
        health["sandbox"] = call.app.describe_sandbox().await.unwrap_or_default();
    }
    answer::json_response(&health)
}

/// `GET /readyz`: a daemon whose store is unavailable serves the last snapshot and stays ready. A daemon that never saw
/// its store, or that is stopping, is not ready.
pub(super) async fn get_readiness(call: Call) -> Answer {
    let app = &call.app;
    let store = app.engine.store();
    let is_up = store.as_ref().is_none_or(|store| store.health.is_up());
    let was_read = store.as_ref().is_none_or(|store| !store.health.is_unread);
    let full = app.full_parts();
    let (status, word) = match () {
        () if app.is_stopping() => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        () if is_up && !full.is_empty() => (StatusCode::OK, "busy"),
        () if is_up => (StatusCode::OK, "ready"),
        () if was_read => (StatusCode::OK, "degraded"),
        () => (StatusCode::SERVICE_UNAVAILABLE, "waiting"),
    };
    let since = store
        .as_ref()
        .and_then(|store| store.health.outage.as_ref())
        .map(|(since, _)| hinagata::format_utc(*since));
    answer::json_with_status(
        status,
        &json!({
            "status": word,
            "version": env!("CARGO_PKG_VERSION"),
            "full": full,
            "store": {
                "up": is_up,
                "since": since,
                "reason": store.as_ref().and_then(|store| store.health.reason()),
                "freshness": store.as_ref().map(|store| store.health.freshness.as_str()),
            },
        }),
    )
}

/// `GET /metrics`: the counters cover all callers and name tools and models, so restricted keys are refused.
pub(super) async fn get_metrics(call: Call) -> Answer {
    call.require_unrestricted()?;
    let app = &call.app;
    if let Some(store) = app.engine.store() {
        metrics::gauge!("hinagata_store_up").set(if store.health.is_up() { 1.0 } else { 0.0 });
        for kind in hinagata::store::StoreKind::ALL {
            let count = u32::try_from(store.documents(kind).len()).unwrap_or(u32::MAX);
            metrics::gauge!("hinagata_store_documents", "kind" => kind.as_str()).set(count);
        }
    }
    let gauge = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    metrics::gauge!("hinagata_requests_under_way").set(gauge(app.bulkheads.iter().map(Bulkhead::used).sum()));
    for bulkhead in app.bulkheads.iter() {
        metrics::gauge!("hinagata_bulkhead_used", "bulkhead" => bulkhead.name).set(gauge(bulkhead.used()));
        metrics::gauge!("hinagata_bulkhead_limit", "bulkhead" => bulkhead.name).set(gauge(bulkhead.limit()));
    }
    template_cache::record_metrics(&app.engine.plan_cache_stats());
    metrics::gauge!("hinagata_renders_queued").set(gauge(app.render_pool.queued()));
    metrics::gauge!("hinagata_connections").set(gauge(app.connections.used()));
    metrics::gauge!("hinagata_uptime_seconds").set(app.started.elapsed().as_secs_f64());
    let text = app.metrics.render_text();
    Ok(answer::bytes_response(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", Bytes::from(text)))
}
