//! A Streamable HTTP client with a limit on response sizes, which remembers why it refused a response.

use std::{
    borrow::Cow,
    collections::HashMap,
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use hinagata::Error;
use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use rmcp::{
    model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::{Sse, SseStream};
use tokio_stream::{Stream, StreamExt as _};

use crate::{failure::truncate_for_display, host_guard::own_error, http};

const SESSION: &str = "mcp-session-id";
const EVENTS: &str = "text/event-stream";

type Events = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;
type TransportError = StreamableHttpError<reqwest::Error>;

/// The last refusal. The protocol library only carries messages, not our errors.
#[derive(Clone, Debug, Default)]
pub(super) struct LastRefusal(Arc<Mutex<Option<Error>>>);

impl LastRefusal {
    fn record_refusal(&self, error: Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    pub(super) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A client that reads at most `most` bytes of a response.
#[derive(Clone)]
pub(super) struct BoundedClient {
    pub(super) client: reqwest::Client,
    pub(super) most: usize,
    pub(super) refusal: LastRefusal,
}

impl BoundedClient {
    fn request_error(&self, error: reqwest::Error) -> TransportError {
        if let Some(own) = own_error(&error) {
            self.refusal.record_refusal(own);
        }
        StreamableHttpError::Client(error.without_url())
    }

    fn refusal_error(&self, error: Error) -> TransportError {
        let sentence = error.to_string();
        self.refusal.record_refusal(error);
        StreamableHttpError::Io(io::Error::other(sentence))
    }

    fn events(&self, response: Response) -> Events {
        let (mut left, most, refusal) = (self.most, self.most, self.refusal.clone());
        let bytes = response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(io::Error::other)?;
            left = left.checked_sub(chunk.len()).ok_or_else(|| {
                refusal.record_refusal(http::too_long_error(most));
                io::Error::other("the response is too large")
            })?;
            Ok::<_, io::Error>(chunk)
        });
        Box::pin(SseStream::from_bytes_stream(bytes))
    }

    /// Reads the response to a message.
    async fn answer(
        &self,
        response: Response,
        message: &ClientJsonRpcMessage,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        let (status, session) = (response.status(), text(&response, SESSION));
        if status.is_success()
            && text(&response, CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with(EVENTS))
        {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response), session));
        }
        let body = http::read_body(response, self.most).await.map_err(|error| self.refusal_error(error))?;
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) if status.is_success() || matches!(answer, JsonRpcMessage::Error(_)) => {
                Ok(StreamableHttpPostResponse::Json(answer, session))
            }
            // A notification expects no response.
            _ if status.is_success() && !matches!(message, JsonRpcMessage::Request(_)) => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            _ => {
                let said = truncate_for_display(&String::from_utf8_lossy(&body[..body.len().min(400)]));
                Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!(
                    "status {status}: {said}"
                ))))
            }
        }
    }
}

fn text(response: &Response, header: &str) -> Option<String> {
    response.headers().get(header)?.to_str().ok().map(str::to_owned)
}

impl StreamableHttpClient for BoundedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        let mut request = self.client.post(&*uri).header(ACCEPT, format!("{EVENTS}, application/json"));
        if let Some(token) = auth_header {
            request = request.bearer_auth(token);
        }
        for (name, value) in custom_headers {
            request = request.header(name, value);
        }
        if let Some(session) = &session_id {
            request = request.header(SESSION, &**session);
        }
        let response = request.json(&message).send().await.map_err(|error| self.request_error(error))?;
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::NOT_FOUND if session_id.is_some() => Err(StreamableHttpError::SessionExpired),
            _ => self.answer(response, &message).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), TransportError> {
        self.client.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, TransportError> {
        let (client, most) = (&self.client, self.most);
        client
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                most,
            )
            .await
    }
}
