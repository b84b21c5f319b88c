//! Connections: accepted while slots are free, and closed without losing a request.
//!
//! The reasons are in `docs/design/daemon-threads.md`.

use std::{
    convert::Infallible,
    io,
    net::{self, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use hyper::{
    Request,
    body::Incoming,
    server::conn::http1,
    service::{HttpService, service_fn},
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
};

use crate::{body::Body, routes::Router, state::App, worker_threads::WorkerThreads};

/// How long a connection that began before the listener closed may take to arrive.
const HANDSHAKE_TIME: Duration = Duration::from_millis(50);

/// How long to wait before accepting again when the system has no free sockets.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Serves connections on `threads` until `stop` resolves, then finishes the open ones.
pub(crate) async fn serve_connections(
    app: &Arc<App>,
    listener: TcpListener,
    threads: WorkerThreads,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let room = Arc::new(Semaphore::new(app.settings.max_connections));
    let (end, ending) = watch::channel(false);
    // The channel closes when the last connection drops its sender.
    let (working, mut finished) = mpsc::channel::<()>(1);
    let connections =
        Connections { app: Arc::clone(app), router: Arc::new(router), ending, _working: working };
    let connections = Arc::new(connections);
    let take = async {
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, peer)) => {
                    serve_connection(&threads, &connections, stream.into_std(), peer, Some(permit));
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
    // Connections that are established but not accepted yet may already have sent their request. Closing the listener
    // would reset them.
    refuse_new_connections(&listener);
    let last_ones = async {
        while let Ok((stream, peer)) = listener.accept().await {
            serve_connection(&threads, &connections, stream.into_std(), peer, None);
        }
    };
    let _ = tokio::time::timeout(HANDSHAKE_TIME, last_ones).await;
    drop(listener);
    drop(connections);
    let _ = end.send(true);
    if tokio::time::timeout(app.settings.stop_timeout, finished.recv()).await.is_err() {
        tracing::warn!("some requests were still running when the stop timeout ended");
    }
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
    ending: watch::Receiver<bool>,
    /// Held while a connection is open.
    _working: mpsc::Sender<()>,
}

/// Serves a connection on one of the worker threads.
fn serve_connection(
    threads: &WorkerThreads,
    connections: &Arc<Connections>,
    stream: io::Result<net::TcpStream>,
    peer: SocketAddr,
    permit: Option<OwnedSemaphorePermit>,
) {
    let connections = Arc::clone(connections);
    threads.run_on_least_busy(move |slot| match stream.and_then(TcpStream::from_std) {
        Ok(stream) => {
            let answered = connections.serve_requests(stream, peer);
            tokio::spawn(async move {
                answered.await;
                drop((permit, slot, connections));
            });
        }
        Err(error) => tracing::warn!(%error, "cannot accept a connection"),
    });
}

impl Connections {
    /// Serves the requests of a connection.
    fn serve_requests(&self, stream: TcpStream, peer: SocketAddr) -> impl Future<Output = ()> + 'static {
        // Responses are written at once: waiting for more data gains nothing.
        let _ = stream.set_nodelay(true);
        let (asked, has_asked) = watch::channel(false);
        let router = Arc::clone(&self.router);
        let service = service_fn(move |request: Request<Incoming>| {
            if !*asked.borrow() {
                asked.send_replace(true);
            }
            let router = Arc::clone(&router);
            async move { Ok::<_, Infallible>(router.answer_request(request, peer.ip()).await) }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.app.settings.header_timeout);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let (ending, linger) = (self.ending.clone(), self.app.settings.linger);
        async move {
            if let Err(error) = run_until_stopped(connection, ending, has_asked, linger).await {
                tracing::debug!(%error, "connection ended early");
            }
        }
    }
}

/// Serves until the client leaves or the daemon stops. A connection that has not sent a request yet gets a moment: its
/// request may be on the way.
async fn run_until_stopped<I, S>(
    connection: http1::Connection<I, S>,
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
    tokio::select! {
        ended = connection.as_mut() => return ended,
        _ = ending.wait_for(|ending| *ending) => {}
    }
    tokio::select! {
        ended = connection.as_mut() => return ended,
        _ = has_asked.wait_for(|asked| *asked) => {}
        () = tokio::time::sleep(linger) => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}
