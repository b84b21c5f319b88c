//! The list of hosts that may be reached.

use std::net::IpAddr;

use reqwest::Url;

use crate::{HttpError, is_public};

/// The hosts that may be reached. None unless listed.
///
/// | entry | matches |
/// |---|---|
/// | `api.example.com` | this host |
/// | `*.example.com` | every host below that name, not the name itself |
/// | `10.1.2.3`, `::1` | this address, private or not |
/// | `10.0.0.0/8` | every address of this network |
/// | `localhost` | this machine |
/// | `*` | every host with a public address |
///
/// Each may end with `:port` and then only matches that port. An IPv6 address with a port is written in brackets. A
/// name with a private address is rejected, unless that address or its network is listed without a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    host: Host,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Any,
    Name(String),
    /// Every name with this suffix, which starts with a dot.
    Below(String),
    Network(IpAddr, u8),
}

impl AllowedHosts {
    /// Parses a list of entries.
    ///
    /// # Errors
    /// [`HttpError::Invalid`] for an invalid entry.
    pub fn parse<I>(entries: I) -> Result<Self, HttpError>
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        let mut all = Self::default();
        entries.into_iter().try_for_each(|text| all.add_entry(text.as_ref()))?;
        Ok(all)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// [`HttpError::Invalid`] for an invalid entry.
    pub fn add_entry(&mut self, text: &str) -> Result<(), HttpError> {
        let entry = parse_entry(text).ok_or_else(|| {
            HttpError::Invalid(format!(
                "invalid host `{text}`; expected a form such as `api.example.com`, `*.example.com`, `10.0.0.0/8` or `localhost:8080`"
            ))
        })?;
        self.0.push(entry);
        Ok(())
    }

    /// Whether `host`, a name or an address, is listed for `port`. Names are not resolved.
    #[must_use]
    pub fn allows_host(&self, host: &str, port: u16) -> bool {
        self.lists(host, Some(port))
    }

    /// Whether the listed `name` may resolve to `address` at `port`.
    #[must_use]
    pub fn allows_address(&self, name: &str, address: IpAddr, port: u16) -> bool {
        is_public(address) || self.lists_private(name, address, Some(port))
    }

    fn lists(&self, host: &str, port: Option<u16>) -> bool {
        match parse_address(host) {
            Some(address) => self.lists_address(address, port),
            None => self.lists_name(&canonical(host), port),
        }
    }

    /// Whether a private address is listed beside the name that resolves to it.
    fn lists_private(&self, name: &str, address: IpAddr, port: Option<u16>) -> bool {
        let is_here = address.is_loopback() && canonical(name) == "localhost";
        self.0.iter().filter(|entry| entry.has_port(port)).any(|entry| match &entry.host {
            Host::Network(network, bits) => contains(*network, *bits, address),
            Host::Name(listed) => is_here && listed == "localhost",
            Host::Any | Host::Below(_) => false,
        })
    }

    /// Checks that `url` is listed. Names are not resolved.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), HttpError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(HttpError::Invalid(format!(
                "unsupported scheme `{}`; expected http or https",
                url.scheme()
            )));
        }
        let host = url.host_str().ok_or_else(|| HttpError::Invalid(format!("`{url}` has no host")))?;
        let port = url.port_or_known_default();
        self.lists(host, port).then_some(()).ok_or_else(|| {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            HttpError::Forbidden(format!("`{host}{port}` is not an allowed host"))
        })
    }

    fn lists_address(&self, address: IpAddr, port: Option<u16>) -> bool {
        self.0.iter().filter(|entry| entry.has_port(port)).any(|entry| match &entry.host {
            Host::Any => is_public(address),
            Host::Network(network, bits) => contains(*network, *bits, address),
            Host::Name(name) => name == "localhost" && address.is_loopback(),
            Host::Below(_) => false,
        })
    }

    fn lists_name(&self, name: &str, port: Option<u16>) -> bool {
        self.0.iter().filter(|entry| entry.has_port(port)).any(|entry| match &entry.host {
            Host::Any => true,
            Host::Name(listed) => listed == name,
            Host::Below(end) => name.len() > end.len() && name.ends_with(end),
            Host::Network(..) => false,
        })
    }

    /// Checks that the listed `name` may resolve to `address`.
    pub(crate) fn check_answer(&self, name: &str, address: IpAddr) -> Result<(), HttpError> {
        let here = address.is_loopback() && canonical(name) == "localhost" && self.lists_localhost();
        let listed = || {
            let mut networks = self.0.iter().filter(|entry| entry.port.is_none());
            networks.any(|entry| matches!(entry.host, Host::Network(network, bits) if contains(network, bits, address)))
        };
        (is_public(address) || here || listed()).then_some(()).ok_or_else(|| {
            HttpError::Forbidden(format!(
                "`{name}` resolves to {address}, which is private and not an allowed host"
            ))
        })
    }

    fn lists_localhost(&self) -> bool {
        self.0.iter().any(|entry| matches!(&entry.host, Host::Name(name) if name == "localhost"))
    }
}

impl Entry {
    fn has_port(&self, port: Option<u16>) -> bool {
        self.port.is_none() || self.port == port
    }
}

/// The host of a URL, if it is an address.
fn parse_address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// The form of a name that is compared.
fn canonical(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn parse_entry(text: &str) -> Option<Entry> {
    let (host, port) = split_port(text.trim())?;
    Some(Entry { host: parse_host(host)?, port })
}

fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => Some((host, Some(port.parse().ok()?))),
        _ => Some((text, None)),
    }
}

