//! Clients of HTTP that reach only what they may, and read only as much as they may.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use hinagata::{Error, Result};
use reqwest::{Client, Response, Url, redirect};

use crate::{
    failure::{failed, shown, with_causes},
    reach::{Lookup, Reach, Refused, own_error},
};

/// Clients that are kept.
const MOST_CLIENTS: usize = 64;

/// Redirects that are followed, all on one host.
const MOST_REDIRECTS: usize = 5;

/// One client for each host and port: each knows the one port that addresses are compared for.
#[derive(Debug)]
pub(crate) struct Clients {
    reach: Reach,
    clients: Mutex<HashMap<(String, u16), Client>>,
}

impl Clients {
    pub(crate) fn new(reach: Reach) -> Self {
        Self { reach, clients: Mutex::default() }
    }

    /// The client that may go to `url`.
    ///
    /// # Errors
    /// Code `tool`, reason `host` when nobody may.
    pub(crate) fn get(&self, url: &Url) -> Result<Client> {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(failed("host", format!("`{url}` has no host")));
        };
        self.reach.permit(host, port)?;
        // Held for a look, or for making a client, which waits for nothing.
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (host.to_owned(), port);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        if clients.len() >= MOST_CLIENTS {
            clients.clear();
        }
        let client = client(&self.reach, port)?;
        clients.insert(key, client.clone());
        Ok(client)
    }
}

/// Lets everything in this process encrypt with one provider; whoever set another one keeps it.
pub(crate) fn use_ring() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn client(reach: &Reach, port: u16) -> Result<Client> {
    use_ring();
    Client::builder()
        .dns_resolver(Arc::new(Lookup { reach: reach.clone(), port }))
        .redirect(redirect::Policy::custom(same_host))
        // A proxy would look names up for itself.
        .no_proxy()
        .referer(false)
        .user_agent(concat!("hinagata/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| failed("connect", format!("no client of HTTP can be made: {error}")))
}

/// Follows redirects on one host only.
fn same_host(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let from = attempt.previous().first();
    let same = from.is_some_and(|from| from.origin() == attempt.url().origin());
    if !same {
        let message =
            format!("it redirects to another host, `{}`", attempt.url().origin().ascii_serialization());
        return attempt.error(Refused(failed("redirect", message).with_hint("call the other host itself")));
    }
    if attempt.previous().len() > MOST_REDIRECTS {
        return attempt.error(Refused(failed("redirect", "it redirects again and again")));
    }
    attempt.follow()
}

/// An error of a request, as one of ours.
pub(crate) fn request_error(error: reqwest::Error) -> Error {
    if let Some(own) = own_error(&error) {
        return own;
    }
    let reason = if error.is_connect() { "connect" } else { "request" };
    // The address may hold arguments.
    failed(reason, format!("the request failed: {}", with_causes(&error.without_url())))
}

/// The failure of an answer that is longer than `most` bytes.
pub(crate) fn too_long(most: usize) -> Error {
    failed("size", format!("its answer is longer than {most} bytes"))
        .with("limit", most)
        .with_hint("raise `tools.max_answer`, or ask it for less")
}

/// The body of an answer, at most `most` bytes of it.
///
/// # Errors
/// Code `tool`, reason `size` when it is longer.
pub(crate) async fn body(mut response: Response, most: usize) -> Result<Vec<u8>> {
    if response.content_length().is_some_and(|length| length > most as u64) {
        return Err(too_long(most));
    }
    let mut all = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(request_error)? {
        if all.len() + chunk.len() > most {
            return Err(too_long(most));
        }
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}

/// The failure of an answer whose status is none of success.
pub(crate) fn status_error(status: u16, body: &[u8]) -> Error {
    let text = shown(&String::from_utf8_lossy(body));
    let message = match text.is_empty() {
        true => format!("it answers with status {status}"),
        false => format!("it answers with status {status}: {text}"),
    };
    failed("status", message).with("status", status)
}
