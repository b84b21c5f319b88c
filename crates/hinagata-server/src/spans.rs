//! Spans of requests and renders, for whoever collects traces. While nobody does, none is made.

use std::sync::Arc;

use hinagata::Rendered;
use hinagata_llm::SPANS;
use hyper::HeaderMap;
use tracing::{
    Span,
    field::{Empty, display},
};

use crate::route::RouteSpec;

/// Ties the span of a request to the trace that its headers name.
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

/// Writes down how a request was answered.
pub(crate) fn record_status(span: &Span, status: u16) {
    if span.is_disabled() {
        return;
    }
    span.record("http.response.status_code", status);
    if status >= 500 {
        span.record("otel.status_code", "ERROR");
    }
}

/// The span of a render, inside that of its request.
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

/// Writes down what was rendered: in its own span, and in that of the request around it. Values are in the trace of the
/// render, where secret ones are hidden, if they were asked for.
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
