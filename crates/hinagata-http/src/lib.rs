//! Requests over HTTP to listed hosts, and to no others: for whoever asks on behalf of code that is not trusted.
//!
//! An [`Allowed`] list names hosts. A [`Client`] compares every address that it is about to connect to with it, behind
//! redirects and behind names alike: a listed name that leads to a private address is refused unless that address is
//! listed too. Whatever is asked has a time and a size.
//!
//! The client hands out plain futures, for any executor. Its threads start with the first request; a [`LazyRuntime`] does the
//! same for whoever makes calls of another kind.
//!
//! ```
//! use hinagata_http::{Allowed, Client, Error, Request};
//!
//! let client = Client::new(Allowed::parse(["api.example.com", "*.example.org"])?);
//! let request = Request::new("GET", "http://127.0.0.1/");
//! let refused = client.request(request);
//! # fn is_send(_: impl Send + 'static) {}
//! # is_send(refused);
//! # Ok::<(), Error>(())
//! ```

mod address;
mod allowed;
mod client;
mod error;
mod runtime;
mod told;

pub use address::is_public;
pub use allowed::Allowed;
pub use client::{Client, Names, Request, Response};
pub use error::Error;
pub use runtime::{LazyRuntime, Running, Stopped};
pub use told::{shown, with_causes};
