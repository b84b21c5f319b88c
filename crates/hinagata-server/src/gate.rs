//! The gate that every request passes: origin, key, scope, rate, overload; then the handler; then the error format,
//! metrics and the audit log.

use std::{net::IpAddr, sync::Arc, time::Duration};

use hyper::{
    Method, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
    http::request::Parts,
};
use tracing::Instrument as _;

use crate::{
    access::{Caller, Scope},
    answer,
    body::Response,
    bulkhead::RequestSlot,
    call::{Answer, Call, Handler},
    metrics::Metrics,
    problem::Problem,
    record::{CallNotes, CallRecord},
    route::{ErrorFormat, PathParams, RouteSpec, TimeLimit},
    spans,
    state::App,
};

/// How much longer than its time limit a request may take. A render that reaches its own deadline reports what it
/// waited for, which says more than that the request timed out.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// The route that matches a request.
#[derive(Clone, Copy)]
pub(crate) struct MatchedRoute {
    /// Its index in the table.
    pub(crate) number: usize,
    pub(crate) spec: &'static RouteSpec,
    pub(crate) handler: Handler,
}

/// Handles a request to a route.
pub(crate) async fn handle_request(
    app: Arc<App>,
    matched: MatchedRoute,
    params: PathParams,
    (parts, body): (Parts, Incoming),
    peer: IpAddr,
    notes: Arc<CallNotes>,
) -> Response {
    let route = matched.spec;
    let record = CallRecord::new(&app, (matched.number, route), &params, &notes);
    let error_format = route.error_format.for_caller(&parts.headers);
    let origin = app.origins.allowed_origin(&parts.headers).cloned();
    let span = spans::request_span(route, &parts.headers, app.link_span.as_ref());
    let call = Call::new(Arc::clone(&app), params, (parts, body), peer, notes);
    let answer = if span.is_disabled() {
        admit_call(call, matched).await
    } else {
        admit_call(call, matched).instrument(span.clone()).await
    };
    let (mut response, problem) = match answer {
        Ok(response) => (response, None),
        // The log has the paths.
        Err(problem) => (problem.without_paths(&app.places).to_response(error_format), Some(problem)),
    };
    set_common_headers(&app, &mut response, origin);
    let status = response.status().as_u16();
    spans::record_status(&span, status);
    record.finish(status, problem.as_ref());
    response
}

/// Runs the handler if the caller has access.
async fn admit_call(mut call: Call, MatchedRoute { spec: route, handler, .. }: MatchedRoute) -> Answer {
    let app = Arc::clone(&call.app);
    let checked = check_access(&mut call, route);
    // Reads are not recorded.
    if app.audit.is_enabled() && !matches!(route.scope, None | Some(Scope::Read)) {
        call.notes.set_audited(app.access.caller_name(&call.caller));
    }
    if let Err(problem) = checked {
        Metrics::record_refusal(problem.code());
        return Err(problem);
    }
    // Streams and health checks take no room.
    let slot = match route.time_limit {
        TimeLimit::Unlimited => Ok(RequestSlot::Free),
        _ if route.scope == Some(Scope::Chat) => app.bulkheads.enter_as_chat(),
        _ => app.bulkheads.enter_as_request(),
    };
    let slot = Arc::new(slot.map_err(|full| {
        Metrics::record_refusal("overload");
        Problem::from(full)
    })?);
    call.slot = Arc::clone(&slot);
    let work = handler(call);
    let answer = match route.time_limit {
        TimeLimit::Configured => match tokio::time::timeout(app.settings.request_timeout + GRACE, work).await
        {
            Ok(answer) => answer,
            Err(_) => Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "timeout",
                "the request exceeded the time limit of the setting `server.request_timeout`",
            )
            .with_retry_after(1)),
        },
        TimeLimit::ByHandler | TimeLimit::Unlimited => work.await,
    };
    match *slot {
        // A model that streams its answer is waited for until the end.
        RequestSlot::Chat { .. } => answer.map(|response| response.map(|body| body.with_guard(slot))),
        _ => answer,
    }
}

/// Checks origin, key, scope and rate, and identifies the caller.
fn check_access(call: &mut Call, route: &RouteSpec) -> Result<(), Problem> {
    let app = Arc::clone(&call.app);
    let Some(scope) = route.scope else { return Ok(()) };
    app.origins.check_request(&call.parts.uri, &call.parts.headers)?;
    call.caller = app.access.identify_caller(call.presented_key()).ok_or_else(|| {
        Problem::new(StatusCode::UNAUTHORIZED, "key", "unknown key")
            .with_hint("use a key of the settings, or the token that the daemon printed when it started")
    })?;
    if matches!(call.caller, Caller::Anonymous) {
        call.check_remote_access(scope)?;
    }
    if !call.has_scope(scope) {
        return Err(match call.caller {
            Caller::Anonymous => {
                Problem::new(StatusCode::UNAUTHORIZED, "key", format!("the scope `{scope}` requires a key"))
                    .with_hint("send `Authorization: Bearer KEY`; the daemon prints its token when it starts")
            }
            _ => Problem::new(
                StatusCode::FORBIDDEN,
                "scope",
                format!("this key does not have the scope `{scope}`"),
            ),
        }
        .with_member("scope", scope.as_str()));
    }
    app.check_rate(&call.caller, call.notes.client).map_err(|seconds| {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate", "rate limit exceeded").with_retry_after(seconds)
    })
}

