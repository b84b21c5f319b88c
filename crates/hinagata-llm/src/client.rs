//! Sends requests, and retries them after transient failures.

use std::{
    collections::HashMap,
    error::Error as _,
    io::{self, ErrorKind},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::{Bytes, BytesMut};
use hinagata::{Error, Reason, Result};
use reqwest::{
    Client, Method, Response,
    header::{CONTENT_TYPE, RETRY_AFTER},
    redirect::Policy,
};
use tokio::runtime::{Handle, Id};

use crate::{
    ChosenModel, ProviderFailure, ProviderRequest,
    failure::{model_error, with_causes},
    gate::{Clock, GateRules, Pass, ProviderGate, call_outcome, whole_seconds},
    retry::{self, Retries},
};

/// Most bytes that are read of an error's body.
const MOST_OF_AN_ERROR: usize = 64 << 10;
/// How long an idle connection stays open: many servers close theirs after a minute.
const KEPT: Duration = Duration::from_secs(30);

/// Most runtimes that have clients at the same time.
const MOST_RUNTIMES: usize = 64;

/// Sends requests. Connections are reused by calls on the same runtime, because they end with that runtime.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Created by the first call.
    clients: Mutex<HashMap<ClientKey, Client>>,
    /// The gates of the providers, by name and address.
    gates: Mutex<HashMap<(String, String), Arc<ProviderGate>>>,
    rules: GateRules,
    clock: Clock,
    connect_timeout: Duration,
    retries: Retries,
}

/// What a client is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ClientKey {
    runtime: Id,
    /// Local providers are called without a proxy.
    is_local: bool,
    /// Whether each request has a connection of its own.
    is_fresh: bool,
}

impl Sender {
    pub(crate) fn new(connect_timeout: Duration, retries: Retries, rules: GateRules, clock: Clock) -> Self {
        Self { clients: Mutex::default(), gates: Mutex::default(), rules, clock, connect_timeout, retries }
    }

    /// Makes a call of a model, if the gate of its provider admits it. The pass belongs to the answer.
    ///
    /// # Errors
    /// Code `model`: reasons `busy` and `down` if the call is refused, else those of the call.
    pub(crate) async fn guard_call<T>(
        &self,
        choice: &ChosenModel,
        call: impl Future<Output = Result<T>>,
    ) -> Result<(T, Pass)> {
        let admitted = self.gate(choice).admit_call(self.clock.now());
        let mut pass = admitted.map_err(|refusal| refusal.to_error(choice))?;
        let result = call.await;
        pass.record_outcome(call_outcome(&result), self.clock.now());
        result.map(|value| (value, pass))
    }

    /// The gate of a model's provider. A model with an address of its own has a gate of its own.
    fn gate(&self, choice: &ChosenModel) -> Arc<ProviderGate> {
        let endpoint = &choice.endpoint;
        let key = (endpoint.name.clone(), endpoint.base.to_string());
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = gates.entry(key).or_insert_with(|| {
            let concurrency = endpoint.concurrency.unwrap_or(self.rules.concurrency);
            Arc::new(ProviderGate::new(&endpoint.name, GateRules { concurrency, ..self.rules }))
        });
        Arc::clone(gate)
    }

    /// The client for a model.
    fn client(&self, choice: &ChosenModel, is_fresh: bool) -> Result<Client> {
        let is_local = choice.endpoint.is_local;
        let key = ClientKey { runtime: Handle::current().id(), is_local, is_fresh };
        // The lock is held while a client is created, which never waits.
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        if clients.len() >= MOST_RUNTIMES {
            // Most of these runtimes have ended.
            clients.clear();
        }
        let made = new_client(self.connect_timeout, key)?;
        clients.insert(key, made.clone());
        Ok(made)
    }

