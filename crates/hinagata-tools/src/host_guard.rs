//! Reaching hosts: names are looked up here, every address is compared with the list, and the connection goes to an address
//! that was compared.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use hinagata::{Error, Result, ports::PortFuture};
use hinagata_http::Allowed;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::failure::failed;

/// Finds the addresses of a name.
pub trait Names: Send + Sync {
    /// The addresses that `host` leads to now.
    fn look_up<'a>(&'a self, host: &'a str) -> PortFuture<'a, std::io::Result<Vec<IpAddr>>>;
}

/// The names that the system knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNames;

impl Names for SystemNames {
    fn look_up<'a>(&'a self, host: &'a str) -> PortFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The list of hosts together with what finds their addresses.
#[derive(Clone)]
pub(crate) struct Reach {
    hosts: Arc<Allowed>,
    names: Arc<dyn Names>,
}

impl Reach {
    pub(crate) fn new(hosts: Allowed, names: Arc<dyn Names>) -> Self {
        Self { hosts: Arc::new(hosts), names }
    }

    /// Whether the host may be asked for at all.
    ///
    /// # Errors
    /// Code `tool`, reason `host`.
    pub(crate) fn permit(&self, host: &str, port: u16) -> Result<()> {
        if self.hosts.has_host(host, port) {
            return Ok(());
        }
        Err(failed("host", format!("tools may not reach `{host}:{port}`"))
            .with("host", host)
            .with_hint(format!("add \"{host}\" to `tools.allowed_hosts` if they should")))
    }

    /// The addresses of a host that connections may go to.
    ///
    /// # Errors
    /// Code `tool`, reason `host` when there are none of these, reason `connect` when there are none at all.
    pub(crate) async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>> {
        self.permit(host, port)?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let found = self.names.look_up(bare).await.map_err(|error| {
            failed("connect", format!("the address of `{host}` cannot be found: {error}"))
        })?;
        let allowed = found.iter().filter(|address| self.hosts.has_answer(bare, **address, port));
        let allowed: Vec<SocketAddr> = allowed.map(|address| SocketAddr::new(*address, port)).collect();
        match (allowed.is_empty(), found.first()) {
            (false, _) => Ok(allowed),
            (true, Some(address)) => Err(private(host, *address)),
            (true, None) => Err(failed("connect", format!("`{host}` has no address"))),
        }
    }
}

fn private(host: &str, address: IpAddr) -> Error {
    failed("host", format!("`{host}` leads to {address}, which is not public and not listed"))
        .with("host", host)
        .with_hint(format!("add \"{address}\" to `tools.allowed_hosts` if tools should reach it"))
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// Looks names up for a client of HTTP that talks to one port: it connects to nothing else than what this gives.
pub(crate) struct Lookup {
    pub(crate) reach: Reach,
    pub(crate) port: u16,
}

impl Resolve for Lookup {
    fn resolve(&self, name: Name) -> Resolving {
        let (reach, port) = (self.reach.clone(), self.port);
        Box::pin(async move {
            let found = reach.addresses(name.as_str(), port).await.map_err(Refused)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// An error of ours on its way through a client of HTTP.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Error);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refused {}

/// The error of ours that another one was caused by.
pub(crate) fn own_error(error: &(dyn std::error::Error + 'static)) -> Option<Error> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(Refused(own)) = cause.downcast_ref() {
            return Some(own.clone());
        }
        next = cause.source();
    }
    None
}
