//! Sends requests, and retries them after transient failures.

use std::{
    collections::HashMap,
    error::Error as StdError,
    io::{self, ErrorKind},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::{Bytes, BytesMut};
use hinagata::{Error, Reason, Result};
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Response, Uri,
    header::{PROXY_AUTHORIZATION, RETRY_AFTER},
};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use tokio::{
    runtime::{Handle, Id},
    time::timeout,
};

use crate::{
    ChosenModel, ProviderFailure, ProviderRequest,
    completion::invalid_response,
    connector::Connector,
    failure::{model_error, truncate_for_display, with_causes},
    gate::{Clock, GateRules, Pass, ProviderGate, call_outcome, whole_seconds},
    plain_connections::{KEPT, PlainConnections, ResponseBody, SendFailure, is_plain},
    response::{BodyError, ProviderResponse},
    retry::{self, Retries},
};

/// Most bytes that are read of an error's body.
const MOST_OF_AN_ERROR: usize = 64 << 10;
/// Most runtimes that have clients at the same time.
const MOST_RUNTIMES: usize = 64;

type HttpClient = Client<Connector, Full<Bytes>>;

/// Sends requests. Connections are reused by calls on the same runtime, because they end with that runtime.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Created by the first call on each runtime.
    clients: Mutex<HashMap<Id, Arc<RuntimeClients>>>,
    /// The gates of the providers, by name and address.
    gates: Mutex<HashMap<(String, String), Arc<ProviderGate>>>,
    rules: GateRules,
    clock: Clock,
    connector: Connector,
    retries: Retries,
}

/// The clients of one runtime.
#[derive(Debug)]
struct RuntimeClients {
    plain: Arc<PlainConnections>,
    /// Uses connections with TLS again.
    pooled: HttpClient,
    /// Opens a connection with TLS for each request.
    fresh: HttpClient,
}

impl RuntimeClients {
    fn new(connector: &Connector) -> Self {
        let client = |most_idle| {
            let mut builder = Client::builder(TokioExecutor::new());
            builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
            builder.pool_idle_timeout(KEPT).pool_max_idle_per_host(most_idle).build(connector.clone())
        };
        let plain = PlainConnections::new(connector.clone());
        Self { plain, pooled: client(usize::MAX), fresh: client(0) }
    }

    /// Sends a request; `fresh` on a new connection.
    async fn send_request(
        &self,
        request: Request<Full<Bytes>>,
        fresh: bool,
    ) -> Result<Response<ResponseBody>, SendFailure> {
        if is_plain(request.uri()) {
            return self.plain.send_request(request, fresh).await;
        }
        let client = if fresh { &self.fresh } else { &self.pooled };
        let response = client.request(request).await.map_err(SendFailure::Client)?;
        Ok(response.map(ResponseBody::from))
    }
}

impl Sender {
    pub(crate) fn new(connector: Connector, retries: Retries, rules: GateRules, clock: Clock) -> Self {
        Self { clients: Mutex::default(), gates: Mutex::default(), rules, clock, connector, retries }
    }

    /// Makes a call of a model within `time`, if the gate of its provider admits it. The pass belongs to the answer. The
    /// caller pins the call: a future that is passed by value is stored twice.
    ///
    /// # Errors
    /// Code `model`: reasons `busy` and `down` if the call is refused, reason `timeout`, else those of the call.
    pub(crate) async fn guard_call<T>(
        &self,
        choice: &ChosenModel,
        time: Duration,
        call: Pin<&mut impl Future<Output = Result<T>>>,
    ) -> Result<(T, Pass)> {
        let gate = choice.endpoint.gate.get_or_init(|| self.find_gate(choice));
        let mut pass = gate
            .admit_call(self.clock.now())
            .map_err(|refusal| refusal.to_error(choice.provider(), choice.model()))?;
        let result = timeout(time, call).await.unwrap_or_else(|_| Err(timeout_error(choice, time)));
        pass.record_outcome(call_outcome(&result), self.clock.now());
        result.map(|value| (value, pass))
    }

    /// The gate of a model's provider. A model with an address of its own has a gate of its own.
    fn find_gate(&self, choice: &ChosenModel) -> Arc<ProviderGate> {
        let endpoint = &choice.endpoint;
        let key = (endpoint.name.to_string(), endpoint.base.to_string());
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = gates.entry(key).or_insert_with(|| {
            let concurrency = endpoint.concurrency.unwrap_or(self.rules.concurrency);
            Arc::new(ProviderGate::new(&endpoint.name, GateRules { concurrency, ..self.rules }))
        });
        Arc::clone(gate)
    }

