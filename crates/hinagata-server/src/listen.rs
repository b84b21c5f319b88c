//! Connections: accepted or refused with an answer, and closed without losing a request.
//!
//! The reasons are in `docs/design/daemon-threads.md`.

use std::{
    convert::Infallible,
    io,
    net::{self, SocketAddr},
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use hyper::{
    Request,
    body::Incoming,
    header::{self, HeaderValue},
    server::conn::http1,
    service::{HttpService, service_fn},
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
};

use crate::{
    body::{Body, Response},
    bulkhead::Full,
    connections::{ConnectionPlace, ConnectionRoom},
    metrics::Metrics,
    problem::Problem,
    route::ErrorFormat,
    routes::Router,
    state::App,
    worker_threads::WorkerThreads,
};

/// How long a connection that began before the listener closed may take to arrive.
const HANDSHAKE_TIME: Duration = Duration::from_millis(50);

/// Connections that may wait to be accepted. Beyond them, the system ignores the first packet of a connection, and its
/// client tries again after a second.
const BACKLOG: i32 = 1_024;

/// How long to wait before accepting again when the system has no free sockets.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// The same when an idle connection was closed to make room.
const ACCEPT_RETRY_AFTER_EVICTION: Duration = Duration::from_millis(5);

/// Connections beyond the limit that are served, but only for [`HEALTH_PATHS`].
const RESERVE: usize = 32;

/// The paths that are answered while all other connections are busy.
const HEALTH_PATHS: [&str; 2] = ["/healthz", "/readyz"];

/// How long a connection of the reserve may take to send its request.
const RESERVE_HEADER_TIMEOUT: Duration = Duration::from_secs(2);

/// Refused connections that are waited for at a time.
const REFUSALS: usize = 64;

/// How long a refused client has time to read the answer.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// How long an idle connection that lost its place has time to end.
const EVICTION_TIME: Duration = Duration::from_secs(1);

/// The socket that clients connect to.
pub(crate) struct ListenSocket {
    pub(crate) listener: TcpListener,
    /// Whether a service manager passed it and keeps it open: the next daemon serves the connections that this one does
    /// not accept.
    pub(crate) is_passed: bool,
}

/// Serves connections on `threads` until `stop` resolves, then finishes the open ones.
pub(crate) async fn serve_connections(
    app: &Arc<App>,
    ListenSocket { listener, is_passed }: ListenSocket,
    threads: WorkerThreads,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    if let Err(error) = extend_backlog(&listener) {
        tracing::debug!(%error, "cannot extend the queue of new connections");
    }
    let (end, ending) = watch::channel(false);
    // The channel closes when the last connection drops its sender.
    let (working, mut finished) = mpsc::channel::<()>(1);
    let connections = Arc::new(Connections {
        app: Arc::clone(app),
        router: Arc::new(router),
        reserve: ConnectionRoom::new(RESERVE),
        refusals: Arc::new(Semaphore::new(REFUSALS)),
        ending,
        _working: working,
    });
    let take = async {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let Some(admission) = connections.admit_connection() else { continue };
                    serve_connection(&threads, &connections, stream.into_std(), peer, admission);
                }
                Err(error) if is_out_of_sockets(&error) && app.connections.evict_idle() => {
                    tokio::time::sleep(ACCEPT_RETRY_AFTER_EVICTION).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
        }
    };
    // A request that arrives on an open connection right now still gets a response. From here on responses say
    // `connection: close`, and new connections are accepted for a moment longer.
    let stopped = async {
        stop.await;
        app.begin_stop();
        tokio::time::sleep(app.settings.linger).await;
    };
    tokio::select! {
        () = take => {}
        () = stopped => {}
    }
    if !is_passed {
        // Connections that are established but not accepted yet may already have sent their request. Closing the
        // listener would reset them.
        refuse_new_connections(&listener);
        let last_room = ConnectionRoom::new(usize::MAX);
        let last_ones = async {
            while let Ok((stream, peer)) = listener.accept().await {
                let Some(place) = last_room.find_place() else { continue };
                serve_connection(&threads, &connections, stream.into_std(), peer, Admission::Served(place));
            }
        };
        let _ = tokio::time::timeout(HANDSHAKE_TIME, last_ones).await;
    }
    drop(listener);
    drop(connections);
    let _ = end.send(true);
    if tokio::time::timeout(app.settings.stop_timeout, finished.recv()).await.is_err() {
        tracing::warn!("some requests were still running when the stop timeout ended");
    }
}

