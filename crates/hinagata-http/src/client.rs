//! Sends requests.

use std::{
    error::Error as StdError,
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::{
    Method, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::{Attempt, Policy},
};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::oneshot,
    task::AbortHandle,
};

use crate::{AllowedHosts, HttpError, install_tls};

/// Maximum redirects to follow.
const MAX_REDIRECTS: usize = 5;
/// Maximum bytes of a header name or value.
const MAX_HEADER_BYTES: usize = 16 << 10;
/// Headers that belong to the connection or select the server. They follow from the URL and the body.
const CONTROLLED_HEADERS: [&str; 9] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Resolves a name to addresses. It may block.
pub type NameResolver = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// An HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method, such as `GET`.
    pub method: String,
    /// The URL.
    pub url: String,
    /// The headers, by name.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// The media type of the body, unless a header sets it.
    pub content_type: Option<&'static str>,
    /// The timeout until the whole response has arrived.
    pub timeout: Duration,
    /// Maximum bytes of the decompressed response.
    pub max_bytes: usize,
}

impl HttpRequest {
    /// Creates a request without headers and body, with a timeout of 10 seconds and a limit of 1 MiB.
    #[must_use]
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
            content_type: None,
            timeout: Duration::from_secs(10),
            max_bytes: 1 << 20,
        }
    }
}

/// An HTTP response with any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status, such as 200.
    pub status: u16,
    /// The headers, with names in lower case. Repeated headers are joined with commas.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends requests to allowed hosts. Cheap to clone.
#[derive(Clone)]
pub struct HttpClient(Arc<Inner>);

struct Inner {
    allowed: Arc<AllowedHosts>,
    names: Option<NameResolver>,
    started: Mutex<Option<Started>>,
}

/// The parts that start with the first request.
struct Started {
    runtime: Runtime,
    client: reqwest::Client,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let started = self.started.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(started) = started {
            // It may be dropped on a thread that must not block.
            started.runtime.shutdown_background();
        }
    }
}

impl HttpClient {
    /// Creates a client. It starts nothing before the first request.
    #[must_use]
    pub fn new(allowed: AllowedHosts) -> Self {
        Self::from_parts(allowed, None)
    }

    /// Creates a client with its own name resolver.
    #[must_use]
    pub fn with_resolver(allowed: AllowedHosts, names: NameResolver) -> Self {
        Self::from_parts(allowed, Some(names))
    }

    fn from_parts(allowed: AllowedHosts, names: Option<NameResolver>) -> Self {
        Self(Arc::new(Inner { allowed: Arc::new(allowed), names, started: Mutex::default() }))
    }

    /// Sends a request. Dropping the future cancels it.
    ///
    /// # Errors
    /// The request is invalid or not allowed, or no response arrives within the timeout and the size limit.
    pub fn send_request(
        &self,
        request: HttpRequest,
    ) -> impl Future<Output = Result<HttpResponse, HttpError>> + Send + 'static {
        let (sender, receiver) = oneshot::channel();
        let started =
            self.checked_url(&request).and_then(|url| self.0.ensure_started().map(|parts| (url, parts)));
        let task = started.map(|(url, (runtime, client))| {
            let allowed = Arc::clone(&self.0.allowed);
            let work = async move {
                let answered = run_exchange(&client, &allowed, url, request).await;
                // The receiver may be gone.
                let _ = sender.send(answered);
            };
            Task(runtime.spawn(work).abort_handle())
        });
        async move {
            let _task = task?;
            receiver.await.unwrap_or_else(|_| Err(HttpError::Connection("the client was closed".to_owned())))
        }
    }

    /// The URL, if it is allowed.
    fn checked_url(&self, request: &HttpRequest) -> Result<Url, HttpError> {
        let url = Url::parse(&request.url)
            .map_err(|error| HttpError::Invalid(format!("invalid URL `{}`: {error}", request.url)))?;
        self.0.allowed.check_url(&url)?;
        Ok(url)
    }
}

