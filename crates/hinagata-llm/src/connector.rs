//! Opens connections to providers: directly or through a proxy, with TLS where the address asks for it.

use std::{
    fmt, io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use hyper::{
    Uri,
    header::{HeaderMap, USER_AGENT},
    http::uri::Scheme,
    rt::{Read, ReadBufCursor, Write},
};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::{
        legacy::connect::{Connected, Connection, HttpConnector, proxy::Tunnel},
        proxy::matcher::Intercept,
    },
    rt::TokioIo,
};
use rustls::ClientConfig;
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

use crate::{endpoint::user_agent, proxies::Proxies};

/// How long a connection is silent before it is probed, and how often: a provider that is gone is noticed.
const PROBE_TIME: Duration = Duration::from_secs(15);
const PROBES: u32 = 3;

/// How long sent bytes may stay unacknowledged.
#[cfg(any(target_os = "android", target_os = "linux"))]
const UNACKNOWLEDGED_TIME: Duration = Duration::from_secs(30);

/// Why a connection could not be opened.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Opens connections. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Parts>);

struct Parts {
    tcp: HttpConnector,
    proxies: Proxies,
    /// Created by the first connection with TLS.
    tls: OnceLock<TlsConfigs>,
    timeout: Duration,
}

#[derive(Clone)]
struct TlsConfigs {
    /// Prefers HTTP/2.
    provider: Arc<ClientConfig>,
    /// A request to open a tunnel is HTTP/1.1.
    proxy: Arc<ClientConfig>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Addresses of proxies may contain passwords.
        f.write_str("Connector")
    }
}

impl Connector {
    /// A connector whose connections, with TLS and tunnels, are open within `timeout`.
    pub(crate) fn new(proxies: Proxies, timeout: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(PROBE_TIME));
        tcp.set_keepalive_interval(Some(PROBE_TIME));
        tcp.set_keepalive_retries(Some(PROBES));
        #[cfg(any(target_os = "android", target_os = "linux"))]
        tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED_TIME));
        Self(Arc::new(Parts { tcp, proxies, tls: OnceLock::new(), timeout }))
    }

    /// The proxies that it uses.
    pub(crate) fn proxies(&self) -> &Proxies {
        &self.0.proxies
    }
}

impl Service<Uri> for Connector {
    type Response = ProviderStream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ProviderStream, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let parts = Arc::clone(&self.0);
        Box::pin(async move {
            let time = parts.timeout;
            let late = || format!("no connection within {time:?}; `llm.connect_timeout` sets the limit");
            timeout(time, parts.open_stream(destination)).await.map_err(|_| late())?
        })
    }
}

impl Parts {
    async fn open_stream(&self, destination: Uri) -> Result<ProviderStream, BoxError> {
        match self.proxies.find_proxy(&destination)? {
            None => self.open_direct(destination).await,
            Some(proxy) if is_https(&destination) => self.open_tunnel(&proxy, destination).await,
            Some(proxy) => self.open_proxied(&proxy).await,
        }
    }

    async fn open_direct(&self, destination: Uri) -> Result<ProviderStream, BoxError> {
        let stream = if is_https(&destination) {
            let tls = self.tls_configs()?.provider;
            HttpsConnector::from((self.tcp.clone(), tls)).call(destination).await?
        } else {
            MaybeHttpsStream::Http(self.tcp.clone().call(destination).await?)
        };
        Ok(ProviderStream { stream: MaybeHttpsStream::Http(stream), is_proxied: false })
    }

    /// Opens a connection to `proxy`, which reads the requests itself.
    async fn open_proxied(&self, proxy: &Intercept) -> Result<ProviderStream, BoxError> {
        let stream = if is_https(proxy.uri()) {
            let tls = self.tls_configs()?.proxy;
            HttpsConnector::from((self.tcp.clone(), tls)).call(proxy.uri().clone()).await?
        } else {
            MaybeHttpsStream::Http(self.tcp.clone().call(proxy.uri().clone()).await?)
        };
        Ok(ProviderStream { stream: MaybeHttpsStream::Http(stream), is_proxied: true })
    }

    /// Opens a connection with TLS through `proxy`, which sees only where it goes.
    async fn open_tunnel(&self, proxy: &Intercept, destination: Uri) -> Result<ProviderStream, BoxError> {
        let TlsConfigs { provider, proxy: tls } = self.tls_configs()?;
        let to_proxy = HttpsConnector::from((self.tcp.clone(), tls));
        let headers = HeaderMap::from_iter([(USER_AGENT, user_agent())]);
        let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy).with_headers(headers);
        if let Some(credentials) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        let stream = HttpsConnector::from((tunnel, provider)).call(destination).await?;
        Ok(ProviderStream { stream, is_proxied: false })
    }

    fn tls_configs(&self) -> Result<TlsConfigs, BoxError> {
        if let Some(known) = self.tls.get() {
            return Ok(known.clone());
        }
        let proxy = hinagata_http::system_tls()?;
        let mut provider = proxy.clone();
        provider.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let configs = TlsConfigs { provider: Arc::new(provider), proxy: Arc::new(proxy) };
        Ok(self.tls.get_or_init(|| configs).clone())
    }
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

/// A connection to a provider or its proxy: TLS around a tunnel, which can have TLS of its own.
pub(crate) struct ProviderStream {
    stream: MaybeHttpsStream<MaybeHttpsStream<TokioIo<TcpStream>>>,
    is_proxied: bool,
}

impl ProviderStream {
    /// Whether a proxy reads the requests, so that they contain the whole address.
    pub(crate) fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    fn pinned(self: Pin<&mut Self>) -> Pin<&mut MaybeHttpsStream<MaybeHttpsStream<TokioIo<TcpStream>>>> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl Connection for ProviderStream {
    fn connected(&self) -> Connected {
        // Nobody asks for the addresses of the sockets, which every response would carry.
        let connected = Connected::new().proxy(self.is_proxied);
        if self.stream.connected().is_negotiated_h2() { connected.negotiated_h2() } else { connected }
    }
}

impl Read for ProviderStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.pinned().poll_read(context, buffer)
    }
}

impl Write for ProviderStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.pinned().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pinned().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pinned().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.pinned().poll_write_vectored(context, pieces)
    }
}
