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
    private: Vec<IpAddr>,
}

impl NeededHost {
    pub(super) fn to_finding(&self) -> Finding {
        let tools = self.tools.join("`, `");
        let mut message = format!("the tools `{tools}` call it, and `tools.allowed_hosts` does not allow it");
        if !self.private.is_empty() {
            message.push_str("; it is a private address, which the list must name too");
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
        let private = private.remove(&(host.clone(), port)).unwrap_or_default();
        let addresses = private.iter().map(|address| match address {
            IpAddr::V4(address) => format!("{address}:{port}"),
            IpAddr::V6(address) => format!("[{address}]:{port}"),
        });
        let entries = std::iter::once(format!("{host}:{port}")).chain(addresses).collect();
        NeededHost { entries, tools, private }
    });
    Ok(needed.collect())
}

/// The private addresses that names resolve to now. A name that does not resolve in time has none.
fn private_addresses(hosts: &[RefusedHost]) -> BTreeMap<(String, u16), Vec<IpAddr>> {
    let (sender, receiver) = mpsc::channel();
    // An address names itself, and `localhost` allows the addresses of this machine.
    let is_name = |host: &&RefusedHost| {
        host.host != "localhost" && host.host.trim_matches(['[', ']']).parse::<IpAddr>().is_err()
    };
    for RefusedHost { host, port, .. } in hosts.iter().filter(is_name).take(MOST_NAMES) {
        let (sender, place) = (sender.clone(), (host.clone(), *port));
        thread::spawn(move || {
            let found = (place.0.as_str(), place.1).to_socket_addrs();
            let addresses: Vec<IpAddr> = found.into_iter().flatten().map(|address| address.ip()).collect();
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
