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
mod reply;
mod server;

use std::{net::SocketAddr, sync::Arc, thread};

use serde_json::Value;
use tokio::sync::oneshot;

pub use canned::ANSWER;
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
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl FakeProvider {
    /// Starts a provider on a free TCP port.
    ///
    /// # Panics
    /// If no TCP port or thread is available.
    #[must_use]
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("is a socket");
        let address = listener.local_addr().expect("has an address");
        let state = Arc::new(State::default());
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&state);
        let thread = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                tokio::select! {
                    served = serve(listener, shared) => served.expect("serves"),
                    _ = stopped => {}
                }
            });
        });
        Self { address, state, stop: Some(stop), thread: Some(thread) }
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
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

impl Drop for FakeProvider {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
