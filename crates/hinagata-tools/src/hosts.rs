//! Where tools may go: a list of hosts and networks, and which addresses are nobody's business unless they are on it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hinagata::{Error, Result};

/// The hosts that tools may reach.
///
/// | entry | lets through |
/// |---|---|
/// | `api.example.com` | that host, if it leads to a public address |
/// | `*.example.com` | every host beneath it, likewise |
/// | `10.0.0.7`, `10.0.0.0/8`, `[::1]` | these addresses, by number and for the hosts above |
/// | `localhost` | that name, and loopback addresses |
/// | any of them with `:8080` | that port alone |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    names: Vec<NameRule>,
    networks: Vec<NetworkRule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NameRule {
    name: String,
    /// Whether hosts beneath it are meant, and not itself.
    beneath: bool,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NetworkRule {
    address: IpAddr,
    bits: u8,
    port: Option<u16>,
}

impl AllowedHosts {
    /// Adds an entry.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, when it is none.
    pub fn add(&mut self, entry: &str) -> Result<()> {
        let (host, port) = split_port(entry.trim()).ok_or_else(|| no_host(entry))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        if let Some((address, bits)) = network(&host) {
            self.networks.push(NetworkRule { address, bits, port });
            return Ok(());
        }
        let (name, beneath) = match host.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (host.as_str(), false),
        };
        let name = name.trim_end_matches('.');
        let plain = |found: char| found.is_alphanumeric() || matches!(found, '-' | '.' | '_');
        if name.is_empty() || !name.chars().all(plain) {
            return Err(no_host(entry));
        }
        if name == "localhost" {
            self.networks.push(NetworkRule { address: Ipv4Addr::new(127, 0, 0, 0).into(), bits: 8, port });
            self.networks.push(NetworkRule { address: Ipv6Addr::LOCALHOST.into(), bits: 128, port });
        }
        self.names.push(NameRule { name: name.to_owned(), beneath, port });
        Ok(())
    }

    /// Whether the host, a name or the number of an address, may be asked for at all.
    #[must_use]
    pub fn has_host(&self, host: &str, port: u16) -> bool {
        let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        if let Ok(address) = host.parse::<IpAddr>() {
            return self.has_network(address, port);
        }
        let host = host.to_ascii_lowercase();
        self.names.iter().any(|rule| rule.fits(&host) && rule.port.is_none_or(|own| own == port))
    }

    /// Whether a connection to the address may be made for a host that may be asked for.
    #[must_use]
    pub fn has_address(&self, address: IpAddr, port: u16) -> bool {
        is_public(address) || self.has_network(address, port)
    }

    fn has_network(&self, address: IpAddr, port: u16) -> bool {
        let address = plain(address);
        self.networks
            .iter()
            .any(|rule| rule.port.is_none_or(|own| own == port) && within(address, rule.address, rule.bits))
    }
}

impl NameRule {
    fn fits(&self, host: &str) -> bool {
        match self.beneath {
            false => host == self.name,
            true => host.strip_suffix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        }
    }
}

fn no_host(entry: &str) -> Error {
    Error::definition("settings", format!("`{entry}` is no host that tools could be allowed to reach"))
        .with_hint("write a name, *.name, an address or a network, each with or without a port")
}

/// The host and the port of an entry.
fn split_port(entry: &str) -> Option<(&str, Option<u16>)> {
    if entry.is_empty() {
        return None;
    }
    if let Some(rest) = entry.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None if after.is_empty() || after.starts_with('/') => Some((entry, None)),
            None => None,
        };
    }
    match entry.split_once(':') {
        // More than one colon: an address of version 6 without brackets.
        Some((_, after)) if after.contains(':') => Some((entry, None)),
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((entry, None)),
    }
}

/// The network that an entry names: an address alone is one of itself.
fn network(host: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = match host.split_once('/') {
        Some((address, bits)) => (address.trim_end_matches(']'), Some(bits)),
        None => (host, None),
    };
    let address = plain(address.parse().ok()?);
    let most = if address.is_ipv4() { 32 } else { 128 };
    match bits {
        None => Some((address, most)),
        Some(bits) => bits.parse().ok().filter(|bits| *bits <= most).map(|bits| (address, bits)),
    }
}

