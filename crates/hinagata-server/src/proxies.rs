//! The address of a client behind reverse proxies.
//!
//! Anyone can send `X-Forwarded-For`. It counts only when the connection comes from a trusted proxy, and only up to the
//! first address from the right that is not a trusted proxy: what stands left of it, the client wrote itself.

use std::net::{IpAddr, SocketAddr};

use hinagata::{Error, Reason, Result};
use hyper::{
    HeaderMap,
    header::{FORWARDED, HeaderName},
};

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// The proxies whose headers count.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustedProxies(Vec<Network>);

/// A network, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug)]
struct Network {
    address: IpAddr,
    /// The number of leading bits that count.
    prefix: u32,
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let address = address.trim().parse::<IpAddr>().ok()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(bits);
        (prefix <= bits).then_some(Self { address, prefix })
    }

    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let differing = u32::from(network) ^ u32::from(address);
                differing.leading_zeros() >= self.prefix
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let differing = u128::from(network) ^ u128::from(address);
                differing.leading_zeros() >= self.prefix
            }
            _ => false,
        }
    }
}

impl TrustedProxies {
    /// Reads addresses and networks.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, for anything else.
    pub(crate) fn from_texts(texts: &[String]) -> Result<Self> {
        let network = |text: &String| {
            Network::parse(text.trim()).ok_or_else(|| {
                Error::definition(Reason::Settings, format!("invalid proxy address `{text}`"))
                    .with("setting", "server.trusted_proxies")
                    .with_hint("use addresses such as `10.0.0.7` or networks such as `10.0.0.0/8`")
            })
        };
        texts.iter().map(network).collect::<Result<_>>().map(Self)
    }

    /// Whether a trusted proxy has this address.
    pub(crate) fn has_proxy(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// The address of the client whose request arrived from `peer`.
    pub(crate) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.has_proxy(peer) {
            return peer;
        }
        let mut address = peer;
        let mut hops = forwarded_addresses(headers).into_iter().rev();
        while self.has_proxy(address) {
            match hops.next().flatten() {
                Some(hop) => address = hop,
                None => break,
            }
        }
        address
    }
}

/// The addresses that proxies added, the nearest one last; `None` for one that is hidden or invalid. `Forwarded` counts
/// only without `X-Forwarded-For`, which most proxies write: those pass on the other header as the client wrote it.
fn forwarded_addresses(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    if headers.contains_key(X_FORWARDED_FOR) {
        let name = HeaderName::from_static(X_FORWARDED_FOR);
        return header_items(headers, &name).map(|item| parse_address(&item)).collect();
    }
    let for_address = |item: String| {
        let named = item.split(';').find_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            name.trim().eq_ignore_ascii_case("for").then(|| value.trim().trim_matches('"').to_owned())
        });
        named.and_then(|address| parse_address(&address))
    };
    header_items(headers, &FORWARDED).map(for_address).collect()
}

/// The items of all headers called `name`, in their order. A header that is not text is one item.
fn header_items(headers: &HeaderMap, name: &HeaderName) -> impl Iterator<Item = String> {
    let texts = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
    texts.flat_map(|text| text.split(',').map(|item| item.trim().to_owned()))
}

/// Parses an address, with or without a TCP port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, headers: &[(&'static str, &str)]) -> String {
        let networks = ["10.0.0.0/8", "127.0.0.1", "fd00::/8"].map(str::to_owned);
        let proxies = TrustedProxies::from_texts(&networks).expect("are networks");
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(*name, value.parse().expect("is a value"));
        }
        proxies.client_address(peer.parse().expect("is an address"), &all).to_string()
    }

    const XFF: &str = X_FORWARDED_FOR;

    #[test]
    fn headers_count_only_from_a_trusted_proxy() {
        assert_eq!(client("203.0.113.9", &[(XFF, "198.51.100.1")]), "203.0.113.9");
        assert_eq!(client("10.1.2.3", &[(XFF, "198.51.100.1")]), "198.51.100.1");
        assert_eq!(client("::ffff:10.1.2.3", &[(XFF, "198.51.100.1")]), "198.51.100.1");
        assert_eq!(client("fd00::1", &[(XFF, "2001:db8::7")]), "2001:db8::7");
        assert_eq!(client("10.1.2.3", &[]), "10.1.2.3");
    }

    #[test]
    fn an_address_that_the_client_wrote_itself_does_not_count() {
        assert_eq!(client("127.0.0.1", &[(XFF, "1.1.1.1, 198.51.100.1, 10.0.0.2")]), "198.51.100.1");
        assert_eq!(client("127.0.0.1", &[(XFF, "1.1.1.1"), (XFF, "198.51.100.1")]), "198.51.100.1");
        assert_eq!(client("127.0.0.1", &[(XFF, "1.1.1.1, rubbish")]), "127.0.0.1");
        assert_eq!(
            client("127.0.0.1", &[("forwarded", "for=1.1.1.1"), (XFF, "198.51.100.1")]),
            "198.51.100.1"
        );
    }

    #[test]
    fn the_standard_header_and_tcp_ports_are_understood() {
        assert_eq!(client("127.0.0.1", &[(XFF, "198.51.100.1:4711")]), "198.51.100.1");
        let standard =
            [("forwarded", "for=192.0.2.43;proto=http, For=\"[2001:db8:cafe::17]:4711\";by=10.0.0.1")];
        assert_eq!(client("127.0.0.1", &standard), "2001:db8:cafe::17");
        assert_eq!(client("127.0.0.1", &[("forwarded", "for=unknown")]), "127.0.0.1");
        assert_eq!(client("127.0.0.1", &[("forwarded", "for=_hidden, for=198.51.100.1")]), "198.51.100.1");
    }

    #[test]
    fn an_invalid_network_is_an_error() {
        for text in ["somewhere", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", ""] {
            assert!(TrustedProxies::from_texts(&[text.to_owned()]).is_err(), "{text}");
        }
        let all = TrustedProxies::from_texts(&["0.0.0.0/0".to_owned()]).expect("is a network");
        assert!(all.has_proxy(IpAddr::from([8, 8, 8, 8])));
    }
}
