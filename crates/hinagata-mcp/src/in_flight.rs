//! The requests of one client on standard input that have no response yet.
//!
//! A few are handled at once and others wait, so memory is bounded also when a client sends much and reads nothing.
//! Reading goes on meanwhile, because a cancellation or an answer to a question may be the next message; so a request
//! for which there is no room is refused. The reasons are in `docs/design/mcp-sessions.md`.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcRequest, RequestId},
};
use tokio::sync::Notify;

use crate::failure::BUSY;

/// Maximum requests that are handled at the same time.
const MAX_HANDLED: usize = 32;

/// Maximum requests that wait.
const MAX_WAITING: usize = 1_024;

/// Maximum bytes of the requests that wait.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// Maximum open subscriptions.
const MAX_SUBSCRIPTIONS: usize = 16;

/// The requests of one client that have no response yet.
#[derive(Default)]
pub(crate) struct InFlight {
    requests: Mutex<Requests>,
    /// Notified when a request was answered or cancelled.
    pub(crate) released: Notify,
}

#[derive(Default)]
struct Requests {
    handled: HashSet<RequestId>,
    subscriptions: HashSet<RequestId>,
    waiting: VecDeque<WaitingRequest>,
    waiting_bytes: usize,
}

struct WaitingRequest {
    request: JsonRpcRequest<ClientRequest>,
    bytes: usize,
}

impl InFlight {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides about a request that was read from `bytes` bytes: the message, if it is handled now;
    /// [`InFlight::next_waiting`] returns others later.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn admit_request(
        &self,
        request: JsonRpcRequest<ClientRequest>,
        bytes: usize,
    ) -> Result<Option<ClientJsonRpcMessage>, ErrorData> {
        let mut requests = self.requests();
        match &request.request {
            // Answered at once, whatever else goes on.
            ClientRequest::PingRequest(_) => {}
            ClientRequest::SubscriptionsListenRequest(_) => {
                if requests.subscriptions.len() >= MAX_SUBSCRIPTIONS {
                    return Err(busy_error(&format!(
                        "{MAX_SUBSCRIPTIONS} subscriptions are open; cancel one first"
                    )));
                }
                requests.subscriptions.insert(request.id.clone());
            }
            _ if requests.handled.len() < MAX_HANDLED => {
                requests.handled.insert(request.id.clone());
            }
            _ if requests.waiting.len() >= MAX_WAITING
                || requests.waiting_bytes + bytes > MAX_WAITING_BYTES =>
            {
                return Err(busy_error(&format!(
                    "at most {MAX_WAITING} requests of {} MiB may wait; retry after a response",
                    MAX_WAITING_BYTES >> 20
                )));
            }
            _ => {
                requests.waiting_bytes += bytes;
                requests.waiting.push_back(WaitingRequest { request, bytes });
                return Ok(None);
            }
        }
        Ok(Some(ClientJsonRpcMessage::Request(request)))
    }

    /// The next waiting request, if it can be handled now.
    pub(crate) fn next_waiting(&self) -> Option<ClientJsonRpcMessage> {
        let mut requests = self.requests();
        if requests.handled.len() >= MAX_HANDLED {
            return None;
        }
        let WaitingRequest { request, bytes } = requests.waiting.pop_front()?;
        requests.waiting_bytes -= bytes;
        requests.handled.insert(request.id.clone());
        Some(ClientJsonRpcMessage::Request(request))
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.requests().waiting.is_empty()
    }

    /// Notes that a request was answered, or was cancelled, which gets no answer.
    pub(crate) fn release_request(&self, id: &RequestId) {
        let mut requests = self.requests();
        let is_known = requests.handled.remove(id) || requests.subscriptions.remove(id);
        if !is_known
            && let Some(place) = requests.waiting.iter().position(|waiting| waiting.request.id == *id)
        {
            let removed = requests.waiting.remove(place);
            requests.waiting_bytes -= removed.map_or(0, |removed| removed.bytes);
        }
        drop(requests);
        self.released.notify_one();
    }
}

fn busy_error(problem: &str) -> ErrorData {
    ErrorData::new(BUSY, format!("the server is busy: {problem}"), None)
}
