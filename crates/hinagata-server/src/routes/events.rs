//! Changes as server-sent events.

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

/// How often a silent connection gets a keep-alive comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `GET /api/events`
pub(super) async fn stream_events(call: Call) -> Answer {
    let Some(changes) = call.app.events.subscribe() else {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overload", "the daemon is stopping")
            .with_retry_after(1));
    };
    let listener = Listener { app: Arc::clone(&call.app), caller: call.caller, changes };
    let first = format_event("hello", &json!({"version": env!("CARGO_PKG_VERSION")}));
    let changes = stream::unfold(listener, Listener::next);
    let all = stream::once(std::future::ready(first)).chain(changes);
    let mut response = Response::new(Body::from_stream(all));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// A subscriber.
struct Listener {
    app: Arc<App>,
    caller: Caller,
    changes: Receiver<Arc<Change>>,
}

impl Listener {
    /// The next event; `None` when the daemon stops or the caller has lost access.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            let event = match timeout(KEEP_ALIVE, self.changes.recv()).await {
                Err(_) => Some(Bytes::from_static(b":\n\n")),
                Ok(Ok(change)) => change_event(&self.app, &self.caller, &change),
                // A subscriber that lags too far must read everything again.
                Ok(Err(RecvError::Lagged(missed))) => {
                    Some(format_event("missed", &json!({"missed": missed})))
                }
                Ok(Err(RecvError::Closed)) => return None,
            };
            // A key that was taken back ends its stream.
            if !self.app.access.is_current(&self.caller) {
                return None;
            }
            if let Some(event) = event {
                return Some((event, self));
            }
        }
    }
}

/// The event for a change, without prompts that the caller cannot see.
fn change_event(app: &App, caller: &Caller, change: &Change) -> Option<Bytes> {
    let visible = |ids: &[String]| -> Vec<String> {
        ids.iter().filter(|id| app.access.can_see(caller, id)).cloned().collect()
    };
    Some(match change {
        Change::Prompts { added, removed, changed } => {
            let (added, removed, changed) = (visible(added), visible(removed), visible(changed));
            if added.is_empty() && removed.is_empty() && changed.is_empty() {
                return None;
            }
            format_event("prompts", &json!({"added": added, "removed": removed, "changed": changed}))
        }
        Change::Store { kinds } => {
            let kinds: Vec<&str> = kinds.iter().map(|kind| StoreKind::as_str(*kind)).collect();
            format_event("store", &json!({"changed": kinds}))
        }
        Change::Outage { up } => format_event("health", &json!({"store": {"up": up}})),
    })
}

/// JSON contains no line breaks, so an event always has three lines.
fn format_event(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
