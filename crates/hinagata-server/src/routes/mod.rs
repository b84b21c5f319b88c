//! Every route there is: what it is for, who may use it, what it takes and gives, and what answers it.
//!
//! This table is the only place that lists them. The router is built of it, the OpenAPI document describes it, the tests
//! walk it.

mod agents;
mod chat;
mod events;
mod modules;
mod packs;
mod prompts;
mod render;
mod service;
mod store;
mod table;

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use hyper::{Method, Request, body::Incoming};

pub(crate) use table::ROUTES;

use crate::{
    access::Scope,
    body::Response,
    gate::{self, Call, Handling, Params},
    query,
    state::App,
};

/// One route.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// What a caller needs; `None` for what everybody may ask.
    pub(crate) scope: Option<Scope>,
    pub(crate) dialect: Dialect,
    pub(crate) time: Time,
    /// The part of the documentation that it is in.
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    /// Names in the query, and what they do.
    pub(crate) query: &'static [(&'static str, &'static str)],
    /// The schema of the body that it takes, and whether it needs one.
    pub(crate) body: Option<(&'static str, bool)>,
    /// What it gives when it works.
    pub(crate) gives: &'static [Gives],
    pub(crate) handler: fn(Call) -> Handling,
}

/// An answer that is no failure.
pub(crate) struct Gives {
    pub(crate) status: u16,
    /// The media type; empty for an answer without a body.
    pub(crate) media: &'static str,
    /// The name of the schema.
    pub(crate) schema: &'static str,
    pub(crate) meaning: &'static str,
}

/// How failures are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// As problem details.
    Ours,
    /// As the second dialect has it.
    Second,
    /// As the second dialect has it, unless problem details are asked for.
    Shared,
}

impl Dialect {
    pub(crate) fn is_old(self, wants_problem: bool) -> bool {
        match self {
            Self::Ours => false,
            Self::Second => true,
            Self::Shared => !wants_problem,
        }
    }

    /// The dialect of a path that leads nowhere.
    pub(crate) fn of_path(path: &str) -> Self {
        let second =
            path.starts_with("/api/prompts/") && (path.ends_with("/render") || path.ends_with("/chat"));
        if second { Self::Second } else { Self::Ours }
    }
}

/// How long a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// As long as the settings allow.
    Bounded,
    /// As long as what it waits for may take.
    Own,
    /// For as long as the caller stays; it is not counted as work.
    Unbounded,
}

/// Finds the route of a request.
pub(crate) struct Router {
    app: Arc<App>,
    paths: matchit::Router<Place>,
}

/// What there is at a path.
struct Place {
    /// The routes, with their numbers in the table.
    routes: Vec<(usize, &'static Route)>,
    /// The methods that can be used there.
    allow: String,
}

impl Router {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        let mut places: BTreeMap<&'static str, Vec<(usize, &'static Route)>> = BTreeMap::new();
        for (number, route) in ROUTES.iter().enumerate() {
            places.entry(route.path).or_default().push((number, route));
        }
        let mut paths = matchit::Router::new();
        for (path, routes) in places {
            let mut methods: Vec<&str> = routes.iter().map(|(_, route)| route.method).collect();
            if methods.contains(&"GET") {
                methods.push("HEAD");
            }
            methods.push("OPTIONS");
            let inserted = paths.insert(path, Place { routes, allow: methods.join(", ") });
            debug_assert!(inserted.is_ok(), "{path} can be told from the others");
        }
        Self { app: Arc::clone(app), paths }
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, request: Request<Incoming>, peer: IpAddr) -> Response {
        let app = &self.app;
        let (parts, body) = request.into_parts();
        let Ok(found) = self.paths.at(parts.uri.path()) else { return gate::lost(app, &parts, None) };
        let Place { routes, allow } = found.value;
        // Whoever asks for the head alone is asked for as everybody else; the body stays here.
        let method = if parts.method == Method::HEAD { "GET" } else { parts.method.as_str() };
        let Some(&(number, route)) = routes.iter().find(|(_, route)| route.method == method) else {
            return match parts.method == Method::OPTIONS {
                true => gate::preflight(app, &parts, allow),
                false => gate::lost(app, &parts, Some(allow)),
            };
        };
        let named = found.params.iter().filter_map(|(name, value)| {
            // The name lives as long as the table does.
            let name = PARAMS.iter().find(|known| **known == name)?;
            Some(query::decoded_path(value).map(|value| (*name, value)))
        });
        let Some(params) = named.collect::<Option<Params>>() else {
            return gate::lost(app, &parts, None);
        };
        gate::pass(Arc::clone(app), (number, route), params, (parts, body), peer).await
    }
}

/// The names that paths of the table have.
const PARAMS: [&str; 2] = ["id", "pack"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_a_path_is_known() {
        for route in ROUTES {
            for part in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                assert!(PARAMS.contains(&part), "{}", route.path);
            }
        }
    }
}
