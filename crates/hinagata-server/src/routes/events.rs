//! Changes, as they happen.

use std::{convert::Infallible, sync::Arc};

use axum::response::{
    IntoResponse as _,
    sse::{Event, KeepAlive, Sse},
};
use futures_util::StreamExt as _;
use hinagata::store::StoreKind;
use serde_json::json;
use tokio_stream::wrappers::{BroadcastStream, errors::BroadcastStreamRecvError};

use crate::{
    access::Caller,
    events::Change,
    gate::{Answer, Call},
    problem::Problem,
    state::App,
};

/// `GET /api/events`
pub(super) async fn listen(call: Call) -> Answer {
    let Some(changes) = call.app.events.listen() else {
        return Err(Problem::new(hyper::StatusCode::SERVICE_UNAVAILABLE, "overload", "the daemon stops")
            .retry_after(1));
    };
    let (app, caller) = (Arc::clone(&call.app), call.caller.clone());
    let told = BroadcastStream::new(changes).filter_map(move |change| {
        let event = match change {
            Ok(change) => event(&app, &caller, &change),
            // Whoever is too slow has to look at everything again.
            Err(BroadcastStreamRecvError::Lagged(missed)) => {
                Some(Event::default().event("missed").data(json!({"missed": missed}).to_string()))
            }
        };
        std::future::ready(event.map(Ok::<_, Infallible>))
    });
    let first =
        Event::default().event("hello").data(json!({"version": env!("CARGO_PKG_VERSION")}).to_string());
    let all = futures_util::stream::once(std::future::ready(Ok(first))).chain(told);
    Ok(Sse::new(all).keep_alive(KeepAlive::default()).into_response())
}

/// What the caller is told of a change; nothing of prompts that are not there for them.
fn event(app: &App, caller: &Caller, change: &Change) -> Option<Event> {
    let seen = |ids: &[String]| -> Vec<String> {
        ids.iter().filter(|id| app.access.sees(caller, id)).cloned().collect()
    };
    let (name, data) = match change {
        Change::Prompts { added, removed, changed } => {
            let (added, removed, changed) = (seen(added), seen(removed), seen(changed));
            if added.is_empty() && removed.is_empty() && changed.is_empty() {
                return None;
            }
            ("prompts", json!({"added": added, "removed": removed, "changed": changed}))
        }
        Change::Store { kinds } => {
            let kinds: Vec<&str> = kinds.iter().map(|kind| StoreKind::as_str(*kind)).collect();
            ("store", json!({"changed": kinds}))
        }
        Change::Outage { up } => ("health", json!({"store": {"up": up}})),
    };
    Some(Event::default().event(name).data(data.to_string()))
}