fn within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            address.to_bits() & mask == network.to_bits() & mask
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            address.to_bits() & mask == network.to_bits() & mask
        }
        _ => false,
    }
}

/// An address of version 4 that is written as one of version 6, as what it is.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// Networks of version 4 that are not the public internet.
const OWN_4: [(Ipv4Addr, u8); 14] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Whether an address belongs to the public internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(four) => {
            !OWN_4.iter().any(|(network, bits)| within(four.into(), (*network).into(), *bits))
        }
        IpAddr::V6(six) => match carried(six) {
            // A translator would lead there.
            Some(four) => is_public(four.into()),
            // Only 2000::/3 is given out; the documentation's part of it leads nowhere.
            None => six.segments()[0] & 0xe000 == 0x2000 && six.segments()[..2] != [0x2001, 0xdb8],
        },
    }
}

/// The address of version 4 that one of version 6 carries for a translator: NAT64, 6to4, or compatible.
fn carried(six: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = six.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    match parts {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(of(high, low)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(entries: &[&str]) -> AllowedHosts {
        let mut hosts = AllowedHosts::default();
        entries.iter().for_each(|entry| hosts.add(entry).expect("is an entry"));
        hosts
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("is an address")
    }

    #[test]
    fn only_public_addresses_are_public() {
        for public in ["8.8.8.8", "2606:4700::1111", "2002:808:808::1", "64:ff9b::808:808", "::ffff:8.8.8.8"]
        {
            assert!(is_public(address(public)), "{public}");
        }
        for own in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.31.255.255",
            "192.168.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::127.0.0.1",
            "2001:db8::1",
        ] {
            assert!(!is_public(address(own)), "{own}");
        }
    }

    #[test]
    fn a_host_is_reached_only_if_it_is_listed() {
        let hosts = allowed(&["api.example.com", "*.example.org", "one.example.com:8443"]);
        assert!(hosts.has_host("API.example.com.", 443) && hosts.has_host("a.b.example.org", 80));
        assert!(hosts.has_host("one.example.com", 8443) && !hosts.has_host("one.example.com", 443));
        for other in [
            "example.com",
            "example.org",
            "evilexample.org",
            "api.example.com.evil.net",
            "8.8.8.8",
            ".example.org",
        ] {
            assert!(!hosts.has_host(other, 443), "{other}");
        }
    }

    #[test]
    fn an_own_address_is_reached_only_if_it_is_listed() {
        let hosts = allowed(&["api.example.com", "10.0.0.0/8", "[::1]:8080", "192.168.1.5:80"]);
        assert!(hosts.has_address(address("10.9.9.9"), 1) && hosts.has_host("10.9.9.9", 1));
        assert!(hosts.has_address(address("::ffff:10.9.9.9"), 1));
        assert!(hosts.has_address(address("::1"), 8080) && !hosts.has_address(address("::1"), 8081));
        assert!(
            hosts.has_address(address("192.168.1.5"), 80) && !hosts.has_address(address("192.168.1.6"), 80)
        );
        assert!(hosts.has_address(address("8.8.8.8"), 443) && !hosts.has_host("8.8.8.8", 443));
        assert!(!hosts.has_address(address("127.0.0.1"), 80));
    }

    #[test]
    fn localhost_is_a_name_and_its_addresses() {
        let hosts = allowed(&["localhost:3000"]);
        assert!(hosts.has_host("localhost", 3000) && hosts.has_address(address("127.0.0.1"), 3000));
        assert!(hosts.has_host("[::1]", 3000) && !hosts.has_host("127.0.0.1", 22));
    }

    #[test]
    fn what_is_no_entry_is_told() {
        for entry in ["", " ", "http://host", "host:port", "host:99999", "*.", "a b", "[::1", "10.0.0.0/40"] {
            assert!(AllowedHosts::default().add(entry).is_err(), "{entry}");
        }
        for entry in ["::1", "fe80::/10", "[fe80::]/10", "10.0.0.0/0", "ünter.example"] {
            assert!(AllowedHosts::default().add(entry).is_ok(), "{entry}");
        }
    }
}
