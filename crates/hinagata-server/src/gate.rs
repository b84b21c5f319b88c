//! The way in, the same for every route: names and pages, overload, key, scope, rate; then the handler; then the answer
//! in the right dialect, counted and written down.

use std::{
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use hinagata::Engine;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::{
    HeaderMap, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
    http::request::Parts,
};
use serde_json::{Map, Value};
use tracing::Instrument as _;

use crate::{
    access::{Caller, Scope},
    answer,
    audit::Entry,
    body::Response,
    metrics::Metrics,
    problem::Problem,
    routes::{Dialect, Route, Time},
    spans,
    state::App,
};

/// How much longer than its time a request may take: a render that is stopped when the time is up tells what it was
/// waiting for, which says more than that it took too long.
pub(crate) const LAST_WORD: Duration = Duration::from_secs(1);

/// What a handler gives.
pub(crate) type Answer = Result<Response, Problem>;

/// What runs a handler.
pub(crate) type Handling = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A request that was let in.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) caller: Caller,
    pub(crate) parts: Parts,
    pub(crate) params: Params,
    /// Where the caller is.
    pub(crate) peer: IpAddr,
    /// What it brings, until that is read.
    body: Option<Incoming>,
}

/// What a path names: the name in the table of routes, and what stood there.
pub(crate) type Params = Vec<(&'static str, String)>;

impl Call {
    /// What the path names as `name`.
    pub(crate) fn param(&self, name: &str) -> Result<&str, Problem> {
        let found = self.params.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, value)| value.as_str())
            .ok_or_else(|| Problem::bad_request(format!("the path has no `{name}`")))
    }

    /// The prompt that the path names, in any spelling.
    pub(crate) fn prompt(&self) -> Result<String, Problem> {
        self.param("id").map(str::to_owned)
    }

    /// The engine as the caller has it: prompts and shared variables that a key is not for are not there. Handlers use no
    /// other one, unless they asked for [`Call::require_unbound`].
    pub(crate) fn engine(&self) -> Engine {
        match self.app.access.reach_of(&self.caller) {
            None => self.app.engine.clone(),
            Some(reach) => self.app.engine.within(reach),
        }
    }

    /// Whether the caller of a route that is for everybody may read besides.
    pub(crate) fn may_read(&self) -> bool {
        let is_known = self.app.known.check(&self.parts.uri, &self.parts.headers).is_ok();
        let caller = self.app.access.who(bearer(&self.parts.headers)).filter(|_| is_known);
        caller.is_some_and(|caller| {
            let is_let_in = !matches!(caller, Caller::Nobody)
                || check_stranger(&self.app, Scope::Read, self.peer).is_ok();
            is_let_in && self.app.access.allows(&caller, Scope::Read)
        })
    }

    /// Refuses a key that is for some prompts alone, where something is about others too.
    pub(crate) fn require_unbound(&self) -> Result<(), Problem> {
        if self.app.access.sees_all(&self.caller) {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "scope",
            "this key is for some prompts alone, and this is about others too",
        ))
    }

    /// The request as it came, for another one to answer.
    pub(crate) fn into_request(mut self) -> Option<hyper::Request<Incoming>> {
        let body = self.body.take()?;
        Some(hyper::Request::from_parts(self.parts, body))
    }

    /// The body, whole.
    pub(crate) async fn body(&mut self) -> Result<Bytes, Problem> {
        let limit = self.app.settings.max_body;
        let Some(body) = self.body.take() else { return Ok(Bytes::new()) };
        match Limited::new(body, limit).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                format!("the body has more than {limit} bytes"),
            )
            .hint("the setting `server.max_body` says how large it may be")),
            Err(error) => Err(Problem::bad_request(format!("the body could not be read: {error}"))),
        }
    }

    /// The body as a JSON object; an empty one is one without members.
    pub(crate) async fn object(&mut self) -> Result<Map<String, Value>, Problem> {
        let bytes = self.body().await?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Map::new());
        }
        match self.json(&bytes)? {
            Value::Object(object) => Ok(object),
            _ => Err(Problem::bad_request("the body is no JSON object")),
        }
    }

    /// Reads JSON.
    pub(crate) fn json(&self, bytes: &[u8]) -> Result<Value, Problem> {
        serde_json::from_slice(bytes).map_err(|error| {
            let problem = Problem::bad_request(format!("the body is no JSON: {error}"))
                .with("line", error.line())
                .with("column", error.column());
            match self.parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) {
                Some(kind) if kind.contains("form") => {
                    problem.hint("send JSON, with `content-type: application/json`")
                }
                _ => problem,
            }
        })
    }

    /// Names and values of the query.
    pub(crate) fn query(&self) -> Vec<(String, String)> {
        crate::query::pairs(self.parts.uri.query().unwrap_or_default())
    }
}

