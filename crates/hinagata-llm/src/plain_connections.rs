//! Connections without TLS. A call drives the connection that it uses.
//!
//! A connection with a task of its own exchanges every request and answer with the call through channels, and wakes it
//! for each. On one thread, both sides do nothing but wait for each other. Connections with TLS stay with the client of
//! `hyper-util`: they can have HTTP/2, where several calls share one.

use std::{
    error::Error as StdError,
    fmt,
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response, Uri,
    body::{Body, Frame, Incoming},
    client::conn::http1::{self, Connection, SendRequest},
    header::{HOST, HeaderValue},
    http::uri::{Authority, Scheme},
};
use hyper_util::client::legacy;
use tokio::runtime::Handle;
use tower_service::Service as _;

use crate::connector::{BoxError, Connector, ProviderStream};

/// How long an idle connection stays open: many servers close theirs after a minute.
pub(crate) const KEPT: Duration = Duration::from_secs(30);

/// Why a request has no response.
#[derive(Debug)]
pub(crate) enum SendFailure {
    /// Of a client with TLS.
    Client(legacy::Error),
    /// No connection could be opened.
    Connect(BoxError),
    /// The connection failed.
    Connection(hyper::Error),
}

impl SendFailure {
    /// Whether no connection could be opened.
    pub(crate) fn is_connect(&self) -> bool {
        match self {
            Self::Client(error) => error.is_connect(),
            Self::Connect(_) => true,
            Self::Connection(_) => false,
        }
    }

    /// What went wrong.
    pub(crate) fn cause(&self) -> &(dyn StdError + 'static) {
        match self {
            Self::Client(error) => error.source().unwrap_or(error),
            Self::Connect(error) => &**error,
            Self::Connection(error) => error,
        }
    }
}

/// Whether requests to `uri` go over connections without TLS.
pub(crate) fn is_plain(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTP)
}

/// The connections without TLS of one runtime.
#[derive(Debug)]
pub(crate) struct PlainConnections {
    connector: Connector,
    runtime: Handle,
    /// The lock is held for one change.
    idle: Mutex<IdleConnections>,
}

#[derive(Debug, Default)]
struct IdleConnections {
    /// The last one was used last.
    open: Vec<OpenConnection>,
    /// Whether a task closes those that nobody uses.
    is_watched: bool,
}

/// A connection that is open, and idle or used by one call.
struct OpenConnection {
    destination: Authority,
    host: HeaderValue,
    is_proxied: bool,
    sender: SendRequest<Full<Bytes>>,
    /// `None` once it has ended. It is large, and moves with every call.
    connection: Option<Box<Connection<ProviderStream, Full<Bytes>>>>,
    last_used: Instant,
}

impl fmt::Debug for OpenConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenConnection").field("destination", &self.destination).finish_non_exhaustive()
    }
}

impl PlainConnections {
    /// Connections on the current runtime.
    pub(crate) fn new(connector: Connector) -> Arc<Self> {
        Arc::new(Self { connector, runtime: Handle::current(), idle: Mutex::default() })
    }

    /// Sends a request over an idle connection, or over a new one if there is none or if it must be `fresh`.
    pub(crate) async fn send_request(
        self: &Arc<Self>,
        mut request: Request<Full<Bytes>>,
        fresh: bool,
    ) -> Result<Response<ResponseBody>, SendFailure> {
        let idle = if fresh { None } else { self.take_idle(request.uri()) };
        let mut connection = match idle {
            Some(connection) => connection,
            // Most calls find one, and should not carry what opens another.
            None => Box::pin(self.open_connection(request.uri())).await?,
        };
        connection.address_request(&mut request);
        let mut response = pin!(connection.sender.send_request(request));
        let response = poll_fn(|context| {
            connection.drive(context);
            response.as_mut().poll(context)
        });
        let response = response.await.map_err(SendFailure::Connection)?;
        let used = Some((connection, Arc::clone(self)));
        Ok(response.map(|body| ResponseBody { body: Some(body), used }))
    }

    async fn open_connection(&self, uri: &Uri) -> Result<OpenConnection, SendFailure> {
        let destination = uri.authority().cloned().ok_or_else(|| SendFailure::Connect("no host".into()))?;
        let host = match destination.port_u16() {
            None | Some(80) => HeaderValue::from_str(destination.host()),
            Some(_) => HeaderValue::from_str(host_with_port(&destination)),
        };
        let host = host.map_err(|error| SendFailure::Connect(error.into()))?;
        let stream = self.connector.clone().call(uri.clone()).await.map_err(SendFailure::Connect)?;
        let is_proxied = stream.is_proxied();
        let (sender, connection) = http1::handshake(stream).await.map_err(SendFailure::Connection)?;
        let (connection, last_used) = (Some(Box::new(connection)), Instant::now());
        Ok(OpenConnection { destination, host, is_proxied, sender, connection, last_used })
    }

