//! Room for connections: a new one takes the place of the one that is idle for longest when all places are taken.
//!
//! The reasons are in `docs/design/daemon-threads.md`.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::Notify;

/// How long a connection must have sent no complete request before it can lose its place: a request may be on its way.
const MIN_IDLE: Duration = Duration::from_millis(250);

/// [`ConnectionState::idle_since`] of a connection with a request under way.
const BUSY: u64 = u64::MAX;

/// Places for a number of connections.
#[derive(Debug)]
pub(crate) struct ConnectionRoom {
    started: Instant,
    limit: AtomicUsize,
    next_id: AtomicU64,
    /// The connections that have a place. The lock is held for one change or one look.
    open: Mutex<HashMap<u64, Arc<ConnectionState>>>,
}

/// What the room knows about a connection.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    /// Since when it waits for a request, in microseconds after the start of the room.
    idle_since: AtomicU64,
    /// Requests so far.
    requests: AtomicU64,
    /// It has lost its place.
    evicted: Notify,
}

/// The place of a connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    room: Arc<ConnectionRoom>,
    id: u64,
    state: Arc<ConnectionState>,
}

impl ConnectionRoom {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            limit: AtomicUsize::new(limit),
            next_id: AtomicU64::new(0),
            open: Mutex::default(),
        })
    }

    fn lock_open(&self) -> MutexGuard<'_, HashMap<u64, Arc<ConnectionState>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(BUSY - 1)
    }

    /// Takes over another limit. Open connections keep their places.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// The connections that have a place.
    pub(crate) fn used(&self) -> usize {
        self.lock_open().len()
    }

    /// A place for a new connection: a free one, or that of the connection which is idle for longest. `None` when all
    /// connections are busy or were so a moment ago.
    pub(crate) fn find_place(self: &Arc<Self>) -> Option<ConnectionPlace> {
        let now = self.now();
        let mut open = self.lock_open();
        if open.len() >= self.limit.load(Ordering::Relaxed) {
            let (evicted, state) = longest_idle(&open, now)?;
            open.remove(&evicted);
            state.evicted.notify_one();
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let state = Arc::new(ConnectionState {
            idle_since: AtomicU64::new(now),
            requests: AtomicU64::new(0),
            evicted: Notify::new(),
        });
        open.insert(id, Arc::clone(&state));
        Some(ConnectionPlace { room: Arc::clone(self), id, state })
    }

    /// Closes the connection that is idle for longest, where the system has no room for another one.
    pub(crate) fn evict_idle(&self) -> bool {
        let now = self.now();
        let mut open = self.lock_open();
        let Some((evicted, state)) = longest_idle(&open, now) else { return false };
        open.remove(&evicted);
        state.evicted.notify_one();
        true
    }
}

fn longest_idle(open: &HashMap<u64, Arc<ConnectionState>>, now: u64) -> Option<(u64, Arc<ConnectionState>)> {
    let idle_since = |state: &ConnectionState| state.idle_since.load(Ordering::Relaxed);
    let (id, state) = open.iter().min_by_key(|(_, state)| idle_since(state))?;
    let since = idle_since(state);
    let is_idle = since != BUSY && Duration::from_micros(now.saturating_sub(since)) >= MIN_IDLE;
    is_idle.then(|| (*id, Arc::clone(state)))
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.room.lock_open().remove(&self.id);
    }
}

impl ConnectionPlace {
    /// Marks a request as under way until the guard is dropped.
    pub(crate) fn begin_request(self: &Arc<Self>) -> RequestUnderWay {
        self.state.requests.fetch_add(1, Ordering::Relaxed);
        self.state.idle_since.store(BUSY, Ordering::Relaxed);
        RequestUnderWay(Arc::clone(self))
    }

    /// Whether a request is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.state.idle_since.load(Ordering::Relaxed) == BUSY
    }

    /// Whether a request ever came.
    pub(crate) fn has_asked(&self) -> bool {
        self.state.requests.load(Ordering::Relaxed) > 0
    }

    /// Waits until another connection has taken the place.
    pub(crate) async fn wait_for_eviction(&self) {
        self.state.evicted.notified().await;
    }
}

/// A request of a connection. A client sends its next request after the response, so there is only one at a time.
#[derive(Debug)]
pub(crate) struct RequestUnderWay(Arc<ConnectionPlace>);

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        self.0.state.idle_since.store(self.0.room.now(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if `place` had been idle since the start of its room, and the room were old.
    fn set_idle_since(place: &ConnectionPlace, since: u64) {
        place.state.idle_since.store(since, Ordering::Relaxed);
    }

    fn old_room(limit: usize) -> Arc<ConnectionRoom> {
        let room = ConnectionRoom::new(limit);
        let started = Instant::now().checked_sub(Duration::from_secs(60)).expect("is long ago");
        Arc::new(ConnectionRoom { started, ..Arc::into_inner(room).expect("is the only one") })
    }

    #[tokio::test]
    async fn the_longest_idle_connection_makes_room() {
        let room = old_room(2);
        let (first, second) = (room.find_place().expect("is free"), room.find_place().expect("is free"));
        assert!(room.find_place().is_none(), "both may be about to ask");
        set_idle_since(&first, 2);
        set_idle_since(&second, 1);
        let third = room.find_place().expect("takes the place of the second");
        second.wait_for_eviction().await;
        assert_eq!(room.used(), 2);
        drop(second);
        assert_eq!(room.used(), 2, "its place belongs to another one");
        drop(third);
        assert_eq!(room.used(), 1);
    }

    #[test]
    fn a_busy_connection_keeps_its_place() {
        let room = old_room(1);
        let place = Arc::new(room.find_place().expect("is free"));
        set_idle_since(&place, 0);
        let request = place.begin_request();
        assert!(place.is_busy() && room.find_place().is_none() && !room.evict_idle());
        drop(request);
        assert!(!place.is_busy() && room.find_place().is_none(), "it was busy a moment ago");
        set_idle_since(&place, 0);
        assert!(room.find_place().is_some());
    }

    #[test]
    fn a_lower_limit_closes_nothing() {
        let room = old_room(2);
        let both = (room.find_place(), room.find_place());
        room.set_limit(1);
        assert_eq!(room.used(), 2);
        drop(both);
        let _only = room.find_place().expect("is free");
        assert!(room.find_place().is_none());
    }
}