    /// The clients of the current runtime.
    fn clients(&self) -> Arc<RuntimeClients> {
        let runtime = Handle::current().id();
        // The lock is held while clients are created, which never waits.
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MOST_RUNTIMES && !clients.contains_key(&runtime) {
            // Most of these runtimes have ended.
            clients.clear();
        }
        let of_runtime =
            clients.entry(runtime).or_insert_with(|| Arc::new(RuntimeClients::new(&self.connector)));
        Arc::clone(of_runtime)
    }

    /// The response to a request, as soon as its headers have arrived and its status is a success.
    ///
    /// # Errors
    /// Code `model`, for the last attempt.
    pub(crate) async fn send_request(
        &self,
        request: &ProviderRequest,
        stream: bool,
    ) -> Result<ProviderResponse> {
        let choice = &request.choice;
        let clients = self.clients();
        let (uri, body) = (request.uri(stream)?, request.body(stream));
        let headers = choice.endpoint.headers()?;
        let new_request = || self.new_request(&uri, headers, &body);
        let (mut attempts, mut closed) = (0, false);
        loop {
            attempts += 1;
            let mut sent = clients.send_request(new_request(), false).await;
            if !closed && sent.as_ref().is_err_and(is_closed_early) {
                // Providers close connections that were idle, sometimes just when the next request is sent. That is no
                // failure of the provider, so it does not count as an attempt.
                closed = true;
                tracing::debug!(provider = choice.provider(), "the connection was closed; using a new one");
                sent = clients.send_request(new_request(), true).await;
            }
            let (error, wait) = match sent.map(ProviderResponse::from_http) {
                Ok(response) if response.status().is_success() => return check_encoding(choice, response),
                Ok(response) => {
                    let asked =
                        retry::parse_retry_after(response.headers().get(RETRY_AFTER), SystemTime::now());
                    let wait = self.wait_before_retry(&response, asked, attempts);
                    let error = status_error(choice, response, wait.is_none()).await;
                    (
                        asked.into_iter().fold(error, |e, asked| e.with("retry_after", whole_seconds(asked))),
                        wait,
                    )
                }
                Err(error) => {
                    let wait = error.is_connect().then(|| self.retries.wait_after(attempts, None)).flatten();
                    (send_error(choice, &error), wait)
                }
            };
            let Some(wait) = wait else { return Err(error.with("attempts", attempts)) };
            tracing::debug!(provider = choice.provider(), attempts, ?wait, "retrying the request: {error}");
            tokio::time::sleep(wait).await;
        }
    }

    fn new_request(&self, uri: &Uri, headers: &HeaderMap, body: &Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.clone();
        request.headers_mut().clone_from(headers);
        if let Some(credentials) = self.connector.proxies().request_credentials(uri) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
        }
        request
    }

    fn wait_before_retry(
        &self,
        response: &ProviderResponse,
        asked: Option<Duration>,
        attempts: usize,
    ) -> Option<Duration> {
        retry::is_transient(response.status().as_u16())
            .then(|| self.retries.wait_after(attempts, asked))
            .flatten()
    }
}

/// Whether the connection of a request ended before its response began.
fn is_closed_early(error: &SendFailure) -> bool {
    !error.is_connect() && std::iter::successors(Some(error.cause()), |&cause| cause.source()).any(is_closed)
}

