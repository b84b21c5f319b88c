//! Changes, as they happen.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use hinagata::store::StoreKind;
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use serde_json::{Value, json};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::timeout,
};

use crate::{
    access::Caller,
    body::{Body, Response},
    call::{Answer, Call},
    events::Change,
    problem::Problem,
    state::App,
};

/// How often somebody who hears nothing is told that the line is open.
const QUIET: Duration = Duration::from_secs(15);

/// `GET /api/events`
pub(super) async fn listen(call: Call) -> Answer {
    let Some(changes) = call.app.events.listen() else {
        return Err(
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overload", "the daemon stops").retry_after(1)
        );
    };
    let listener = Listener { app: Arc::clone(&call.app), caller: call.caller, changes };
    let first = event("hello", &json!({"version": env!("CARGO_PKG_VERSION")}));
    let told = stream::unfold(listener, Listener::next);
    let all = stream::once(std::future::ready(first)).chain(told);
    let mut response = Response::new(Body::pieces(all));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Somebody who listens.
struct Listener {
    app: Arc<App>,
    caller: Caller,
    changes: Receiver<Arc<Change>>,
}

impl Listener {
    /// The next thing to say; `None` when the daemon stops.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            let said = match timeout(QUIET, self.changes.recv()).await {
                Err(_) => Some(Bytes::from_static(b":\n\n")),
                Ok(Ok(change)) => told(&self.app, &self.caller, &change),
                // Whoever is too slow has to look at everything again.
                Ok(Err(RecvError::Lagged(missed))) => Some(event("missed", &json!({"missed": missed}))),
                Ok(Err(RecvError::Closed)) => return None,
            };
            if let Some(said) = said {
                return Some((said, self));
            }
        }
    }
}

/// What the caller is told of a change; nothing of prompts that are not there for them.
fn told(app: &App, caller: &Caller, change: &Change) -> Option<Bytes> {
    let seen = |ids: &[String]| -> Vec<String> {
        ids.iter().filter(|id| app.access.sees(caller, id)).cloned().collect()
    };
    Some(match change {
        Change::Prompts { added, removed, changed } => {
            let (added, removed, changed) = (seen(added), seen(removed), seen(changed));
            if added.is_empty() && removed.is_empty() && changed.is_empty() {
                return None;
            }
            event("prompts", &json!({"added": added, "removed": removed, "changed": changed}))
        }
        Change::Store { kinds } => {
            let kinds: Vec<&str> = kinds.iter().map(|kind| StoreKind::as_str(*kind)).collect();
            event("store", &json!({"changed": kinds}))
        }
        Change::Outage { up } => event("health", &json!({"store": {"up": up}})),
    })
}

/// JSON has no line breaks, so an event is always three lines.
fn event(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
