//! The two ways in: standard input and output, and HTTP.

use std::{convert::Infallible, fmt::Display, sync::Arc};

use bytes::Bytes;
use hinagata::{Code, Error, Result};
use http::{HeaderName, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use rmcp::{
    ServiceExt as _,
    transport::{
        stdio_pipes,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use tokio_util::sync::CancellationToken;

use crate::{session::Session, shared::Mcp};

/// Most sessions of older revisions at the same time.
const MOST_SESSIONS: usize = 1_024;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

impl Mcp {
    /// Serves one client over standard input and output, until it hangs up.
    ///
    /// # Errors
    /// Code `store` when the client hangs up before it said who it is, or says something that is no message.
    pub async fn serve_stdio(&self) -> Result<()> {
        let failed = |error: &dyn Display| {
            Error::new(Code::Store, format!("the client could not be served: {error}"))
                .with_hint("`hina mcp` speaks to a program, as an editor or an agent starts it")
        };
        let running = match self.session().serve(stdio_pipes()).await {
            Ok(running) => running,
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(failed(&error)),
        };
        running.waiting().await.map_err(|error| failed(&error))?;
        Ok(())
    }

    /// Answers requests over HTTP; the caller checks names, pages and keys, and puts the [`crate::Viewer`] into the
    /// extensions of each request.
    #[must_use]
    pub fn http(&self, max_body: usize) -> HttpService {
        let stop = CancellationToken::new();
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_max_request_body_bytes(max_body)
            .with_cancellation_token(stop.clone());
        let sessions = Arc::new(LocalSessionManager::default());
        let mcp = self.clone();
        let service = StreamableHttpService::new(move || Ok(mcp.session()), Arc::clone(&sessions), config);
        HttpService { service, sessions, stop }
    }
}

/// Answers requests over HTTP.
#[derive(Clone)]
pub struct HttpService {
    service: StreamableHttpService<Session, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    stop: CancellationToken,
}

impl HttpService {
    /// Answers a request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<BoxBody<Bytes, Infallible>>
    where
        B: Body + Send + 'static,
        B::Error: Display,
    {
        let is_new = request.method() == http::Method::POST && !request.headers().contains_key(&SESSION_ID);
        let is_old = !request.headers().contains_key("mcp-method");
        if is_new && is_old && self.sessions.sessions.read().await.len() >= MOST_SESSIONS {
            return too_many();
        }
        self.service.handle(request).await
    }

    /// Ends all sessions and streams.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

fn too_many() -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"too many sessions are open")).boxed());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(http::header::RETRY_AFTER, http::HeaderValue::from_static("5"));
    response
}
