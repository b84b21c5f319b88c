//! The hosts that tools need.

use std::{
    collections::BTreeMap,
    net::{IpAddr, ToSocketAddrs as _},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use hinagata::store::StoreSnapshot;
use hinagata_tools::{AllowedHosts, RefusedHost, ToolSettings};

use super::finding::Finding;
use crate::{failure::Failure, workspace::Workspace};

/// Longest wait for all names to be resolved.
const RESOLVE_TIME: Duration = Duration::from_secs(3);

/// Most names that are resolved.
const MOST_NAMES: usize = 64;

/// A host that tools need and the settings do not allow.
pub(super) struct NeededHost {
    /// Its entries for `tools.allowed_hosts`.
    pub(super) entries: Vec<String>,
    tools: Vec<String>,
    /// Its private addresses; `None` if its name was not resolved.
    private: Option<Vec<IpAddr>>,
}

impl NeededHost {
    pub(super) fn to_finding(&self) -> Finding {
        let tools = self.tools.join("`, `");
        let mut message = format!("the tools `{tools}` call it, and `tools.allowed_hosts` does not allow it");
        match &self.private {
            None => message.push_str(
                "; its name could not be resolved here, so the list may also need its private addresses",
            ),
            Some(private) if !private.is_empty() => {
                message.push_str("; it is a private address, which the list must name too");
            }
            Some(_) => {}
        }
        Finding::decision("tools", self.entries.first().cloned().unwrap_or_default(), message).with_advice(
            "add it to `tools.allowed_hosts` if tools may reach it; until then, calls give an empty value",
        )
    }
}

/// The hosts that the tools of the store need and the settings do not allow.
pub(super) fn find_hosts(
    workspace: &Workspace,
    snapshot: &StoreSnapshot,
) -> Result<Vec<NeededHost>, Failure> {
    let settings = ToolSettings::from_settings(&workspace.host.settings)?;
    let refused = settings.refused_hosts(&snapshot.tool_documents);
    let mut private = private_addresses(&refused);
    let needed = refused.into_iter().map(|RefusedHost { host, port, tools }| {
        let private = if is_name(&host) { private.remove(&(host.clone(), port)) } else { Some(Vec::new()) };
        let addresses = private.iter().flatten().map(|address| match address {
            IpAddr::V4(address) => format!("{address}:{port}"),
            IpAddr::V6(address) => format!("[{address}]:{port}"),
        });
        let entries = std::iter::once(format!("{host}:{port}")).chain(addresses).collect();
        NeededHost { entries, tools, private }
    });
    Ok(needed.collect())
}

/// Whether a host has to be resolved: an address names itself, and `localhost` allows the addresses of this machine.
fn is_name(host: &str) -> bool {
    host != "localhost" && host.trim_matches(['[', ']']).parse::<IpAddr>().is_err()
}

/// The private addresses that names resolve to now. A name that does not resolve in time is missing.
fn private_addresses(hosts: &[RefusedHost]) -> BTreeMap<(String, u16), Vec<IpAddr>> {
    let (sender, receiver) = mpsc::channel();
    for RefusedHost { host, port, .. } in hosts.iter().filter(|host| is_name(&host.host)).take(MOST_NAMES) {
        let (sender, place) = (sender.clone(), (host.clone(), *port));
        thread::spawn(move || {
            let Ok(found) = (place.0.as_str(), place.1).to_socket_addrs() else { return };
            let addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            // The receiver is gone once the time is over.
            let _ = sender.send((place, addresses));
        });
    }
    drop(sender);
    let (nothing_allowed, end) = (AllowedHosts::default(), Instant::now() + RESOLVE_TIME);
    let mut all = BTreeMap::new();
    while let Ok(((host, port), mut addresses)) =
        receiver.recv_timeout(end.saturating_duration_since(Instant::now()))
    {
        addresses.retain(|address| !nothing_allowed.allows_address(&host, *address, port));
        addresses.sort_unstable();
        addresses.dedup();
        all.insert((host, port), addresses);
    }
    all
}
