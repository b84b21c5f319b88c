//! Requests over HTTP to listed hosts, and to no others: for whoever asks on behalf of code that is not trusted.
//!
//! An [`AllowedHosts`] list names hosts. A [`HttpClient`] compares every address that it is about to connect to with it, behind
//! redirects and behind names alike: a listed name that leads to a private address is refused unless that address is
//! listed too. Whatever is asked has a time and a size.
//!
//! The client hands out plain futures, for any executor. Its threads start with the first request; a [`LazyRuntime`] does the
//! same for whoever makes calls of another kind.
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
mod client;
mod error;
mod foreign_text;
mod runtime;

pub use address::is_public;
pub use allowed::AllowedHosts;
pub use client::{HttpClient, HttpRequest, HttpResponse, NameResolver};
pub use error::HttpError;
pub use foreign_text::{truncate_for_display, with_causes};
pub use runtime::{LazyRuntime, RunningTask, TaskError};