/// Answers a request to the route `number` of the table.
pub(crate) async fn pass(
    app: Arc<App>,
    (number, route): (usize, &'static Route),
    params: Params,
    (parts, body): (Parts, Incoming),
    peer: IpAddr,
) -> Response {
    let started = Instant::now();
    let wants_problem = wants_problem(&parts.headers);
    let origin = app.known.allowed_origin(&parts.headers).cloned();
    let span = spans::of_request(route, &parts.headers, app.tie_span.as_ref());
    let call = Call { caller: Caller::Nobody, params, parts, peer, body: Some(body), app: Arc::clone(&app) };
    let (answer, written) = match span.is_disabled() {
        true => admit(call, route, peer).await,
        false => admit(call, route, peer).instrument(span.clone()).await,
    };
    let mut response = match answer {
        Ok(response) => response,
        Err(problem) if route.dialect.is_old(wants_problem) => problem.old_response(),
        Err(problem) => problem.into_response(),
    };
    finish(&app, &mut response, origin);
    let (status, time) = (response.status().as_u16(), started.elapsed());
    spans::answered(&span, status);
    app.metrics.answered(number, status, time);
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
type Written = Option<(Arc<str>, Params)>;

/// Lets a request in, or not.
async fn admit(mut call: Call, route: &'static Route, peer: IpAddr) -> (Answer, Written) {
    let app = Arc::clone(&call.app);
    let entered = enter(&mut call, route, peer);
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
    let work = (route.handler)(call);
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
fn entry(call: &Call, route: &Route) -> Written {
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
fn enter(call: &mut Call, route: &Route, peer: IpAddr) -> Result<(), Problem> {
    let app = Arc::clone(&call.app);
    let Some(scope) = route.scope else { return Ok(()) };
    app.known.check(&call.parts.uri, &call.parts.headers)?;
    call.caller = app.access.who(bearer(&call.parts.headers)).ok_or_else(|| {
        Problem::new(StatusCode::UNAUTHORIZED, "key", "this key is not known")
            .hint("the keys are in the settings; the token of this start is printed by `hina serve`")
    })?;
    if matches!(call.caller, Caller::Nobody) {
        check_stranger(&app, scope, peer)?;
    }
    if !app.access.allows(&call.caller, scope) {
        return Err(match call.caller {
            Caller::Nobody => Problem::new(StatusCode::UNAUTHORIZED, "key", format!("`{scope}` needs a key"))
                .hint("send `Authorization: Bearer KEY`; `hina serve` prints the token of its start"),
            _ => Problem::new(StatusCode::FORBIDDEN, "scope", format!("this key does not allow `{scope}`")),
        }
        .with("scope", scope.as_str()));
    }
    app.within_rate(&call.caller, peer).map_err(|seconds| {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate", "you ask too often").retry_after(seconds)
    })
}

/// Without keys only this machine is served.
fn check_stranger(app: &App, scope: Scope, peer: IpAddr) -> Result<(), Problem> {
    if app.access.has_keys() || peer.to_canonical().is_loopback() || (app.settings.open && scope.is_open()) {
        return Ok(());
    }
    Err(Problem::new(StatusCode::FORBIDDEN, "key", "without keys only this machine is served").hint(
        "`hina key NAME --scope render` makes a key; `server.open = true` lets everybody read and render",
    ))
}

/// The key that a request carries.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?;
    // What is no text is no key, and no reason to count as nobody.
    let value = value.to_str().unwrap_or("?");
    let (kind, secret) = value.split_once(' ').unwrap_or(("", value));
    Some(if kind.eq_ignore_ascii_case("bearer") { secret.trim() } else { value })
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
