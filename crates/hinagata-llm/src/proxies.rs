//! The proxies that the environment names.

use hyper::{Uri, header::HeaderValue, http::uri::Scheme};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use crate::endpoint::{Env, is_loopback_host};

/// The environment variables of the proxies for each kind of address; the first one that is set counts.
const VARIABLES: [[&str; 2]; 3] =
    [["HTTP_PROXY", "http_proxy"], ["HTTPS_PROXY", "https_proxy"], ["ALL_PROXY", "all_proxy"]];

/// The variables of addresses that no proxy is used for.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The proxies for calls. Addresses on this machine are called without one.
pub(crate) struct Proxies {
    matcher: Matcher,
    /// The variables whose values are not the address of a proxy.
    invalid: Vec<&'static str>,
    is_empty: bool,
}

impl Proxies {
    /// The proxies in the environment. A CGI program has none: there, a client sets `HTTP_PROXY` by a header.
    pub(crate) fn from_env(env: Env<'_>) -> Self {
        let is_cgi = env("REQUEST_METHOD").is_some();
        let read = |names: [&'static str; 2]| {
            let found = names.into_iter().find_map(|name| Some((name, env(name)?))).filter(|_| !is_cgi);
            found.map(|(name, value)| (name, value.to_string_lossy().trim().to_owned()))
        };
        let all = VARIABLES.map(read);
        let invalid = all.iter().flatten().filter(|(_, value)| !value.is_empty() && !is_proxy(value));
        let value = |index: usize| all[index].as_ref().map_or("", |(_, value)| value.as_str());
        let exceptions = read(EXCEPTIONS).map(|(_, value)| value).unwrap_or_default();
        let matcher = Matcher::builder().http(value(0)).https(value(1)).all(value(2)).no(exceptions.as_str());
        Self {
            invalid: invalid.map(|(name, _)| *name).collect(),
            is_empty: all.iter().flatten().all(|(_, value)| value.is_empty()),
            matcher: matcher.build(),
        }
    }

    /// The proxy for calls of `destination`.
    ///
    /// # Errors
    /// What is wrong with the environment: a call without the proxy is not what it asks for.
    pub(crate) fn find_proxy(&self, destination: &Uri) -> Result<Option<Intercept>, String> {
        if self.is_empty || destination.host().is_none_or(is_loopback_host) {
            return Ok(None);
        }
        if let Some(name) = self.invalid.first() {
            return Err(format!("invalid proxy address in `{name}`; write it as http://host:port"));
        }
        let found = self.matcher.intercept(destination);
        match found.as_ref().and_then(|proxy| proxy.uri().scheme_str()) {
            None | Some("http" | "https") => Ok(found),
            Some(other) => Err(format!("unsupported proxy scheme `{other}`; use a proxy with http or https")),
        }
    }

    /// The credentials that a request itself has to carry: a proxy reads requests without TLS.
    pub(crate) fn request_credentials(&self, destination: &Uri) -> Option<HeaderValue> {
        if self.is_empty || destination.scheme() != Some(&Scheme::HTTP) {
            return None;
        }
        self.find_proxy(destination).ok()??.basic_auth().cloned()
    }
}

/// Whether `value` is the address of a proxy.
fn is_proxy(value: &str) -> bool {
    Matcher::builder().all(value).build().intercept(&Uri::from_static("http://host/")).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(env: &[(&str, &str)]) -> Proxies {
        Proxies::from_env(&|asked| env.iter().find(|(name, _)| *name == asked).map(|(_, value)| value.into()))
    }

    fn found(env: &[(&str, &str)], destination: &'static str) -> Result<Option<String>, String> {
        let found = proxies(env).find_proxy(&Uri::from_static(destination))?;
        Ok(found.map(|proxy| proxy.uri().to_string()))
    }

    #[test]
    fn each_kind_of_address_has_its_own_proxy() {
        let env =
            [("HTTP_PROXY", "http://plain:1"), ("https_proxy", "secure:2"), ("ALL_PROXY", "http://all:3")];
        assert_eq!(found(&env, "http://h/"), Ok(Some("http://plain:1/".to_owned())));
        assert_eq!(found(&env, "https://h/"), Ok(Some("http://secure:2/".to_owned())));
        assert_eq!(found(&env[2..], "https://h/"), Ok(Some("http://all:3/".to_owned())));
        assert_eq!(found(&[], "https://h/"), Ok(None));
        assert_eq!(
            found(&[("HTTPS_PROXY", ""), ("https_proxy", "x:1")], "https://h/"),
            Ok(None),
            "it is set"
        );
    }

    #[test]
    fn exceptions_and_this_machine_are_called_without_a_proxy() {
        let env = [("ALL_PROXY", "http://p:1"), ("NO_PROXY", "internal.example, 10.0.0.0/8")];
        for direct in [
            "http://internal.example/",
            "https://a.internal.example/",
            "http://10.1.2.3/",
            "http://localhost:1/",
            "http://127.0.0.5/",
            "http://[::1]:8/",
        ] {
            assert_eq!(found(&env, direct), Ok(None), "{direct}");
        }
        assert!(found(&env, "https://example.org/").expect("is valid").is_some());
        let cgi = [("ALL_PROXY", "http://p:1"), ("REQUEST_METHOD", "POST")];
        assert_eq!(found(&cgi, "http://h/"), Ok(None));
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_not_passed_by() {
        let invalid = found(&[("HTTPS_PROXY", "ftp://p")], "http://h/").expect_err("is no proxy");
        assert!(invalid.contains("`HTTPS_PROXY`"), "{invalid}");
        let socks =
            found(&[("ALL_PROXY", "socks5://me:secret@p:1")], "https://h/").expect_err("is not supported");
        assert!(socks.contains("`socks5`") && !socks.contains("secret"), "{socks}");
    }

    #[test]
    fn only_requests_without_tls_carry_the_credentials() {
        let proxies = proxies(&[("ALL_PROXY", "http://me:p%20w@p:1")]);
        let credentials = |uri| proxies.request_credentials(&Uri::from_static(uri));
        assert_eq!(credentials("http://h/").expect("has some"), "Basic bWU6cCB3");
        assert!(credentials("http://h/").expect("has some").is_sensitive());
        assert_eq!(credentials("https://h/"), None);
        assert_eq!(credentials("http://127.0.0.1/"), None);
    }
}
