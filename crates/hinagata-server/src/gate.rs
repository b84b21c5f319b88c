//! The way in, the same for every route: names and pages, overload, key, scope, rate; then the handler; then the answer
//! in the right dialect, counted and written down.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use hyper::{
    HeaderMap, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
    http::request::Parts,
};
use tracing::Instrument as _;

use crate::{
    access::{Caller, Scope},
    answer,
    audit::Entry,
    body::Response,
    call::{Answer, Call, Handler},
    metrics::Metrics,
    problem::Problem,
    route::{Dialect, PathParams, RouteSpec, Time},
    spans,
    state::App,
};

/// How much longer than its time a request may take: a render that is stopped when the time is up tells what it was
/// waiting for, which says more than that it took too long.
pub(crate) const LAST_WORD: Duration = Duration::from_secs(1);

/// The route that a request is for.
#[derive(Clone, Copy)]
pub(crate) struct Matched {
    /// Its place in the table.
    pub(crate) number: usize,
    pub(crate) spec: &'static RouteSpec,
    pub(crate) handler: Handler,
}

/// Answers a request to a route.
pub(crate) async fn pass(
    app: Arc<App>,
    matched: Matched,
    params: PathParams,
    (parts, body): (Parts, Incoming),
    peer: IpAddr,
) -> Response {
    let route = matched.spec;
    let started = Instant::now();
    let wants_problem = wants_problem(&parts.headers);
    let origin = app.known.allowed_origin(&parts.headers).cloned();
    let span = spans::of_request(route, &parts.headers, app.tie_span.as_ref());
    let call = Call::new(Arc::clone(&app), params, (parts, body), peer);
    let (answer, written) = match span.is_disabled() {
        true => admit(call, matched).await,
        false => admit(call, matched).instrument(span.clone()).await,
    };
    let mut response = match answer {
        Ok(response) => response,
        Err(problem) if route.dialect.is_old(wants_problem) => problem.old_response(),
        Err(problem) => problem.into_response(),
    };
    finish(&app, &mut response, origin);
    let (status, time) = (response.status().as_u16(), started.elapsed());
    spans::answered(&span, status);
    app.metrics.answered(matched.number, status, time);
    if status >= 500 {
        tracing::warn!(method = route.method, route = route.path, status, ?time, "answered");
    } else {
        tracing::debug!(method = route.method, route = route.path, status, ?time, "answered");
    }
    if let Some((who, names)) = written {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let (at, from) = (SystemTime::now(), peer);
        app.audit.add(Entry {
            at,
            who,
            from,
            method: route.method,
            route: route.path,
            names,
            status,
            micros,
        });
    }
    response
}

/// What is written down about a request: who, and what its path names.
type Written = Option<(Arc<str>, PathParams)>;

/// Lets a request in, or not.
async fn admit(mut call: Call, Matched { spec: route, handler, .. }: Matched) -> (Answer, Written) {
    let app = Arc::clone(&call.app);
    let entered = enter(&mut call, route);
    let written = entry(&call, route);
    if let Err(problem) = entered {
        Metrics::refused(problem.code());
        return (Err(problem), written);
    }
    // Whoever only listens or asks for health is not in the way of others.
    let _permit = match route.time {
        Time::Unbounded => None,
        _ => match app.busy.try_acquire() {
            Ok(permit) => Some(permit),
            Err(_) => {
                Metrics::refused("overload");
                return (Err(overload()), written);
            }
        },
    };
    let work = handler(call);
    let answer = match route.time {
        Time::Bounded => match tokio::time::timeout(app.settings.request_timeout + LAST_WORD, work).await {
            Ok(answer) => answer,
            Err(_) => Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "timeout",
                "the request took too long; the setting `server.request_timeout` says how long it may",
            )
            .retry_after(1)),
        },
        Time::Own | Time::Unbounded => work.await,
    };
    (answer, written)
}

fn overload() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "overload",
        "as many requests are under way as the daemon allows",
    )
    .hint("try again; the setting `server.max_requests` says how many")
    .retry_after(1)
}

