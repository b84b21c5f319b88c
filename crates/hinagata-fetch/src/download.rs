//! Downloads archives and indexes.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use hinagata_document::{Code, Error, Reason, Result};
use hinagata_http::{AllowedHosts, HttpClient, HttpError, HttpRequest, with_causes};
use hinagata_packs::is_loopback;

/// Longest that a download may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The hosts that a download may reach: every public one, because archives are often behind redirects to other hosts;
/// private ones only if the settings list them, or if the address itself names this machine.
pub(crate) fn allowed_hosts(address: &str, listed: &[String]) -> Result<AllowedHosts> {
    let mut entries = vec!["*".to_owned()];
    entries.extend(listed.iter().cloned());
    let authority = address
        .split_once("://")
        .map_or("", |(_, rest)| rest)
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    if is_loopback(authority) {
        entries.push(authority.to_owned());
    }
    AllowedHosts::parse(entries).map_err(|error| fetch_error(address, &error.to_string()))
}

/// The bytes at `address`, at most `limit`.
pub(crate) fn download(client: &HttpClient, address: &str, limit: u64) -> Result<Vec<u8>> {
    let request = HttpRequest {
        timeout: TIMEOUT,
        max_bytes: usize::try_from(limit).unwrap_or(usize::MAX),
        ..HttpRequest::new("GET", address)
    };
    let response = wait_for(client.send_request(request)).map_err(|error| {
        let told = fetch_error(address, &with_causes(&error));
        match error {
            HttpError::Forbidden(_) => told.with_reason(Reason::Forbidden).with_hint(
                "if the host is one of your network, list it in `packs.allowed_hosts` of your own settings",
            ),
            _ => told.with_reason(Reason::Connection),
        }
    })?;
    match response.status {
        200 => Ok(response.body),
        status => Err(fetch_error(address, &format!("the server answered with the status {status}"))
            .with_reason(Reason::Status)
            .with("status", status)
            .with_hint("check the address; archives that need a login can be fetched with git")),
    }
}

pub(crate) fn fetch_error(address: &str, what: &str) -> Error {
    Error::new(Code::Fetch, format!("`{address}` cannot be fetched: {what}")).with("url", address)
}

/// Wakes the thread that waits.
struct WakeThread(Thread);

impl Wake for WakeThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The output of a future. The client runs requests on threads of its own, so waiting blocks nothing else.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(WakeThread(thread::current())));
    let (mut context, mut future) = (Context::from_waker(&waker), pin!(future));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
