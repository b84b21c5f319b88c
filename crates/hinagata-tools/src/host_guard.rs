//! Checks hosts: resolves names, compares every address with the list, and only connects to addresses that passed.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use hinagata::{Error, Reason, Result, ports::PortFuture};
use hinagata_http::AllowedHosts;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::failure::tool_error;

/// Resolves host names.
pub trait NameResolver: Send + Sync {
    /// The current addresses of `host`.
    fn look_up<'a>(&'a self, host: &'a str) -> PortFuture<'a, std::io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl NameResolver for SystemResolver {
    fn look_up<'a>(&'a self, host: &'a str) -> PortFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The list of allowed hosts with a resolver.
#[derive(Clone)]
pub(crate) struct HostGuard {
    hosts: Arc<AllowedHosts>,
    names: Arc<dyn NameResolver>,
}

impl HostGuard {
    pub(crate) fn new(hosts: AllowedHosts, names: Arc<dyn NameResolver>) -> Self {
        Self { hosts: Arc::new(hosts), names }
    }

    /// Checks that the host is allowed.
    ///
    /// # Errors
    /// Code `tool`, reason `host`.
    pub(crate) fn check_host(&self, host: &str, port: u16) -> Result<()> {
        if self.hosts.allows_host(host, port) {
            return Ok(());
        }
        Err(tool_error(Reason::Host, format!("`{host}:{port}` is not an allowed host for tools"))
            .with("host", host)
            .with_hint(format!("add \"{host}\" to `tools.allowed_hosts` to allow it")))
    }

    /// The allowed addresses of a host.
    ///
    /// # Errors
    /// Code `tool`, reason `host` if no address is allowed, reason `connect` if there is none.
    pub(crate) async fn resolve_host(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>> {
        self.check_host(host, port)?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let found = self
            .names
            .look_up(bare)
            .await
            .map_err(|error| tool_error(Reason::Connect, format!("cannot resolve `{host}`: {error}")))?;
        let allowed = found.iter().filter(|address| self.hosts.allows_address(bare, **address, port));
        let allowed: Vec<SocketAddr> = allowed.map(|address| SocketAddr::new(*address, port)).collect();
        match (allowed.is_empty(), found.first()) {
            (false, _) => Ok(allowed),
            (true, Some(address)) => Err(private_error(host, *address)),
            (true, None) => Err(tool_error(Reason::Connect, format!("`{host}` has no address"))),
        }
    }
}

fn private_error(host: &str, address: IpAddr) -> Error {
    tool_error(
        Reason::Host,
        format!("`{host}` resolves to {address}, which is private and not an allowed host"),
    )
    .with("host", host)
    .with_hint(format!("add \"{address}\" to `tools.allowed_hosts` to allow it"))
}

impl fmt::Debug for HostGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostGuard").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// Resolves names for an HTTP client of one port, which then only connects to the returned addresses.
pub(crate) struct PortResolver {
    pub(crate) guard: HostGuard,
    pub(crate) port: u16,
}

impl Resolve for PortResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, port) = (self.guard.clone(), self.port);
        Box::pin(async move {
            let found = guard.resolve_host(name.as_str(), port).await.map_err(OwnError)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// An error of this crate on its way through an HTTP client.
#[derive(Debug)]
pub(crate) struct OwnError(pub(crate) Error);

impl fmt::Display for OwnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for OwnError {}

/// The error of this crate among the causes of another.
pub(crate) fn own_error(error: &(dyn std::error::Error + 'static)) -> Option<Error> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(OwnError(own)) = cause.downcast_ref() {
            return Some(own.clone());
        }
        next = cause.source();
    }
    None
}
