//! The daemon: prompts over HTTP, the same engine as everywhere.
//!
//! [`Server::open`] binds and prepares, [`Server::run`] answers until it is told to stop. A request goes through the
//! gate (names and pages, overload, key, scope, rate) to the handler that the table of routes names.

mod access;
mod answer;
mod audit;
mod body;
mod call;
mod docs;
mod events;
mod fields;
mod gate;
mod lanes;
mod listen;
mod mcp;
mod metrics;
pub mod old_config;
mod openapi;
mod origin;
mod pace;
mod problem;
mod query;
mod rates;
mod route;
mod routes;
mod server;
mod settings;
mod spans;
mod state;

pub use access::{Key, Scope, new_secret};
pub use docs::example;
pub use hyper::HeaderMap;
pub use problem::Problem;
pub use server::{Server, ServerOptions};
pub use settings::{AuditPlace, ServerSettings};
pub use spans::TieSpan;
pub use state::TellSandbox;

/// The OpenAPI document of the daemon.
#[must_use]
pub fn openapi() -> &'static serde_json::Value {
    routes::openapi_document()
}