    fn lock_idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An idle connection to the host of `uri` that its server did not close.
    fn take_idle(&self, uri: &Uri) -> Option<OpenConnection> {
        let destination = uri.authority()?;
        let mut idle = self.lock_idle();
        loop {
            let found = idle.open.iter().rposition(|open| open.destination == *destination)?;
            let mut connection = idle.open.swap_remove(found);
            if connection.is_usable() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection for the next call, if it is usable.
    fn keep_idle(self: &Arc<Self>, mut connection: OpenConnection) {
        connection.last_used = Instant::now();
        if !connection.is_usable() {
            return;
        }
        let mut idle = self.lock_idle();
        idle.open.push(connection);
        if !idle.is_watched {
            idle.is_watched = true;
            self.runtime.spawn(close_unused(Arc::downgrade(self)));
        }
    }
}

/// The host and the port of an address.
fn host_with_port(destination: &Authority) -> &str {
    let text = destination.as_str();
    text.rsplit_once('@').map_or(text, |(_, host)| host)
}

/// Closes connections that nobody used for a while, until none is left.
async fn close_unused(connections: Weak<PlainConnections>) {
    loop {
        tokio::time::sleep(KEPT).await;
        let Some(connections) = connections.upgrade() else { return };
        let mut idle = connections.lock_idle();
        idle.open.retain_mut(OpenConnection::is_usable);
        if idle.open.is_empty() {
            idle.is_watched = false;
            return;
        }
    }
}

impl OpenConnection {
    /// Sets the form of the address and the header that this connection needs.
    fn address_request(&self, request: &mut Request<Full<Bytes>>) {
        request.headers_mut().entry(HOST).or_insert_with(|| self.host.clone());
        if !self.is_proxied {
            let path = request.uri().path_and_query().cloned();
            *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
        }
    }

    /// Sends and receives what is possible now. What went wrong is reported by the response or its body.
    fn drive(&mut self, context: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection
            && Pin::new(connection).poll(context).is_ready()
        {
            self.connection = None;
        }
    }

    /// Whether another request can be sent.
    fn is_usable(&mut self) -> bool {
        // The runtime knows whether the server closed the connection; asking it wakes nobody later.
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.connection.is_some() && self.sender.is_ready() && self.last_used.elapsed() < KEPT
    }
}

/// The body of a response, with the connection that it arrives on.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    /// `None` after the end.
    body: Option<Incoming>,
    /// Driven by whoever reads the body; `None` where it has a task of its own.
    used: Option<(OpenConnection, Arc<PlainConnections>)>,
}

impl From<Incoming> for ResponseBody {
    fn from(body: Incoming) -> Self {
        Self { body: Some(body), used: None }
    }
}

impl ResponseBody {
    /// Leaves the connection to the next call, unless more of this response is to arrive.
    fn release_connection(&mut self) {
        self.body = None;
        if let Some((connection, all)) = self.used.take() {
            all.keep_idle(connection);
        }
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.release_connection();
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        if let Some((connection, _)) = &mut this.used {
            connection.drive(context);
        }
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            this.release_connection();
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use fake_provider::FakeProvider;
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::proxies::Proxies;

    fn connections() -> Arc<PlainConnections> {
        PlainConnections::new(Connector::new(Proxies::from_env(&|_| None), KEPT))
    }

    fn request(provider: &FakeProvider) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::from("{}"));
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() =
            format!("{}/v1/chat/completions", provider.url()).parse().expect("is an address");
        request
    }

    #[tokio::test]
    async fn calls_at_the_same_time_have_a_connection_each() {
        let (provider, all) = (FakeProvider::start(), connections());
        let (first, second) =
            (all.send_request(request(&provider), false), all.send_request(request(&provider), false));
        let (first, second) = (first.await.expect("answers"), second.await.expect("answers"));
        for response in [first, second] {
            response.into_body().collect().await.expect("arrives");
        }
        assert_eq!((provider.connections(), all.lock_idle().open.len()), (2, 2));
        all.send_request(request(&provider), true).await.expect("answers");
        assert_eq!(provider.connections(), 3, "a fresh one");
    }

    #[tokio::test]
    async fn a_connection_is_not_used_again_after_a_while() {
        let (provider, all) = (FakeProvider::start(), connections());
        all.send_request(request(&provider), false).await.expect("answers").collect().await.expect("arrives");
        for open in &mut all.lock_idle().open {
            open.last_used = Instant::now().checked_sub(KEPT).expect("is long ago");
        }
        all.send_request(request(&provider), false).await.expect("answers").collect().await.expect("arrives");
        assert_eq!((provider.connections(), all.lock_idle().open.len()), (2, 1), "the first one is closed");
    }
}