fn parse_host(text: &str) -> Option<Host> {
    if text == "*" {
        return Some(Host::Any);
    }
    if let Some((address, bits)) = text.split_once('/') {
        let (address, bits) = (address.parse::<IpAddr>().ok()?, bits.parse().ok()?);
        return (bits <= width(address)).then_some(Host::Network(address, bits));
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(Host::Network(address, width(address)));
    }
    match text.strip_prefix("*.") {
        Some(name) => is_name(name).then(|| Host::Below(format!(".{}", canonical(name)))),
        None => is_name(text).then(|| Host::Name(canonical(text))),
    }
}

fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let mut labels = text.strip_suffix('.').unwrap_or(text).split('.');
    // A name whose last label is a number is an address in another notation.
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    let last = labels.clone().next_back().unwrap_or_default();
    labels.all(label) && !is_number(last)
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn contains(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    let number = |address: IpAddr| match address.to_canonical() {
        IpAddr::V4(address) => (true, u128::from(u32::from(address))),
        IpAddr::V6(address) => (false, u128::from(address)),
    };
    let ((kind, network_number), (other, number)) = (number(network), number(address));
    let shift = u32::from(width(network.to_canonical()).saturating_sub(bits));
    kind == other && network_number.checked_shr(shift) == number.checked_shr(shift)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allows(entries: &[&str], url: &str) -> bool {
        let allowed = AllowedHosts::parse(entries).expect("are hosts");
        allowed.check_url(&Url::parse(url).expect("is a URL")).is_ok()
    }

    fn answers(entries: &[&str], name: &str, address: &str) -> bool {
        let allowed = AllowedHosts::parse(entries).expect("are hosts");
        allowed.check_answer(name, address.parse().expect("is an address")).is_ok()
    }

    #[test]
    fn only_listed_hosts_are_allowed() {
        assert!(!allows(&[], "https://example.com/"));
        assert!(allows(&["example.com"], "https://Example.COM./x"));
        assert!(!allows(&["example.com"], "https://example.com.evil.org/"));
        assert!(!allows(&["example.com"], "https://evil-example.com/"));
        assert!(!allows(&["example.com"], "https://example.com@evil.org/"));
        assert!(!allows(&["example.com"], "ftp://example.com/"));
        assert!(allows(&["*.example.com"], "https://a.b.example.com/"));
        assert!(!allows(&["*.example.com"], "https://example.com/"));
        assert!(allows(&["*"], "https://example.com/"));
    }

    #[test]
    fn an_entry_with_a_port_allows_only_that_port() {
        assert!(allows(&["example.com:8443"], "https://example.com:8443/"));
        assert!(!allows(&["example.com:8443"], "https://example.com/"));
        assert!(allows(&["example.com:443"], "https://example.com/"));
        assert!(allows(&["[::1]:80"], "http://[::1]/"));
    }

    #[test]
    fn the_notation_of_an_address_does_not_matter() {
        for url in ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/"]
        {
            assert!(!allows(&["*"], url), "{url}");
            assert!(allows(&["127.0.0.0/8"], url), "{url}");
        }
        assert!(!allows(&["10.0.0.0/8"], "http://11.0.0.1/"));
        assert!(allows(&["0.0.0.0/0"], "http://192.168.0.1/"));
    }

    #[test]
    fn a_name_must_not_resolve_to_a_private_address() {
        assert!(answers(&["example.com"], "example.com", "93.184.216.34"));
        assert!(!answers(&["example.com"], "example.com", "127.0.0.1"));
        assert!(!answers(&["example.com", "127.0.0.1:80"], "example.com", "127.0.0.1"));
        assert!(answers(&["example.com", "10.0.0.0/8"], "example.com", "10.9.8.7"));
        assert!(answers(&["localhost"], "localhost", "::1"));
        assert!(!answers(&["localhost"], "localhost", "10.0.0.1"));
        assert!(!answers(&["localhost", "example.com"], "example.com", "127.0.0.1"));
        assert!(!answers(&["*"], "localhost", "127.0.0.1"));
    }

    #[test]
    fn an_invalid_entry_is_rejected() {
        for text in [
            "",
            "http://example.com",
            "a..b",
            "example.com:x",
            "10.0.0.0/33",
            "*.",
            "a*b.com",
            "127.1",
            "[::1",
        ] {
            assert!(AllowedHosts::parse([text]).is_err(), "{text}");
        }
    }

    #[test]
    fn the_port_of_an_entry_applies_to_resolved_addresses() {
        let allowed =
            AllowedHosts::parse(["example.com", "10.0.0.1:80", "localhost:3000"]).expect("are hosts");
        let answers = |name: &str, address: &str, port| {
            allowed.allows_address(name, address.parse().expect("is an address"), port)
        };
        assert!(answers("example.com", "10.0.0.1", 80) && !answers("example.com", "10.0.0.1", 22));
        assert!(answers("localhost", "127.0.0.1", 3000) && !answers("localhost", "127.0.0.1", 22));
        assert!(!answers("example.com", "127.0.0.1", 3000) && answers("example.com", "8.8.8.8", 22));
        assert!(allowed.allows_host("10.0.0.1", 80) && allowed.allows_host("[::1]", 3000));
        assert!(!allowed.allows_host("10.0.0.1", 81) && !allowed.allows_host("8.8.8.8", 80));
    }

    proptest! {
        #[test]
        fn arbitrary_entries_never_panic(text in ".{0,30}") {
            let _ = AllowedHosts::parse([text]);
        }
    }
}
