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

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{RawPathParams, State},
    routing::{MethodFilter, MethodRouter},
};
use hyper::Request;

pub(crate) use table::ROUTES;

use crate::{
    access::Scope,
    gate::{self, Call, Handling},
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

/// The router of all routes.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut allowed: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
    for route in ROUTES {
        allowed.entry(route.path).or_default().push(route.method);
    }
    let mut router: Router<Arc<App>> = Router::new();
    for (path, methods) in allowed {
        let mut all = methods.clone();
        if methods.contains(&"GET") {
            all.push("HEAD");
        }
        all.push("OPTIONS");
        let allow: Arc<str> = all.join(", ").into();
        let mut answers: MethodRouter<Arc<App>> = MethodRouter::new();
        for route in ROUTES.iter().filter(|route| route.path == path) {
            answers = answers.on(filter(route.method), move |State(app), params: RawPathParams, request| {
                gate::pass(app, route, params, request)
            });
        }
        let preflight = Arc::clone(&allow);
        let answers = answers
            .on(
                MethodFilter::OPTIONS,
                move |State(app): State<Arc<App>>, request: Request<Body>| async move {
                    gate::preflight(&app, &request.into_parts().0, &preflight)
                },
            )
            .fallback(move |State(app): State<Arc<App>>, request: Request<Body>| async move {
                gate::lost(&app, &request.into_parts().0, Some(&allow))
            });
        router = router.route(path, answers);
    }
    let lost = |State(app): State<Arc<App>>, request: Request<Body>| async move {
        gate::lost(&app, &request.into_parts().0, None)
    };
    router.fallback(lost).with_state(Arc::clone(app))
}

fn filter(method: &str) -> MethodFilter {
    match method {
        "GET" => MethodFilter::GET,
        "PUT" => MethodFilter::PUT,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::POST,
    }
}
