//! The HTTP server.

use std::{
    collections::VecDeque,
    fmt, io,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    body::{Body, to_bytes},
    http::{
        HeaderName, HeaderValue, StatusCode,
        header::{CONTENT_ENCODING, CONTENT_TYPE},
    },
    response::Response,
};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use hyper::{Request, Version, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::{
    Received, Reply,
    canned::{self, Language},
};

/// Largest body that is read.
const LARGEST: usize = 64 << 20;

/// The replies, the recorded requests and the disconnected clients.
#[derive(Debug)]
pub struct State {
    replies: Mutex<VecDeque<Reply>>,
    received: Mutex<Vec<Received>>,
    /// Whether requests are recorded.
    records: bool,
    count: watch::Sender<usize>,
    disconnects: watch::Sender<usize>,
    connections: AtomicUsize,
    steps: Semaphore,
}

impl Default for State {
    fn default() -> Self {
        Self {
            replies: Mutex::default(),
            received: Mutex::default(),
            records: true,
            count: watch::Sender::new(0),
            disconnects: watch::Sender::new(0),
            connections: AtomicUsize::new(0),
            steps: Semaphore::new(0),
        }
    }
}

/// Locks a mutex, which is never held across an await.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// A state that records nothing, for benchmarks.
    #[must_use]
    pub fn without_recording() -> Self {
        Self { records: false, ..Self::default() }
    }

    /// Adds a reply to the queue.
    pub fn push(&self, reply: Reply) {
        lock(&self.replies).push_back(reply);
    }

    pub(crate) fn step(&self) {
        self.steps.add_permits(1);
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        lock(&self.received).clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) async fn wait_for_disconnect(&self) {
        // It fails only if the sender is dropped, and this type owns it.
        let _ = self.disconnects.subscribe().wait_for(|count| *count > 0).await;
    }

    pub(crate) async fn wait_for_requests(&self, count: usize) {
        let _ = self.count.subscribe().wait_for(|received| *received >= count).await;
    }
}

/// Serves on `listener` until the future is dropped.
///
/// # Errors
/// If the listener fails.
pub async fn serve(listener: std::net::TcpListener, state: Arc<State>) -> io::Result<()> {
    serve_with_tls(listener, state, None).await
}

/// As [`serve`], with TLS.
pub(crate) async fn serve_with_tls(
    listener: std::net::TcpListener,
    state: Arc<State>,
    tls: Option<TlsAcceptor>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        state.connections.fetch_add(1, Ordering::SeqCst);
        let (state, tls) = (Arc::clone(&state), tls.clone());
        let service = service_fn(move |request| answer(Arc::clone(&state), request));
        // A connection that fails is the client's to notice.
        tokio::spawn(async move {
            match tls {
                None => {
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                }
                Some(tls) => {
                    let Ok(stream) = tls.accept(stream).await else { return };
                    let builder = auto::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                }
            }
        });
    }
}

/// The response to a request; an error closes the connection.
async fn answer(state: Arc<State>, request: Request<Incoming>) -> io::Result<Response> {
    let (head, body) = request.into_parts();
    let body = to_bytes(Body::new(body), LARGEST).await.unwrap_or_default();
    let path = head.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let language = Language::from_path(&path);
    if !state.records && lock(&state.replies).is_empty() {
        return Ok(canned(language, wants_stream(&path, &body), wants_usage(&body)));
    }
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let streamed = wants_stream(&path, &body);
    lock(&state.received).push(Received {
        path,
        headers: head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        is_http2: head.version == Version::HTTP_2,
        is_for_proxy: head.version < Version::HTTP_2 && head.uri.authority().is_some(),
    });
    state.count.send_modify(|count| *count += 1);
    let reply = lock(&state.replies).pop_front().unwrap_or(Reply::Canned);
    send_reply(&state, reply, language, streamed, wants_usage(&body)).await
}

