//! A request as handlers see it, and what they return.

use std::{net::IpAddr, pin::Pin, sync::Arc};

use bytes::Bytes;
use hinagata::{Engine, RenderJob, Rendered};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::{StatusCode, body::Incoming, header, http::request::Parts};
use serde_json::{Map, Value};

use crate::{
    access::{Caller, Scope},
    body::Response,
    bulkhead::RequestSlot,
    problem::Problem,
    query,
    record::CallNotes,
    renders::RenderFailure,
    route::PathParams,
    state::App,
};

/// The headers of requests that a web page sends or a proxy passes on.
const FOREIGN_HEADERS: [&str; 6] =
    ["origin", "sec-fetch-site", "forwarded", "via", "x-forwarded-for", "x-real-ip"];

/// The header in which Anthropic's clients send a key.
const API_KEY: &str = "x-api-key";

/// What a handler returns.
pub(crate) type Answer = Result<Response, Problem>;

/// The future of a handler.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// The function that handles the calls of a route.
pub(crate) type Handler = fn(Call) -> HandlerFuture;

/// A request to a known route.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) caller: Caller,
    pub(crate) parts: Parts,
    pub(crate) params: PathParams,
    /// The address that the connection comes from.
    pub(crate) peer: IpAddr,
    pub(crate) notes: Arc<CallNotes>,
    /// The room that the request takes; the gate sets it.
    pub(crate) slot: Arc<RequestSlot>,
    /// The body, until it is read.
    body: Option<Incoming>,
}

impl Call {
    /// A call whose caller is not identified yet.
    pub(crate) fn new(
        app: Arc<App>,
        params: PathParams,
        (parts, body): (Parts, Incoming),
        peer: IpAddr,
        notes: Arc<CallNotes>,
    ) -> Self {
        let (slot, body) = (Arc::new(RequestSlot::Free), Some(body));
        Self { app, caller: Caller::Anonymous, parts, params, peer, notes, slot, body }
    }

