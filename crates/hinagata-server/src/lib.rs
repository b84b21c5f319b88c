//! The daemon: serves an open workspace over HTTP.
//!
//! [`Server::open`] binds the address and prepares everything; [`Server::run_until`] serves until it is stopped. Every
//! request passes the gate (origin, overload, key, scope, rate) before the handler that the route table names.

mod access;
mod answer;
mod body;
mod bulkhead;
mod call;
mod checks;
mod connections;
mod docs;
mod events;
mod fields;
mod findings;
mod gate;
mod hints;
pub mod legacy_config;
mod listen;
mod mcp;
mod metrics;
mod openapi;
mod origin;
mod precondition;
mod problem;
mod proxies;
mod query;
mod rate_limiter;
mod rates;
mod record;
mod reload;
mod render_pool;
mod render_times;
mod renders;
mod request_id;
mod route;
mod routes;
mod server;
mod settings;
mod spans;
mod state;
mod template_cache;
mod worker_threads;

pub use access::{Key, Scope, new_secret};
pub use findings::workspace_findings;
pub use hyper::HeaderMap;
pub use problem::Problem;
pub use reload::{Reloaded, Reloader};
pub use server::{Server, ServerOptions};
pub use settings::ServerSettings;
pub use spans::LinkSpan;
pub use state::DescribeSandbox;

/// The OpenAPI document of the daemon.
#[must_use]
pub fn openapi_document() -> &'static serde_json::Value {
    routes::openapi_document()
}