/// Reading is not written down.
fn entry(call: &Call, route: &RouteSpec) -> Written {
    if !call.app.audit.is_on() || matches!(route.scope, None | Some(Scope::Read)) {
        return None;
    }
    let names = call.params.iter().map(|(name, value)| {
        let end = value.floor_char_boundary(256);
        (*name, value[..end].to_owned())
    });
    Some((call.app.access.name(&call.caller), names.collect()))
}

/// Everything that is checked before a request is looked at.
fn enter(call: &mut Call, route: &RouteSpec) -> Result<(), Problem> {
    let app = Arc::clone(&call.app);
    let Some(scope) = route.scope else { return Ok(()) };
    app.known.check(&call.parts.uri, &call.parts.headers)?;
    call.caller = app.access.who(call.bearer()).ok_or_else(|| {
        Problem::new(StatusCode::UNAUTHORIZED, "key", "this key is not known")
            .hint("the keys are in the settings; the token of this start is printed by `hina serve`")
    })?;
    if matches!(call.caller, Caller::Nobody) {
        call.check_stranger(scope)?;
    }
    if !app.access.allows(&call.caller, scope) {
        return Err(match call.caller {
            Caller::Nobody => Problem::new(StatusCode::UNAUTHORIZED, "key", format!("`{scope}` needs a key"))
                .hint("send `Authorization: Bearer KEY`; `hina serve` prints the token of its start"),
            _ => Problem::new(StatusCode::FORBIDDEN, "scope", format!("this key does not allow `{scope}`")),
        }
        .with("scope", scope.as_str()));
    }
    app.within_rate(&call.caller, call.peer).map_err(|seconds| {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate", "you ask too often").retry_after(seconds)
    })
}

fn wants_problem(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter();
    accepts.filter_map(|value| value.to_str().ok()).any(|value| value.contains("problem+json"))
}

/// What every answer carries.
fn finish(app: &App, response: &mut Response, origin: Option<HeaderValue>) {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        let shown = HeaderValue::from_static("etag, link, mcp-session-id");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, shown);
    }
    if app.is_stopping() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

/// The answer to a page that asks whether it may call.
pub(crate) fn preflight(app: &App, parts: &Parts, allow: &str) -> Response {
    let mut response = match app.known.check(&parts.uri, &parts.headers) {
        Ok(()) => answer::done(),
        Err(problem) => problem.into_response(),
    };
    let origin = app.known.allowed_origin(&parts.headers).cloned();
    let headers = response.headers_mut();
    if let Ok(allow) = HeaderValue::from_str(allow) {
        headers.insert(header::ALLOW, allow.clone());
        if origin.is_some() {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, allow);
            let names = HeaderValue::from_static(
                "authorization, content-type, accept, if-none-match, last-event-id, mcp-method, mcp-name, \
                 mcp-protocol-version, mcp-session-id",
            );
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
        }
    }
    finish(app, &mut response, origin);
    response
}

/// A path or method that there is not.
pub(crate) fn lost(app: &App, parts: &Parts, allow: Option<&str>) -> Response {
    let path: String = parts.uri.path().chars().take(200).collect();
    let problem = match allow {
        None => Problem::not_found(format!("there is nothing at `{path}`"))
            .hint("/openapi.json and /docs tell what there is"),
        Some(allow) => Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method",
            format!("`{}` is not for `{path}`", parts.method),
        )
        .hint(format!("it takes {allow}")),
    };
    // What a page of a stranger asks for is nobody's business, there or not.
    let problem = app.known.check(&parts.uri, &parts.headers).err().unwrap_or(problem);
    let old = Dialect::of_path(parts.uri.path()).is_old(wants_problem(&parts.headers));
    let mut response = if old { problem.old_response() } else { problem.into_response() };
    if let Some(allow) = allow.and_then(|allow| HeaderValue::from_str(allow).ok()) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    finish(app, &mut response, None);
    Metrics::lost(response.status().as_u16());
    response
}
