//! Public and private IP addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public internet: not to this machine, a private network, or a reserved range.
///
/// An IPv6 address that contains an IPv4 address is treated as that one.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let protocols = (a, b, c) == (192, 0, 0);
    let relays = (a, b, c) == (192, 88, 99);
    let benchmarks = a == 198 && (b == 18 || b == 19);
    let reserved = a == 0 || a >= 240;
    !(reserved
        || shared
        || protocols
        || relays
        || benchmarks
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast())
}

/// Only assigned ranges are public, except those for documentation, tunnels and identifiers.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let global = a & 0xe000 == 0x2000;
    let set_apart = a == 0x2001 && b < 0x200;
    let documentation = (a == 0x2001 && b == 0xdb8) || (a == 0x3fff && b < 0x1000);
    global && !set_apart && !documentation
}

/// The IPv4 address inside an IPv6 address.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from_halves = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Mapped and compatible addresses. The latter include the loopback and the unspecified address.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => from_halves(high, low),
        // Translated by a gateway (NAT64).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => from_halves(high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low] => from_halves(high, low),
        // Tunnelled (6to4).
        [0x2002, high, low, ..] => from_halves(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_public_text(text: &str) -> bool {
        is_public(text.parse().expect("is an address"))
    }

    #[test]
    fn public_addresses_are_recognised() {
        for address in
            ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "2a00:1450::1", "64:ff9b::101:101"]
        {
            assert!(is_public_text(address), "{address}");
        }
    }

    #[test]
    fn local_and_private_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!is_public_text(address), "{address}");
        }
    }
}
