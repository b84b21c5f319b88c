//! Checks the `Host` and `Origin` headers.
//!
//! A foreign web page can make a browser call a daemon on this machine, directly or through a name that resolves to
//! 127.0.0.1 (DNS rebinding). The first request has a foreign `Origin`, the second a foreign `Host`.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use arc_swap::ArcSwap;
use hyper::{
    HeaderMap, StatusCode, Uri,
    header::{HOST, ORIGIN},
};

use crate::problem::Problem;

/// The allowed host names and origins, which can change while the daemon runs.
pub(crate) struct OriginPolicy {
    address: SocketAddr,
    allowed: ArcSwap<AllowedNames>,
}

struct AllowedNames {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl AllowedNames {
    fn new(hosts: &[String], origins: &[String]) -> Self {
        let origin = |origin: &String| origin.trim_end_matches('/').to_lowercase();
        Self {
            hosts: hosts.iter().map(|host| host.to_lowercase()).collect(),
            origins: origins.iter().map(origin).collect(),
        }
    }
}

impl OriginPolicy {
    pub(crate) fn new(address: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        Self { address, allowed: ArcSwap::from_pointee(AllowedNames::new(hosts, origins)) }
    }

    /// Allows other names from now on.
    pub(crate) fn set_names(&self, hosts: &[String], origins: &[String]) {
        self.allowed.store(Arc::new(AllowedNames::new(hosts, origins)));
    }

    /// Refuses a request with a foreign `Host` or `Origin`.
    pub(crate) fn check_request(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        // HTTP/1.0 requests may have no `Host`.
        let named = headers.get(HOST).map(|value| value.to_str().unwrap_or("?"));
        let named = uri.authority().map(hyper::http::uri::Authority::as_str).or(named);
        if let Some(host) = named.filter(|host| !self.has_host(host)) {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "host",
                format!("unknown host `{}`", truncate_for_display(host)),
            )
            .with_hint("use the daemon's address, or add the name to the setting `server.hosts`"));
        }
        match headers.get(ORIGIN).map(|value| value.to_str().unwrap_or("?")) {
            Some(origin) if !self.has_origin(origin) => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "origin",
                format!("requests from the origin `{}` are not allowed", truncate_for_display(origin)),
            )
            .with_hint("add it to the setting `server.origins` if it is yours")),
            _ => Ok(()),
        }
    }

    fn has_host(&self, host: &str) -> bool {
        let host = host.to_lowercase();
        let name = without_port(&host);
        let listed = |known: &String| *known == name || *known == host || known == "*";
        if name == "localhost" || self.allowed.load().hosts.iter().any(listed) {
            return true;
        }
        match name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || !self.address.ip().is_loopback(),
            Err(_) => false,
        }
    }

    fn has_origin(&self, origin: &str) -> bool {
        let origin = origin.to_lowercase();
        if self.allowed.load().origins.contains(&origin) {
            return true;
        }
        // The daemon's own pages: the same host and TCP port.
        let Some(rest) = origin.strip_prefix("http://") else { return false };
        let port = rest.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).unwrap_or(80);
        port == self.address.port() && self.has_host(rest)
    }

    /// The `Origin` of the request, if it is allowed.
    pub(crate) fn allowed_origin<'h>(
        &self,
        headers: &'h HeaderMap,
    ) -> Option<&'h hyper::header::HeaderValue> {
        headers.get(ORIGIN).filter(|value| value.to_str().is_ok_and(|origin| self.has_origin(origin)))
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

fn truncate_for_display(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_fine(policy: &OriginPolicy, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().expect("is a value"));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().expect("is a value"));
        }
        policy.check_request(&Uri::from_static("/x"), &headers).is_ok()
    }

    #[test]
    fn only_known_hosts_and_origins_are_allowed() {
        let policy = OriginPolicy::new(
            "127.0.0.1:8700".parse().expect("address"),
            &["prompts.example".to_owned()],
            &["https://ui.example/".to_owned()],
        );
        for host in
            ["localhost:8700", "127.0.0.1:8700", "127.0.0.1", "[::1]:8700", "prompts.example", "LOCALHOST"]
        {
            assert!(is_fine(&policy, host, None), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:8700", "10.0.0.5:8700", "", "127.0.0.1.nip.io"] {
            assert!(!is_fine(&policy, host, None), "{host}");
        }
        for origin in ["http://localhost:8700", "http://127.0.0.1:8700", "https://ui.example"] {
            assert!(is_fine(&policy, "localhost:8700", Some(origin)), "{origin}");
        }
        for origin in [
            "null",
            "http://localhost:9",
            "https://localhost:8700",
            "http://evil.example:8700",
            "http://localhost",
        ] {
            assert!(!is_fine(&policy, "localhost:8700", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn a_daemon_on_every_address_accepts_any_address_as_host() {
        let policy = OriginPolicy::new("0.0.0.0:80".parse().expect("address"), &[], &[]);
        assert!(is_fine(&policy, "10.0.0.5", None) && !is_fine(&policy, "evil.example", None));
        assert!(is_fine(&policy, "10.0.0.5", Some("http://10.0.0.5")));
    }
}
