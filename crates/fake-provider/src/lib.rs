//! A local model provider for tests and benchmarks.
//!
//! It has the APIs of OpenAI, Anthropic, Gemini and Ollama, chosen by the path of a request. It returns a
//! fixed answer, or the next [`Reply`] of a queue: an error, a stream, a stream that breaks, silence, or a
//! closed connection. It runs on its own thread, so that tests need no runtime, and records the requests.
//!
//! ```
//! use fake_provider::{FakeProvider, Reply};
//!
//! let provider = FakeProvider::start();
//! provider.reply(Reply::status(503, "busy")).reply(Reply::Canned);
//! assert!(provider.base_url().starts_with("http://127.0.0.1:"));
//! assert!(provider.received().is_empty());
//! ```

mod canned;
mod proxy;
mod reply;
mod server;
mod thread;
mod tls;

use std::{net::SocketAddr, sync::Arc};

use serde_json::Value;

use crate::{server::serve_with_tls, thread::ServerThread, tls::Certificate};

pub use canned::ANSWER;
pub use proxy::FakeProxy;
pub use reply::Reply;
pub use server::{State, serve};

/// A recorded request.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The path, with its query.
    pub path: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body; `null` if it is not JSON.
    pub body: Value,
    /// Whether it came over HTTP/2.
    pub is_http2: bool,
    /// Whether it contains the whole address, as a request to a proxy does.
    pub is_for_proxy: bool,
}

impl Received {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// A provider that runs until it is dropped.
#[derive(Debug)]
pub struct FakeProvider {
    address: SocketAddr,
    state: Arc<State>,
    certificate: Option<Certificate>,
    _thread: ServerThread,
}

impl FakeProvider {
    /// Starts a provider on a free TCP port.
    ///
    /// # Panics
    /// If no TCP port or thread is available.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// Starts a provider with TLS and HTTP/2, whose certificate is for `host`.
    ///
    /// # Panics
    /// As [`FakeProvider::start`].
    #[must_use]
    pub fn start_tls(host: &str) -> Self {
        Self::start_with(Some(Certificate::new(host)))
    }

    fn start_with(certificate: Option<Certificate>) -> Self {
        let state = Arc::new(State::default());
        let (shared, acceptor) = (Arc::clone(&state), certificate.as_ref().map(Certificate::acceptor));
        let (address, thread) =
            ServerThread::start(|listener| async move { serve_with_tls(listener, shared, acceptor).await });
        Self { address, state, certificate, _thread: thread }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its certificate in PEM, if it has TLS. A client has to trust it.
    #[must_use]
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_ref().map(Certificate::pem)
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.certificate {
            None => format!("http://{}", self.address),
            Some(certificate) => format!("https://{}:{}", certificate.host(), self.address.port()),
        }
    }

    /// Its address with the path that clients of OpenAI expect.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// Adds a reply to the queue; without one, the reply is [`Reply::Canned`].
    pub fn reply(&self, reply: Reply) -> &Self {
        self.state.push(reply);
        self
    }

    /// Lets a stream of [`Reply::Steps`] send its next piece.
    pub fn step(&self) {
        self.state.step();
    }

    /// The requests so far, the oldest first.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.state.received()
    }

    /// The number of connections so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.state.connections()
    }

    /// Waits until a client disconnects before its answer is complete.
    pub async fn wait_for_disconnect(&self) {
        self.state.wait_for_disconnect().await;
    }

    /// Waits until `count` requests have arrived.
    pub async fn wait_for_requests(&self, count: usize) {
        self.state.wait_for_requests(count).await;
    }
}
