//! HTTP requests to listed hosts only, on behalf of untrusted code.
//!
//! An [`AllowedHosts`] list names hosts. A [`HttpClient`] checks every address before it connects, after redirects and
//! name resolution too: a listed name that resolves to a private address is rejected unless that address is listed.
//! Every request has a timeout and a size limit.
//!
//! The client returns plain futures for any executor. Its threads start with the first request. A [`LazyRuntime`] does
//! the same for other kinds of calls. A [`CircuitBreaker`] suspends calls to a server that does not answer.
//!
//! ```
//! use hinagata_http::{AllowedHosts, HttpClient, HttpError, HttpRequest};
//!
//! let client = HttpClient::new(AllowedHosts::parse(["api.example.com", "*.example.org"])?);
//! let request = HttpRequest::new("GET", "http://127.0.0.1/");
//! let refused = client.send_request(request);
//! # fn is_send(_: impl Send + 'static) {}
//! # is_send(refused);
//! # Ok::<(), HttpError>(())
//! ```

mod address;
mod allowed;
mod breaker;
mod client;
mod error;
mod foreign_text;
mod runtime;
mod tls;

pub use address::is_public;
pub use allowed::AllowedHosts;
pub use breaker::{AdmittedCall, BreakerChange, BreakerRules, CallOutcome, CircuitBreaker};
pub use client::{HttpClient, HttpRequest, HttpResponse, NameResolver};
pub use error::HttpError;
pub use foreign_text::{truncate_for_display, with_causes};
pub use runtime::{LazyRuntime, RunningTask, TaskError};
pub use tls::{install_tls, system_tls};