/// Whether the request asks for a stream, by its path or its body.
fn wants_stream(path: &str, body: &[u8]) -> bool {
    let end = body.trim_ascii_end();
    path.contains(":streamGenerateContent")
        || end.ends_with(br#""stream":true}"#)
        || serde_json::from_slice::<Value>(body).is_ok_and(|body| body["stream"] == true)
}

/// Whether the request asks for the token usage of a stream.
fn wants_usage(body: &[u8]) -> bool {
    let wanted = br#""include_usage":true"#;
    body.windows(wanted.len()).any(|part| part == wanted)
}

async fn send_reply(
    state: &Arc<State>,
    reply: Reply,
    language: Language,
    streamed: bool,
    with_usage: bool,
) -> io::Result<Response> {
    let stream_type = language.stream_type();
    Ok(match reply {
        Reply::Canned => canned(language, streamed, with_usage),
        Reply::Json(value) => with_type("application/json", Body::from(value.to_string())),
        Reply::Encoded { encoding, body } => {
            let kind = if streamed { stream_type } else { "application/json" };
            let mut response = with_type(kind, Body::from(body));
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
            response
        }
        Reply::Status { status, headers, body } => {
            let mut response = with_type("application/json", Body::from(body));
            *response.status_mut() = StatusCode::from_u16(status).expect("is a status");
            for (name, value) in headers {
                let name = HeaderName::try_from(name).expect("is the name of a header");
                response.headers_mut().insert(name, HeaderValue::try_from(value).expect("is a header"));
            }
            response
        }
        Reply::Stream(pieces) => with_type(stream_type, streamed_body(pieces, stream::empty())),
        Reply::Steps(pieces) => with_type(stream_type, stepped_body(Arc::clone(state), pieces)),
        Reply::BreakOff(pieces) => {
            let broken = stream::once(async {
                // Yielding lets the server send the earlier pieces first.
                tokio::task::yield_now().await;
                Err(io::Error::other("it breaks off"))
            });
            with_type(stream_type, streamed_body(pieces, broken))
        }
        Reply::Hang(pieces) => {
            let guard = Guard(Arc::clone(state));
            let silence = stream::once(async move {
                let _guard = guard;
                std::future::pending().await
            });
            with_type(stream_type, streamed_body(pieces, silence))
        }
        Reply::Silence => {
            let _guard = Guard(Arc::clone(state));
            std::future::pending().await
        }
        Reply::Close => return Err(io::Error::other("the connection is closed")),
        Reply::Refuse => return Err(io::Error::other(Refused(h2::Reason::REFUSED_STREAM.into()))),
    })
}

/// The error of a refused request. hyper looks for the reason in its sources, among which an inner error of
/// [`io::Error`] itself is not.
#[derive(Debug)]
struct Refused(h2::Error);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request is refused")
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// The fixed answers; the one for benchmarks is built once.
fn canned(language: Language, streamed: bool, with_usage: bool) -> Response {
    static WHOLE: LazyLock<Bytes> =
        LazyLock::new(|| canned::whole_answer(Language::OpenAi).to_string().into());
    match (language, streamed) {
        (Language::OpenAi, false) => with_type("application/json", Body::from(WHOLE.clone())),
        (_, false) => with_type("application/json", Body::from(canned::whole_answer(language).to_string())),
        (_, true) => with_type(
            language.stream_type(),
            streamed_body(canned::answer_pieces(language, with_usage), stream::empty()),
        ),
    }
}

fn with_type(kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A body of pieces, followed by `then`.
fn streamed_body(
    pieces: Vec<String>,
    then: impl stream::Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Body {
    let pieces = stream::iter(pieces).map(|piece| Ok(Bytes::from(piece)));
    // Each piece is sent before the next one is polled.
    Body::from_stream(
        pieces
            .then(|piece| async {
                tokio::task::yield_now().await;
                piece
            })
            .chain(then),
    )
}

/// A body that waits for a step before each piece.
fn stepped_body(state: Arc<State>, pieces: Vec<String>) -> Body {
    Body::from_stream(stream::iter(pieces).then(move |piece| {
        let state = Arc::clone(&state);
        async move {
            let permit = state.steps.acquire().await.map_err(io::Error::other)?;
            permit.forget();
            Ok::<_, io::Error>(Bytes::from(piece))
        }
    }))
}

/// Records that a client disconnected.
struct Guard(Arc<State>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.disconnects.send_modify(|count| *count += 1);
    }
}
