//! All routes: their handlers, and the router that finds them.
//!
//! The table is the only list of routes. The router, the OpenAPI document, the metrics and the tests use it.

mod agents;
mod cases;
mod chat;
mod check;
mod diagnostics;
mod draft;
mod edit;
mod events;
mod exchange;
mod files;
mod modules;
mod packs;
#[cfg(feature = "page")]
mod page;
mod prompts;
#[cfg(test)]
mod reference_page;
mod render;
mod service;
mod source;
mod store;
mod table;
mod tools;
mod v1;
mod whoami;

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Arc, LazyLock},
};

use hyper::{
    HeaderMap, Method, Request, StatusCode, Version,
    body::{Body as _, Incoming},
    header::{self, HeaderValue},
    http::request::Parts,
};
use serde_json::Value;
use table::ROUTES;

use crate::{
    body::Response,
    call::Handler,
    gate::{self, MatchedRoute},
    openapi, query,
    record::CallNotes,
    request_id::{REQUEST_ID, RequestId},
    route::{PathParams, RouteSpec},
    state::App,
};

/// A route and its handler.
pub(crate) struct Route {
    pub(crate) spec: RouteSpec,
    pub(crate) handler: Handler,
}

/// All routes, without their handlers.
pub(crate) fn route_specs() -> impl Iterator<Item = &'static RouteSpec> {
    ROUTES.iter().map(|route| &route.spec)
}

/// The OpenAPI document of all routes.
pub(crate) fn openapi_document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi::openapi_document(route_specs()));
    &DOCUMENT
}

/// Finds the route for a request.
pub(crate) struct Router {
    app: Arc<App>,
    paths: matchit::Router<RouteMatches>,
}

/// The routes of one path.
struct RouteMatches {
    routes: Vec<MatchedRoute>,
    /// The methods that the path supports.
    allow: String,
}

impl Router {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        let mut by_path: BTreeMap<&'static str, Vec<MatchedRoute>> = BTreeMap::new();
        for (number, Route { spec, handler }) in ROUTES.iter().enumerate() {
            by_path.entry(spec.path).or_default().push(MatchedRoute { number, spec, handler: *handler });
        }
        let mut paths = matchit::Router::new();
        for (path, routes) in by_path {
            let mut methods: Vec<&str> = routes.iter().map(|route| route.spec.method).collect();
            if methods.contains(&"GET") {
                methods.push("HEAD");
            }
            methods.push("OPTIONS");
            // A path of a file has segments of its own.
            let pattern = path.replace("{path}", "{*path}");
            let inserted = paths.insert(pattern, RouteMatches { routes, allow: methods.join(", ") });
            debug_assert!(inserted.is_ok(), "{path} does not conflict with another route");
        }
        Self { app: Arc::clone(app), paths }
    }

    /// Answers a request.
    pub(crate) async fn answer_request(&self, request: Request<Incoming>, peer: IpAddr) -> Response {
        let (parts, body) = request.into_parts();
        let client = self.app.current_settings.load().trusted_proxies.client_address(peer, &parts.headers);
        let notes = Arc::new(CallNotes::new(RequestId::from_headers(&parts.headers), client));
        let is_virtual = parts.uri.path().starts_with("/v1/");
        let is_large = body.size_hint().upper().is_none_or(|size| size > SMALL_BODY);
        let mut response = self.route_request((parts, body), peer, Arc::clone(&notes)).await;
        let is_refused = response.status() == StatusCode::PAYLOAD_TOO_LARGE;
        let headers = response.headers_mut();
        if let Some(id) = notes.request_id.to_header() {
            if is_virtual {
                headers.insert(ANTHROPIC_REQUEST_ID, id.clone());
            }
            headers.insert(REQUEST_ID, id);
        }
        if is_refused || (is_large && !notes.is_body_read()) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// The path of a route of the API that was requested with a slash at its end.
    fn path_without_slash<'p>(&self, path: &'p str) -> Option<&'p str> {
        let path = path.strip_suffix('/').filter(|path| path.starts_with("/api/"))?;
        self.paths.at(path).is_ok().then_some(path)
    }

    async fn route_request(
        &self,
        (parts, body): (Parts, Incoming),
        peer: IpAddr,
        notes: Arc<CallNotes>,
    ) -> Response {
        let app = &self.app;
        if parts.version == Version::HTTP_11 && !has_one_host(&parts.headers) {
            return gate::missing_host_response(app);
        }
        // Clients that join a path to the address of a server add a slash, and repeat no POST elsewhere.
        let path = if parts.uri.path() == "/mcp/" { "/mcp" } else { parts.uri.path() };
        let Ok(found) = self.paths.at(path) else {
            return match self.path_without_slash(parts.uri.path()) {
                Some(path) => gate::moved_response(app, &parts, path),
                None => gate::not_found_response(app, &parts, None),
            };
        };
        let RouteMatches { routes, allow } = found.value;
        // HEAD is handled as GET; hyper omits the body.
        let method = if parts.method == Method::HEAD { "GET" } else { parts.method.as_str() };
        let Some(&matched) = routes.iter().find(|route| route.spec.method == method) else {
            return if parts.method == Method::OPTIONS {
                gate::preflight_response(app, &parts, allow)
            } else {
                gate::not_found_response(app, &parts, Some(allow))
            };
        };
        let named = found.params.iter().filter_map(|(name, value)| {
            // The name in the constant has a static lifetime.
            let name = PARAMS.iter().find(|known| **known == name)?;
            Some(query::decode_path_segment(value).map(|value| (*name, value)))
        });
        let Some(params) = named.collect::<Option<PathParams>>() else {
            return gate::not_found_response(app, &parts, None);
        };
        gate::handle_request(Arc::clone(app), matched, params, (parts, body), peer, notes).await
    }
}

fn has_one_host(headers: &HeaderMap) -> bool {
    headers.get_all(header::HOST).iter().count() == 1
}

/// The header in which Anthropic's clients look for the id of a request.
const ANTHROPIC_REQUEST_ID: &str = "request-id";

/// The largest body, in bytes, that arrives with its request and is read to its end after the answer. A connection with
/// a larger unread body is closed, and the answer says so.
const SMALL_BODY: u64 = 4_096;

/// The names of path parameters in the table.
const PARAMS: [&str; 6] = ["id", "pack", "path", "entry", "hash", "file"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Map;

    use super::*;

    #[test]
    fn every_name_in_a_path_is_known() {
        for route in route_specs() {
            for part in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                assert!(PARAMS.contains(&part), "{}", route.path);
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_schema_is_used() {
        let document = openapi_document();
        let text = document.to_string();
        let names: BTreeSet<&str> =
            text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let known: BTreeSet<&str> =
            document["components"]["schemas"].as_object().expect("map").keys().map(String::as_str).collect();
        assert_eq!(names, known);
    }

    #[test]
    fn every_route_is_described_once() {
        let document = openapi_document();
        let mut ids = BTreeSet::new();
        for route in route_specs() {
            let operation = &document["paths"][route.path][route.method.to_lowercase()];
            assert_eq!(operation["summary"], route.summary, "{} {}", route.method, route.path);
            assert!(ids.insert(operation["operationId"].to_string()), "{operation}");
        }
        let described: usize = document["paths"]
            .as_object()
            .expect("map")
            .values()
            .filter_map(Value::as_object)
            .map(Map::len)
            .sum();
        assert_eq!(described, ROUTES.len());
    }
}
