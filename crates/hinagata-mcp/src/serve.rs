//! Serves sessions over standard input and output, and over HTTP.

use std::{convert::Infallible, fmt::Display, sync::Arc, time::Duration};

use bytes::Bytes;
use hinagata::{Code, Error, Result};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited, combinators::BoxBody};
use rmcp::{
    ErrorData, ServiceExt as _,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        stdio_pipes,
        streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService},
    },
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::{
    backend::Viewer,
    exposure::Exposure,
    http_sessions::{HttpSessions, with_caller},
    malformed::malformed_error,
    resources::Resources,
    session::Session,
    shared::Mcp,
    stdio::LineTransport,
};

/// How long requests may go on after the client closed its end of standard input. Hosts kill a server after two seconds.
const LAST_WORK: Duration = Duration::from_secs(1);

/// How long their responses may be written then.
const LAST_WRITES: Duration = Duration::from_millis(300);

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

impl Mcp {
    /// Serves one client over standard input and output until it disconnects.
    ///
    /// # Errors
    /// Code `store` when the client disconnects during the handshake or sends an invalid message.
    pub async fn serve_stdio(&self) -> Result<()> {
        let (read, write) = stdio_pipes();
        self.serve_streams(read, write).await
    }

    /// Serves one client over a pair of streams until it closes its end: questions and subscriptions end at once, other
    /// requests after a short time.
    ///
    /// # Errors
    /// As [`Mcp::serve_stdio`].
    pub async fn serve_streams<R, W>(&self, read: R, write: W) -> Result<()>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let failed = |error: &dyn Display| {
            Error::new(Code::Store, format!("cannot serve the client: {error}"))
                .with_hint("an MCP client, such as an editor or an agent, is meant to start this program")
        };
        let session = self.open_session();
        let ending = session.ending();
        let transport = LineTransport::new(read, write, ending.input.clone());
        let serve = async {
            let running = match session.serve(transport).await {
                Ok(running) => running,
                Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
                Err(error) => return Err(failed(&error)),
            };
            running.waiting().await.map_err(|error| failed(&error))?;
            Ok(())
        };
        let end = async {
            ending.input.cancelled().await;
            tokio::time::sleep(LAST_WORK).await;
            ending.work.cancel();
            tokio::time::sleep(LAST_WRITES).await;
        };
        tokio::select! {
            served = serve => served,
            () = end => {
                tracing::warn!("the client left without reading its responses");
                Ok(())
            }
        }
    }

    /// Serves requests over HTTP. The caller checks hosts, origins and keys, and puts the [`crate::Viewer`] into the
    /// extensions of each request.
    #[must_use]
    pub fn http_service(&self, max_body: usize) -> HttpService {
        let stop = CancellationToken::new();
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            // The sessions send the first event of a stream, in revisions that have it.
            .with_sse_retry(None)
            .with_max_request_body_bytes(max_body)
            .with_cancellation_token(stop.clone());
        let sessions = HttpSessions::start();
        let mcp = self.clone();
        let service =
            StreamableHttpService::new(move || Ok(mcp.open_session()), Arc::clone(&sessions), config);
        HttpService { service, sessions, mcp: self.clone(), max_body, stop }
    }
}

/// Serves requests over HTTP.
#[derive(Clone)]
pub struct HttpService {
    service: StreamableHttpService<Session, HttpSessions>,
    sessions: Arc<HttpSessions>,
    mcp: Mcp,
    max_body: usize,
    stop: CancellationToken,
}

impl HttpService {
    /// Handles a request.
    pub async fn handle_request<B>(&self, request: Request<B>) -> Response<BoxBody<Bytes, Infallible>>
    where
        B: Body + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let is_new = request.method() == http::Method::POST && !request.headers().contains_key(&SESSION_ID);
        let is_old = !request.headers().contains_key("mcp-method");
        let caller = request.extensions().get::<Viewer>().map(|viewer| Arc::clone(&viewer.name));
        if is_new && is_old && !self.sessions.has_room(caller.as_deref()) {
            return too_many_sessions();
        }
        if let Some(session) = session_id(request.headers())
            && !self.sessions.is_owner(session, caller.as_deref())
        {
            // Answer as for an unknown session: its existence must not be revealed.
            return text_response(StatusCode::NOT_FOUND, "text/plain", "Not Found: Session not found");
        }
        let (head, body) = request.into_parts();
        let text = match Limited::new(body, self.max_body).collect().await {
            Ok(text) => text.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let text = format!("the body exceeds {} bytes", self.max_body);
                return text_response(StatusCode::PAYLOAD_TOO_LARGE, "text/plain", text);
            }
            Err(error) => {
                let text = format!("cannot read the body: {error}");
                return text_response(StatusCode::BAD_REQUEST, "text/plain", text);
            }
        };
        let handling = self.service.handle(Request::from_parts(head, Full::new(text.clone())));
        let response = with_caller(caller, handling).await;
        match response.status() {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => malformed_response(&text).unwrap_or(response),
            _ => response,
        }
    }

    /// As [`Mcp::set_served`].
    pub fn set_served(&self, resources: Resources, exposure: Exposure) {
        self.mcp.set_served(resources, exposure);
    }

    /// What is wrong with the declared resources.
    #[must_use]
    pub fn resource_problems(&self) -> Vec<Error> {
        self.mcp.0.resources().problems().to_vec()
    }

    /// Ends all sessions and streams.
    pub fn stop_sessions(&self) {
        self.stop.cancel();
    }
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(&SESSION_ID).and_then(|value| value.to_str().ok())
}

/// The response to a malformed body, with a protocol error, or `None` if it is well formed.
fn malformed_response(text: &[u8]) -> Option<Response<BoxBody<Bytes, Infallible>>> {
    let problem = serde_json::from_slice::<ClientJsonRpcMessage>(text).err()?;
    let refused = malformed_error(text, &problem).unwrap_or_else(|| {
        ServerJsonRpcMessage::error(
            ErrorData::invalid_request(format!("invalid message: {problem}"), None),
            None,
        )
    });
    let text = serde_json::to_vec(&refused).ok()?;
    Some(text_response(StatusCode::BAD_REQUEST, "application/json", text))
}

fn text_response(
    status: StatusCode,
    kind: &'static str,
    text: impl Into<Bytes>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn too_many_sessions() -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = text_response(StatusCode::SERVICE_UNAVAILABLE, "text/plain", "too many open sessions");
    response.headers_mut().insert(http::header::RETRY_AFTER, HeaderValue::from_static("5"));
    response
}
