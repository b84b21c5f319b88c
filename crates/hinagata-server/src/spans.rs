//! Tracing spans of requests and renders. They are created only while a subscriber collects them.

use std::sync::Arc;

use hinagata::Rendered;
use hinagata_llm::SPANS;
use hyper::HeaderMap;
use tracing::{
    Span,
    field::{Empty, display},
};

use crate::route::RouteSpec;

/// Links the span of a request to the trace in its headers.
pub type LinkSpan = Arc<dyn Fn(&Span, &HeaderMap) + Send + Sync>;

/// The span of a request.
pub(crate) fn request_span(route: &RouteSpec, headers: &HeaderMap, link: Option<&LinkSpan>) -> Span {
    let span = tracing::trace_span!(
        target: SPANS,
        "request",
        otel.name = Empty,
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = route.method,
        http.route = route.path,
        http.response.status_code = Empty,
        gen_ai.prompt.name = Empty,
        gen_ai.prompt.version = Empty,
    );
    if !span.is_disabled() {
        span.record("otel.name", display(format_args!("{} {}", route.method, route.path)));
        if let Some(link) = link {
            link(&span, headers);
        }
    }
    span
}

/// Records the status of a response.
pub(crate) fn record_status(span: &Span, status: u16) {
    if span.is_disabled() {
        return;
    }
    span.record("http.response.status_code", status);
    if status >= 500 {
        span.record("otel.status_code", "ERROR");
    }
}

/// The span of a render, inside the span of its request.
pub(crate) fn render_span() -> Span {
    tracing::trace_span!(
        target: SPANS,
        "render",
        gen_ai.prompt.name = Empty,
        gen_ai.prompt.version = Empty,
        hinagata.source = Empty,
        hinagata.variables = Empty,
    )
}

/// Records what was rendered, in the span of the render and in the span of the request. The values of variables come
/// from the trace of the render, which masks secrets.
pub(crate) fn record_render(render: &Span, rendered: &Rendered) {
    for span in [render, &Span::current()] {
        span.record("gen_ai.prompt.name", rendered.prompt_id().as_str());
        span.record("gen_ai.prompt.version", rendered.version());
    }
    render.record("hinagata.source", rendered.source());
    if let Some(trace) = &rendered.trace
        && let Ok(variables) = serde_json::to_string(&trace.variables)
    {
        render.record("hinagata.variables", variables);
    }
}
