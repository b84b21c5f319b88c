//! HTTP clients with restricted hosts and response sizes.

use std::sync::Arc;

use hinagata::{Error, Reason, Result};
use hinagata_value::BoundedCache;
use reqwest::{Client, Response, Url, redirect};

use crate::{
    failure::{tool_error, truncate_for_display, with_causes},
    host_guard::{HostGuard, OwnError, PortResolver, own_error},
};

/// Maximum cached clients.
const MAX_CLIENTS: usize = 64;

/// Maximum redirects, all on one host.
const MAX_REDIRECTS: usize = 5;

/// One client per host and port. Addresses are checked for that port.
#[derive(Debug)]
pub(crate) struct HttpClients {
    guard: HostGuard,
    clients: BoundedCache<(String, u16), Client>,
}

impl HttpClients {
    pub(crate) fn new(guard: HostGuard) -> Self {
        Self { guard, clients: BoundedCache::new(MAX_CLIENTS) }
    }

    /// The client for `url`.
    ///
    /// # Errors
    /// Code `tool`, reason `host` if the host is not allowed.
    pub(crate) fn get(&self, url: &Url) -> Result<Client> {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(tool_error(Reason::Host, format!("`{url}` has no host")));
        };
        self.guard.check_host(host, port)?;
        let key = (host.to_owned(), port);
        if let Some(client) = self.clients.get(&key) {
            return Ok(client);
        }
        let client = build_client(&self.guard, port)?;
        // A concurrent call that built another one shares this client from now on.
        Ok(self.clients.get_or_insert_with(&key, || client))
    }
}

fn build_client(guard: &HostGuard, port: u16) -> Result<Client> {
    hinagata_http::install_tls();
    Client::builder()
        .dns_resolver(Arc::new(PortResolver { guard: guard.clone(), port }))
        .redirect(redirect::Policy::custom(same_host))
        // A proxy would resolve names itself.
        .no_proxy()
        .referer(false)
        .user_agent(concat!("hinagata/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| tool_error(Reason::Connect, format!("cannot create an HTTP client: {error}")))
}

/// Follows redirects on the same host only.
fn same_host(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let from = attempt.previous().first();
    let same = from.is_some_and(|from| from.origin() == attempt.url().origin());
    if !same {
        let message = format!("redirect to another host, `{}`", attempt.url().origin().ascii_serialization());
        return attempt.error(OwnError(
            tool_error(Reason::Redirect, message).with_hint("use the URL of the other host"),
        ));
    }
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error(OwnError(tool_error(Reason::Redirect, "too many redirects")));
    }
    attempt.follow()
}

/// Converts a request error.
pub(crate) fn request_error(error: reqwest::Error) -> Error {
    if let Some(own) = own_error(&error) {
        return own;
    }
    let reason = if error.is_connect() { Reason::Connect } else { Reason::Request };
    // The URL may contain arguments.
    tool_error(reason, format!("the request failed: {}", with_causes(&error.without_url())))
}

/// The error for a response of more than `most` bytes.
pub(crate) fn too_long_error(most: usize) -> Error {
    tool_error(Reason::Size, format!("the response exceeds {most} bytes"))
        .with("limit", most)
        .with_hint("raise `tools.max_answer`, or request less")
}

/// The body of a response, up to `most` bytes.
///
/// # Errors
/// Code `tool`, reason `size` if it is longer.
pub(crate) async fn read_body(mut response: Response, most: usize) -> Result<Vec<u8>> {
    if response.content_length().is_some_and(|length| length > most as u64) {
        return Err(too_long_error(most));
    }
    let mut all = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(request_error)? {
        if all.len() + chunk.len() > most {
            return Err(too_long_error(most));
        }
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}

/// The error for a response with an error status.
pub(crate) fn status_error(status: u16, body: &[u8]) -> Error {
    let text = truncate_for_display(&String::from_utf8_lossy(body));
    let message = if text.is_empty() {
        format!("response status {status}")
    } else {
        format!("response status {status}: {text}")
    };
    tool_error(Reason::Status, message).with("status", status)
}