/// Lets [`BACKLOG`] connections wait. Listening again on a socket that listens changes nothing else.
fn extend_backlog(listener: &TcpListener) -> io::Result<()> {
    socket2::SockRef::from(listener).listen(BACKLOG)
}

/// Refuses new connections but keeps established ones and those about to be established: a filter that drops only the
/// first packet of a connection. Such a client is refused when the listener is gone. On other systems than Linux, a
/// connection in these microseconds is reset.
fn refuse_new_connections(listener: &TcpListener) {
    #[cfg(target_os = "linux")]
    {
        use socket2::SockFilter;

        /// The offset of the TCP flags in a packet, and the flag that opens a connection.
        const FLAGS: u32 = 13;
        const SYN: u32 = 2;
        // Instructions of the packet filter. A filter returns how many bytes of the packet to keep.
        const LOAD_BYTE: u16 = 0x30;
        const SKIP_UNLESS_SET: u16 = 0x45;
        const RETURN: u16 = 0x06;
        let no_first_packet = [
            SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
            SockFilter::new(SKIP_UNLESS_SET, 0, 1, SYN),
            SockFilter::new(RETURN, 0, 0, 0),
            SockFilter::new(RETURN, 0, 0, u32::MAX),
        ];
        if let Err(error) = socket2::SockRef::from(listener).attach_filter(&no_first_packet) {
            tracing::debug!(%error, "cannot refuse new connections before the listener closes");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = listener;
}

/// What all connections share.
struct Connections {
    app: Arc<App>,
    router: Arc<Router>,
    /// Places of connections that are served for their health checks only.
    reserve: Arc<ConnectionRoom>,
    /// Limits refused connections that are waited for.
    refusals: Arc<Semaphore>,
    ending: watch::Receiver<bool>,
    /// Held while a connection is open.
    _working: mpsc::Sender<()>,
}

/// What happens to a new connection.
enum Admission {
    Served(ConnectionPlace),
    /// All places are busy: only health checks are answered.
    HealthOnly(ConnectionPlace),
    /// Even the reserve is busy.
    Refused(OwnedSemaphorePermit),
}

/// Whether the process or the system has no room for another socket.
fn is_out_of_sockets(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    cfg!(unix) && matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

/// Serves a connection on one of the worker threads.
fn serve_connection(
    threads: &WorkerThreads,
    connections: &Arc<Connections>,
    stream: io::Result<net::TcpStream>,
    peer: SocketAddr,
    admission: Admission,
) {
    let connections = Arc::clone(connections);
    threads.run_on_least_busy(move |slot| match stream.and_then(TcpStream::from_std) {
        Ok(stream) => {
            tokio::spawn(async move {
                match admission {
                    Admission::Served(place) => connections.serve_requests(stream, peer, place, false).await,
                    Admission::HealthOnly(place) => {
                        connections.serve_requests(stream, peer, place, true).await;
                    }
                    Admission::Refused(permit) => {
                        refuse_connection(stream).await;
                        drop(permit);
                    }
                }
                drop((slot, connections));
            });
        }
        Err(error) => tracing::warn!(%error, "cannot accept a connection"),
    });
}

impl Connections {
    /// Finds a place for a new connection; `None` to close it without an answer.
    fn admit_connection(&self) -> Option<Admission> {
        if let Some(place) = self.app.connections.find_place() {
            return Some(Admission::Served(place));
        }
        if let Some(place) = self.reserve.find_place() {
            return Some(Admission::HealthOnly(place));
        }
        Metrics::record_refusal("connections");
        Arc::clone(&self.refusals).try_acquire_owned().ok().map(Admission::Refused)
    }

    /// Serves the requests of a connection.
    fn serve_requests(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        place: ConnectionPlace,
        only_health: bool,
    ) -> impl Future<Output = ()> + 'static {
        // Responses are written at once: waiting for more data gains nothing.
        let _ = stream.set_nodelay(true);
        let (asked, has_asked) = watch::channel(false);
        let (router, place) = (Arc::clone(&self.router), Arc::new(place));
        let asking_place = Arc::clone(&place);
        let service = service_fn(move |request: Request<Incoming>| {
            if !*asked.borrow() {
                asked.send_replace(true);
            }
            let (router, under_way) = (Arc::clone(&router), asking_place.begin_request());
            async move {
                let mut response = if only_health && !HEALTH_PATHS.contains(&request.uri().path()) {
                    Metrics::record_refusal("connections");
                    Problem::from(TOO_MANY).to_response(ErrorFormat::Problem)
                } else {
                    router.answer_request(request, peer.ip()).await
                };
                if only_health {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<Response, Infallible>(response.map(|body| body.with_guard(under_way)))
            }
        });
        let mut builder = http1::Builder::new();
        let timeout = self.app.settings.header_timeout;
        let timeout = if only_health { timeout.min(RESERVE_HEADER_TIMEOUT) } else { timeout };
        builder.timer(TokioTimer::new()).header_read_timeout(timeout);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let (ending, linger) = (self.ending.clone(), self.app.settings.linger);
        async move {
            if let Err(error) = run_until_stopped(connection, &place, ending, has_asked, linger).await {
                tracing::debug!(%error, "connection ended early");
            }
        }
    }
}

/// The answer to a connection beyond the limit.
const TOO_MANY: Full = Full { what: "too many connections at once", setting: "server.max_connections" };

/// Tells a client that there is no room, without reading its request.
async fn refuse_connection(mut stream: TcpStream) {
    let body = Problem::from(TOO_MANY).to_json().to_string();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let tell = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        // Closing a socket with unread data resets the connection, and the client might lose the answer.
        let mut unread = [0; 1_024];
        while stream.read(&mut unread).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    let _ = tokio::time::timeout(REFUSAL_TIME, tell).await;
}

/// Serves until the client leaves, another connection takes the place, or the daemon stops. A connection that has not
/// sent a request yet gets a moment: its request may be on the way.
async fn run_until_stopped<I, S>(
    connection: http1::Connection<I, S>,
    place: &ConnectionPlace,
    mut ending: watch::Receiver<bool>,
    mut has_asked: watch::Receiver<bool>,
    linger: Duration,
) -> hyper::Result<()>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    S: HttpService<Incoming, ResBody = Body>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut connection = pin!(connection);
    let is_evicted = tokio::select! {
        ended = connection.as_mut() => return ended,
        _ = ending.wait_for(|ending| *ending) => false,
        () = place.wait_for_eviction() => true,
    };
    if is_evicted {
        return close_evicted(connection, place).await;
    }
    tokio::select! {
        ended = connection.as_mut() => return ended,
        _ = has_asked.wait_for(|asked| *asked) => {}
        () = tokio::time::sleep(linger) => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}

/// Ends a connection that lost its place. A request that arrives at the same moment is still answered.
async fn close_evicted<I, S>(
    mut connection: Pin<&mut http1::Connection<I, S>>,
    place: &ConnectionPlace,
) -> hyper::Result<()>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    S: HttpService<Incoming, ResBody = Body>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // Without a request there is no answer that could get lost.
    if !place.has_asked() {
        return Ok(());
    }
    connection.as_mut().graceful_shutdown();
    // The end of the last answer may still be on its way to the client.
    match tokio::time::timeout(EVICTION_TIME, connection.as_mut()).await {
        Ok(ended) => ended,
        Err(_) if place.is_busy() => connection.await,
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_burst_of_connections_waits_to_be_accepted() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        extend_backlog(&listener).expect("is possible");
        let address = listener.local_addr().expect("has an address");
        let wait = Duration::from_millis(500);
        let connect = || net::TcpStream::connect_timeout(&address, wait);
        let open: io::Result<Vec<net::TcpStream>> = (0..400).map(|_| connect()).collect();
        assert_eq!(open.expect("all fit into the queue").len(), 400);
    }
}