/// A request that is cancelled on drop.
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Inner {
    fn ensure_started(&self) -> Result<(Handle, reqwest::Client), HttpError> {
        // The lock is held only while starting, which is short.
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if started.is_none() {
            *started = Some(self.start_client()?);
        }
        let parts = started.as_ref().map(|parts| (parts.runtime.handle().clone(), parts.client.clone()));
        parts.ok_or_else(|| HttpError::Connection("cannot start the HTTP client".to_owned()))
    }

    fn start_client(&self) -> Result<Started, HttpError> {
        let failed =
            |error: &dyn StdError| HttpError::Connection(format!("cannot start the HTTP client: {error}"));
        install_tls();
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(8)
            .thread_name("http")
            .enable_all()
            .build()
            .map_err(|error| failed(&error))?;
        let policy = Arc::clone(&self.allowed);
        let resolver = Resolver { allowed: Arc::clone(&self.allowed), names: self.names.clone() };
        let client = reqwest::Client::builder()
            // A proxy would resolve names and connect itself, without the list.
            .no_proxy()
            .dns_resolver(resolver)
            .redirect(Policy::custom(move |attempt| follow_redirect(&policy, attempt)))
            .referer(false)
            .user_agent(concat!("hinagata/", env!("CARGO_PKG_VERSION")))
            .pool_max_idle_per_host(4)
            .build()
            .map_err(|error| failed(&error))?;
        Ok(Started { runtime, client })
    }
}

/// A redirect must be allowed like the original request.
fn follow_redirect(allowed: &AllowedHosts, attempt: Attempt<'_>) -> reqwest::redirect::Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt
            .error(HttpError::Connection(format!("too many redirects; the limit is {MAX_REDIRECTS}")));
    }
    let was_secret = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
    if was_secret && attempt.url().scheme() != "https" {
        let message = format!("redirect from https to `{}`", attempt.url());
        return attempt.error(HttpError::Forbidden(message));
    }
    match allowed.check_url(attempt.url()) {
        Ok(()) => attempt.follow(),
        Err(error) => attempt.error(error),
    }
}

/// Resolves names and only returns allowed addresses, which are then connected to.
struct Resolver {
    allowed: Arc<AllowedHosts>,
    names: Option<NameResolver>,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (allowed, names) = (Arc::clone(&self.allowed), self.names.clone());
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let found: Vec<IpAddr> = match names {
                None => tokio::net::lookup_host((name.as_str(), 0)).await?.map(|found| found.ip()).collect(),
                Some(names) => {
                    let name = name.clone();
                    tokio::task::spawn_blocking(move || names(&name)).await??
                }
            };
            for address in &found {
                allowed.check_answer(&name, *address)?;
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

async fn run_exchange(
    client: &reqwest::Client,
    allowed: &AllowedHosts,
    url: Url,
    request: HttpRequest,
) -> Result<HttpResponse, HttpError> {
    allowed.check_url(&url)?;
    let method = Method::from_bytes(request.method.to_ascii_uppercase().as_bytes())
        .ok()
        .filter(|method| *method != Method::CONNECT && *method != Method::TRACE)
        .ok_or_else(|| HttpError::Invalid(format!("invalid method `{}`", request.method)))?;
    let headers = headers(&request)?;
    let mut asking = client.request(method, url).headers(headers).timeout(request.timeout);
    if let Some(body) = request.body {
        asking = asking.body(body);
    }
    let failed = |error: reqwest::Error| request_error(&error, request.timeout);
    let mut answer = asking.send().await.map_err(failed)?;
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(failed)? {
        if piece.len() > request.max_bytes - body.len() {
            return Err(HttpError::TooLarge(request.max_bytes));
        }
        body.extend_from_slice(&piece);
    }
    Ok(HttpResponse { status: answer.status().as_u16(), headers: join_headers(answer.headers()), body })
}

fn headers(request: &HttpRequest) -> Result<HeaderMap, HttpError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        let invalid_header = || HttpError::Invalid(format!("invalid header `{name}`"));
        if name.len().max(value.len()) > MAX_HEADER_BYTES {
            return Err(invalid_header());
        }
        let name: HeaderName = name.parse().map_err(|_| invalid_header())?;
        let value = HeaderValue::from_str(value).map_err(|_| invalid_header())?;
        if CONTROLLED_HEADERS.contains(&name.as_str()) {
            return Err(HttpError::Invalid(format!(
                "the header `{name}` is set automatically and cannot be passed"
            )));
        }
        headers.append(name, value);
    }
    if let Some(kind) = request.content_type.filter(|_| !headers.contains_key(CONTENT_TYPE)) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    Ok(headers)
}

fn join_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let all = |name: &HeaderName| {
        let values = headers.get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect::<Vec<_>>().join(", ")
    };
    headers.keys().map(|name| (name.as_str().to_owned(), all(name))).collect()
}

/// The error of a failed request: our own if it is among the causes, else the innermost cause.
fn request_error(error: &reqwest::Error, time: Duration) -> HttpError {
    if error.is_timeout() {
        return HttpError::Timeout(time);
    }
    let mut innermost: &dyn StdError = error;
    loop {
        if let Some(own) = innermost.downcast_ref::<HttpError>() {
            return own.clone();
        }
        match innermost.source() {
            Some(source) => innermost = source,
            None => return HttpError::Connection(innermost.to_string()),
        }
    }
}