    /// The path parameter `name`.
    pub(crate) fn path_param(&self, name: &str) -> Result<&str, Problem> {
        let found = self.params.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, value)| value.as_str())
            .ok_or_else(|| Problem::bad_request(format!("the path has no parameter `{name}`")))
    }

    /// The prompt in the path, in any spelling.
    pub(crate) fn prompt_name(&self) -> Result<String, Problem> {
        self.path_param("id").map(str::to_owned)
    }

    /// The engine as the caller sees it: without the prompts and environs that a restricted key does not reach.
    /// Handlers use no other engine, unless they check [`Call::require_unrestricted`] first.
    pub(crate) fn engine(&self) -> Engine {
        match self.app.access.reach(&self.caller) {
            None => self.app.engine.clone(),
            Some(reach) => self.app.engine.with_reach(reach),
        }
    }

    /// The key that the request carries. Clients of Anthropic send it in a header of their own.
    pub(crate) fn presented_key(&self) -> Option<&str> {
        let headers = &self.parts.headers;
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            let value = headers.get(API_KEY).filter(|_| self.parts.uri.path().starts_with("/v1/"))?;
            return Some(value.to_str().unwrap_or("?").trim());
        };
        // A header that is not text is an unknown key, not a missing one.
        let value = value.to_str().unwrap_or("?");
        let (kind, secret) = value.split_once(' ').unwrap_or(("", value));
        Some(if kind.eq_ignore_ascii_case("bearer") { secret.trim() } else { value })
    }

    /// Whether the caller has `scope`.
    pub(crate) fn has_scope(&self, scope: Scope) -> bool {
        self.app.access.has_scope(&self.caller, scope) || (scope == Scope::Chat && self.can_chat_locally())
    }

    /// Whether the settings let programs on this machine chat without a key, and this is one of them: not a web page,
    /// and not the client of a proxy on this machine.
    fn can_chat_locally(&self) -> bool {
        let settings = self.app.current_settings.load();
        let headers = &self.parts.headers;
        settings.local_chat
            && matches!(self.caller, Caller::Anonymous)
            && !self.app.access.has_keys()
            && self.is_local()
            && !settings.trusted_proxies.has_proxy(self.peer)
            && !FOREIGN_HEADERS.iter().any(|name| headers.contains_key(*name))
    }

    /// Whether the caller is on this machine. A proxy on this machine that the settings trust does not make its clients
    /// local.
    fn is_local(&self) -> bool {
        [self.peer, self.notes.client].iter().all(|address| address.to_canonical().is_loopback())
    }

    /// Refuses callers on other machines while the settings have no keys.
    pub(crate) fn check_remote_access(&self, scope: Scope) -> Result<(), Problem> {
        let app = &self.app;
        let is_open = app.current_settings.load().open && scope.is_open();
        if app.access.has_keys() || self.is_local() || is_open {
            return Ok(());
        }
        Err(Problem::new(StatusCode::FORBIDDEN, "key", "without keys, the daemon serves only this machine")
            .with_hint(
                "add a key to the settings, or set `server.open = true` to let every caller read and render",
            ))
    }

    /// Whether the caller of a route without a scope could read too.
    pub(crate) fn can_read(&self) -> bool {
        let is_known = self.app.origins.check_request(&self.parts.uri, &self.parts.headers).is_ok();
        let caller = self.app.access.identify_caller(self.presented_key()).filter(|_| is_known);
        caller.is_some_and(|caller| {
            let is_let_in =
                !matches!(caller, Caller::Anonymous) || self.check_remote_access(Scope::Read).is_ok();
            is_let_in && self.app.access.has_scope(&caller, Scope::Read)
        })
    }

    /// Refuses callers without a scope that the request needs beside that of its route.
    pub(crate) fn require_scope(&self, scope: Scope, reason: &str) -> Result<(), Problem> {
        if self.has_scope(scope) {
            return Ok(());
        }
        let (status, code) = match self.caller {
            Caller::Anonymous => (StatusCode::UNAUTHORIZED, "key"),
            Caller::Owner | Caller::Key(_) => (StatusCode::FORBIDDEN, "scope"),
        };
        Err(Problem::new(status, code, format!("{reason} requires the scope `{scope}`"))
            .with_member("scope", scope.as_str()))
    }

    /// Refuses keys that are restricted to some prompts.
    pub(crate) fn require_unrestricted(&self) -> Result<(), Problem> {
        if self.app.access.can_see_all(&self.caller) {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "scope",
            "this key is restricted to some prompts, and this route is not",
        ))
    }

    /// Renders, in the room of this request.
    ///
    /// # Errors
    /// As [`App::render_job`].
    pub(crate) fn render_job(
        &self,
        job: RenderJob,
    ) -> impl Future<Output = Result<Rendered, RenderFailure>> + use<> {
        let (app, slot) = (Arc::clone(&self.app), Arc::clone(&self.slot));
        async move { app.render_job(job, slot).await }
    }

    /// Renders with a trace, in the room of this request.
    ///
    /// # Errors
    /// As [`App::render_job`].
    pub(crate) fn explain_job(
        &self,
        job: RenderJob,
    ) -> impl Future<Output = Result<Rendered, RenderFailure>> + use<> {
        let (app, slot) = (Arc::clone(&self.app), Arc::clone(&self.slot));
        async move { app.explain_job(job, slot).await }
    }

    /// The original request, for another service.
    pub(crate) fn into_request(mut self) -> Option<hyper::Request<Incoming>> {
        let body = self.body.take()?;
        self.notes.set_body_read();
        Some(hyper::Request::from_parts(self.parts, body))
    }

    /// Reads the whole body.
    pub(crate) async fn read_body(&mut self) -> Result<Bytes, Problem> {
        let limit = self.app.settings.max_body;
        let Some(body) = self.body.take() else { return Ok(Bytes::new()) };
        match Limited::new(body, limit).collect().await {
            Ok(body) => {
                self.notes.set_body_read();
                Ok(body.to_bytes())
            }
            Err(error) if error.is::<LengthLimitError>() => Err(Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                format!("the body exceeds {limit} bytes"),
            )
            .with_hint("the setting `server.max_body` limits the size of bodies")),
            Err(error) => Err(Problem::bad_request(format!("cannot read the body: {error}"))),
        }
    }

    /// Reads the body as a JSON object. An empty body is an empty object.
    pub(crate) async fn read_object(&mut self) -> Result<Map<String, Value>, Problem> {
        let bytes = self.read_body().await?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Map::new());
        }
        match self.parse_json(&bytes)? {
            Value::Object(object) => Ok(object),
            _ => Err(Problem::bad_request("the body must be a JSON object")),
        }
    }

    /// Parses JSON from the body.
    pub(crate) fn parse_json(&self, bytes: &[u8]) -> Result<Value, Problem> {
        serde_json::from_slice(bytes).map_err(|error| {
            let problem = Problem::bad_request(format!("invalid JSON in the body: {error}"))
                .with_member("line", error.line())
                .with_member("column", error.column());
            match self.parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) {
                Some(kind) if kind.contains("form") => {
                    problem.with_hint("send JSON with `content-type: application/json`")
                }
                _ => problem,
            }
        })
    }

    /// The names and values of the query.
    pub(crate) fn query_pairs(&self) -> Vec<(String, String)> {
        query::parse_pairs(self.parts.uri.query().unwrap_or_default())
    }
}