/// Sets the headers that every response has.
fn set_common_headers(app: &App, response: &mut Response, origin: Option<HeaderValue>) {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        let exposed = HeaderValue::from_static("etag, link, mcp-session-id, request-id, x-request-id");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    if app.is_stopping() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

/// The response to a CORS preflight request.
pub(crate) fn preflight_response(app: &App, parts: &Parts, allow: &str) -> Response {
    let mut response = match app.origins.check_request(&parts.uri, &parts.headers) {
        Ok(()) => answer::no_content(),
        Err(problem) => problem.to_response(ErrorFormat::Problem),
    };
    let origin = app.origins.allowed_origin(&parts.headers).cloned();
    let headers = response.headers_mut();
    if let Ok(allow) = HeaderValue::from_str(allow) {
        headers.insert(header::ALLOW, allow.clone());
        if origin.is_some() {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, allow);
            let names = HeaderValue::from_static(
                "authorization, anthropic-version, content-type, accept, if-match, if-none-match, last-event-id, mcp-method, mcp-name, \
                 mcp-protocol-version, mcp-session-id, x-api-key, x-request-id",
            );
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
        }
    }
    set_common_headers(app, &mut response, origin);
    response
}

/// The response to a request without exactly one `Host` header, which HTTP/1.1 requires.
pub(crate) fn missing_host_response(app: &App) -> Response {
    let problem = Problem::bad_request("an HTTP/1.1 request requires exactly one `Host` header");
    let mut response = problem.to_response(ErrorFormat::Problem);
    set_common_headers(app, &mut response, None);
    Metrics::record_unmatched(response.status().as_u16());
    response
}

/// The response that sends a caller to `path`, with the query of the request. The status for requests with a body makes
/// clients repeat the method and the body.
pub(crate) fn moved_response(app: &App, parts: &Parts, path: &str) -> Response {
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let location = HeaderValue::from_str(&format!("{path}{query}"));
    let (Ok(location), Ok(())) = (location, app.origins.check_request(&parts.uri, &parts.headers)) else {
        return not_found_response(app, parts, None);
    };
    let mut response = answer::no_content();
    *response.status_mut() = match parts.method {
        Method::GET | Method::HEAD => StatusCode::MOVED_PERMANENTLY,
        _ => StatusCode::TEMPORARY_REDIRECT,
    };
    response.headers_mut().insert(header::LOCATION, location);
    set_common_headers(app, &mut response, app.origins.allowed_origin(&parts.headers).cloned());
    Metrics::record_unmatched(response.status().as_u16());
    response
}

/// Whether clients ask at this path how to get a token, after an answer that requires a key.
fn is_oauth_path(path: &str) -> bool {
    let well_known = path.strip_prefix("/.well-known/").or_else(|| path.strip_prefix("/mcp/.well-known/"));
    matches!(path, "/register" | "/authorize" | "/token")
        || well_known.is_some_and(|name| name.starts_with("oauth-") || name.starts_with("openid-"))
}

/// The response to an unknown path or an unsupported method.
pub(crate) fn not_found_response(app: &App, parts: &Parts, allow: Option<&str>) -> Response {
    let path: String = parts.uri.path().chars().take(200).collect();
    let problem = match allow {
        None if is_oauth_path(&path) => Problem::not_found(
            "this daemon has no OAuth: it accepts the keys of its settings",
        )
        .with_hint(
            "configure the client to send the header `Authorization: Bearer KEY` with a key of the daemon",
        ),
        None => Problem::not_found(format!("no route for `{path}`"))
            .with_hint("/docs and /openapi.json list all routes"),
        Some(allow) => Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method",
            format!("`{path}` does not support `{}`", parts.method),
        )
        .with_hint(format!("supported methods: {allow}")),
    };
    // A request from a foreign origin does not learn whether the path exists.
    let problem = app.origins.check_request(&parts.uri, &parts.headers).err().unwrap_or(problem);
    let error_format = ErrorFormat::for_path(parts.uri.path()).for_caller(&parts.headers);
    let mut response = problem.to_response(error_format);
    if let Some(allow) = allow.and_then(|allow| HeaderValue::from_str(allow).ok()) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    set_common_headers(app, &mut response, None);
    Metrics::record_unmatched(response.status().as_u16());
    response
}