/// Whether an error says that the server closed the connection, or did not take the request.
fn is_closed(cause: &(dyn StdError + 'static)) -> bool {
    let of_http = cause.downcast_ref::<hyper::Error>();
    let of_stream = cause.downcast_ref::<h2::Error>();
    let of_socket = cause.downcast_ref::<io::Error>().map(io::Error::kind);
    of_http.is_some_and(|error| error.is_incomplete_message() || error.is_closed() || error.is_canceled())
        || of_stream.is_some_and(is_unprocessed)
        || matches!(
            of_socket,
            Some(
                ErrorKind::ConnectionReset
                    | ErrorKind::ConnectionAborted
                    | ErrorKind::BrokenPipe
                    | ErrorKind::UnexpectedEof
            )
        )
}

/// Whether a server with HTTP/2 says that it did not process a request: it shuts down, or has too many of them.
fn is_unprocessed(error: &h2::Error) -> bool {
    let is_reason = |reason| error.reason() == Some(reason);
    error.is_remote()
        && ((error.is_go_away() && is_reason(h2::Reason::NO_ERROR))
            || (error.is_reset() && is_reason(h2::Reason::REFUSED_STREAM)))
}

/// The error of a request without a response.
fn send_error(choice: &ChosenModel, error: &SendFailure) -> Error {
    let endpoint = &choice.endpoint;
    let origin = endpoint.base.origin().ascii_serialization();
    let why = with_causes(error.cause());
    let error = if error.is_connect() {
        model_error(Reason::Connect, format!("cannot connect to `{}` at {origin}: {why}", endpoint.name))
    } else {
        let message = format!("the connection to `{}` at {origin} failed: {why}", endpoint.name);
        model_error(Reason::Request, message)
    };
    error.with("provider", &*endpoint.name).with("model", choice.model()).with_hint(format!(
        "check that the provider runs there; `{}`, or `base_url` in `llm.providers.{}`, sets its address",
        endpoint.kind.spec().base_url_env,
        endpoint.name
    ))
}

/// A response whose body can be read.
fn check_encoding(choice: &ChosenModel, response: ProviderResponse) -> Result<ProviderResponse> {
    let Some(encoding) = response.unknown_encoding() else { return Ok(response) };
    let why = format!("it is compressed with `{}`, which nobody asked for", truncate_for_display(encoding));
    Err(invalid_response(choice.provider())
        .map_message(|message| format!("{message}: {why}"))
        .with("provider", choice.provider())
        .with("model", choice.model()))
}

/// The error of a response whose status is not a success. Only the body of the last attempt is read.
async fn status_error(choice: &ChosenModel, response: ProviderResponse, last: bool) -> Error {
    let status = response.status().as_u16();
    let content_type = response.content_type().map(str::to_owned);
    let body = if last { read_prefix(response).await } else { Bytes::new() };
    let endpoint = &choice.endpoint;
    let failure = ProviderFailure::new(status, content_type, body, endpoint.key.as_ref());
    let what = match status {
        401 | 403 => "rejected the API key",
        404 => "does not know the model or the URL",
        429 => "has a rate limit or a quota that is exceeded",
        300..=399 => "redirects to another address; redirects are not followed",
        500.. => "failed to answer",
        _ => "rejected the request",
    };
    let error = model_error(Reason::Status, format!("`{}` {what}", endpoint.name))
        .with("provider", &*endpoint.name)
        .with("model", choice.model())
        .with("provider_status", status)
        .with("provider_message", failure.message());
    let hint = match (status, &endpoint.key) {
        (401 | 403, Some(key)) => {
            format!("check that `{}` holds an API key of this provider", key.variable())
        }
        (401 | 403, None) => {
            format!(
                "set `key_env` in `llm.providers.{}` to the name of the variable with its API key",
                endpoint.name
            )
        }
        (404, _) => format!(
            "the request was for `{}` at {}: check the name of the model and `base_url`",
            choice.model(),
            endpoint.base
        ),
        _ => return error.with_source(failure),
    };
    error.with_hint(hint).with_source(failure)
}

/// The start of a body, as much as an error needs.
async fn read_prefix(mut response: ProviderResponse) -> Bytes {
    let mut all = BytesMut::new();
    while let Ok(Some(chunk)) = response.next_chunk().await {
        let room = MOST_OF_AN_ERROR - all.len();
        all.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if all.len() == MOST_OF_AN_ERROR {
            break;
        }
    }
    all.freeze()
}

/// The complete body of a response.
///
/// # Errors
/// Code `model`: reason `size` if it is longer than `most` bytes, reason `stream` if the connection ends early.
pub(crate) async fn read_body(
    choice: &ChosenModel,
    mut response: ProviderResponse,
    most: usize,
) -> Result<Bytes> {
    let mut all = BytesMut::new();
    let mut first = None;
    while let Some(chunk) =
        response.next_chunk().await.map_err(|error| broken_stream_error(choice, &error))?
    {
        if all.len() + first.as_ref().map_or(0, Bytes::len) + chunk.len() > most {
            return Err(model_error(
                Reason::Size,
                format!("the response from `{}` is longer than {most} bytes", choice.provider()),
            )
            .with("limit", most)
            .with_hint("raise `llm.max_answer`"));
        }
        // Most responses arrive in one piece, which needs no copy.
        match (first.take(), all.is_empty()) {
            (None, true) => first = Some(chunk),
            (before, _) => {
                all.extend_from_slice(before.as_deref().unwrap_or_default());
                all.extend_from_slice(&chunk);
            }
        }
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}

/// The error of a response that ends early.
pub(crate) fn broken_stream_error(choice: &ChosenModel, error: &BodyError) -> Error {
    let why = with_causes(&**error);
    model_error(Reason::Stream, format!("the response from `{}` ended early: {why}", choice.provider()))
        .with("provider", choice.provider())
        .with("model", choice.model())
}

/// The error of a response that does not arrive in time.
pub(crate) fn timeout_error(choice: &ChosenModel, time: Duration) -> Error {
    model_error(Reason::Timeout, format!("`{}` did not answer within {time:?}", choice.provider()))
        .with("provider", choice.provider())
        .with("model", choice.model())
        .with("limit", time.as_secs_f64())
        .with_hint("raise `llm.timeout`, or stream the answer")
}
