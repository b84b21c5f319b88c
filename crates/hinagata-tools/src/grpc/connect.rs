//! gRPC connections to checked addresses.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use hinagata::{Reason, Result};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint, Uri};
use tower_service::Service;

use crate::{
    failure::{tool_error, with_causes},
    host_guard::{HostGuard, OwnError},
};

/// A connection to `server` (`host:port`), opened on first use.
pub(super) fn open_channel(guard: &HostGuard, server: &str, encrypted: bool) -> Result<Channel> {
    let scheme = if encrypted { "https" } else { "http" };
    let invalid_server =
        |why: String| tool_error(Reason::Definition, format!("invalid server `{server}`: {why}"));
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{server}"))
        .map_err(|error| invalid_server(with_causes(&error)))?;
    let (host, port) =
        host_and_port(endpoint.uri()).ok_or_else(|| invalid_server("the port is missing".to_owned()))?;
    guard.check_host(&host, port)?;
    if encrypted {
        hinagata_http::install_tls();
        let tls = ClientTlsConfig::new().with_native_roots();
        endpoint = endpoint.tls_config(tls).map_err(|error| {
            tool_error(Reason::Connect, format!("cannot set up TLS: {}", with_causes(&error)))
        })?;
    }
    Ok(endpoint.connect_with_connector_lazy(Connector(guard.clone())))
}

fn host_and_port(uri: &Uri) -> Option<(String, u16)> {
    Some((uri.host()?.to_owned(), uri.port_u16()?))
}

/// Resolves hosts, checks their addresses, and connects.
struct Connector(HostGuard);

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let guard = self.0.clone();
        Box::pin(async move {
            let (host, port) = host_and_port(&uri).ok_or("no host and port")?;
            let addresses = guard.resolve_host(&host, port).await.map_err(OwnError)?;
            let stream = TcpStream::connect(addresses.as_slice()).await?;
            stream.set_nodelay(true)?;
            Ok(TokioIo::new(stream))
        })
    }
}