    /// The response to a request, as soon as its headers have arrived and its status is a success.
    ///
    /// # Errors
    /// Code `model`, for the last attempt.
    pub(crate) async fn send_request(&self, request: &ProviderRequest, stream: bool) -> Result<Response> {
        let choice = &request.choice;
        let client = self.client(choice, false)?;
        let (url, headers, body) = (request.url(stream), choice.endpoint.headers()?, request.body(stream));
        let new_request = || {
            let mut http = reqwest::Request::new(Method::POST, url.clone());
            http.headers_mut().clone_from(&headers);
            *http.body_mut() = Some(body.clone().into());
            http
        };
        let (mut attempts, mut closed) = (0, false);
        loop {
            attempts += 1;
            let mut sent = client.execute(new_request()).await;
            if !closed && sent.as_ref().is_err_and(is_closed_early) {
                // Providers close connections that were idle, sometimes just when the next request is sent. That is no
                // failure of the provider, so it does not count as an attempt.
                closed = true;
                tracing::debug!(provider = choice.provider(), "the connection was closed; using a new one");
                sent = self.client(choice, true)?.execute(new_request()).await;
            }
            let (error, wait) = match sent {
                Ok(response) if response.status().is_success() => return Ok(response),
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
                    (send_error(choice, error), wait)
                }
            };
            let Some(wait) = wait else { return Err(error.with("attempts", attempts)) };
            tracing::debug!(provider = choice.provider(), attempts, ?wait, "retrying the request: {error}");
            tokio::time::sleep(wait).await;
        }
    }

    fn wait_before_retry(
        &self,
        response: &Response,
        asked: Option<Duration>,
        attempts: usize,
    ) -> Option<Duration> {
        retry::is_transient(response.status().as_u16())
            .then(|| self.retries.wait_after(attempts, asked))
            .flatten()
    }
}

/// Whether the connection of a request ended before its response began.
fn is_closed_early(error: &reqwest::Error) -> bool {
    if error.is_connect() || error.is_timeout() {
        return false;
    }
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        let of_http = cause.downcast_ref::<hyper::Error>();
        let of_socket = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        of_http.is_some_and(|error| error.is_incomplete_message() || error.is_closed() || error.is_canceled())
            || matches!(
                of_socket,
                Some(
                    ErrorKind::ConnectionReset
                        | ErrorKind::ConnectionAborted
                        | ErrorKind::BrokenPipe
                        | ErrorKind::UnexpectedEof
                )
            )
    };
    std::iter::successors(error.source(), |&cause| cause.source()).any(is_closed)
}

fn new_client(connect_timeout: Duration, key: ClientKey) -> Result<Client> {
    hinagata_http::install_tls();
    let builder = Client::builder()
        // A redirect could send the key to another host.
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(KEPT)
        // Responses are forwarded as they arrive.
        .no_gzip()
        .user_agent(concat!("hinagata/", env!("CARGO_PKG_VERSION")));
    let builder = if key.is_local { builder.no_proxy() } else { builder };
    let builder = if key.is_fresh { builder.pool_max_idle_per_host(0) } else { builder };
    builder
        .build()
        .map_err(|error| model_error(Reason::Connect, format!("cannot create an HTTP client: {error}")))
}

/// The error of a request without a response.
fn send_error(choice: &ChosenModel, error: reqwest::Error) -> Error {
    let endpoint = &choice.endpoint;
    let origin = endpoint.base.origin().ascii_serialization();
    let connected = !error.is_connect();
    let why = with_causes(&error.without_url());
    let error = match connected {
        false => {
            model_error(Reason::Connect, format!("cannot connect to `{}` at {origin}: {why}", endpoint.name))
        }
        true => model_error(
            Reason::Request,
            format!("the connection to `{}` at {origin} failed: {why}", endpoint.name),
        ),
    };
    error.with("provider", endpoint.name.as_str()).with("model", choice.model()).with_hint(format!(
        "check that the provider runs there; `{}`, or `base_url` in `llm.providers.{}`, sets its address",
        endpoint.kind.spec().base_url_env,
        endpoint.name
    ))
}

/// The error of a response whose status is not a success. Only the body of the last attempt is read.
async fn status_error(choice: &ChosenModel, response: Response, last: bool) -> Error {
    let status = response.status().as_u16();
    let content_type =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
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
        .with("provider", endpoint.name.as_str())
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
async fn read_prefix(mut response: Response) -> Bytes {
    let mut all = BytesMut::new();
    while let Ok(Some(chunk)) = response.chunk().await {
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
pub(crate) async fn read_body(choice: &ChosenModel, mut response: Response, most: usize) -> Result<Bytes> {
    let mut all = BytesMut::new();
    let mut first = None;
    while let Some(chunk) = response.chunk().await.map_err(|error| broken_stream_error(choice, error))? {
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
pub(crate) fn broken_stream_error(choice: &ChosenModel, error: reqwest::Error) -> Error {
    let why = with_causes(&error.without_url());
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
