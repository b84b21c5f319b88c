//! Bulkheads: requests that wait for others do not take the room of requests that work.
//!
//! The reasons are in `docs/design/daemon-threads.md`.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use hyper::StatusCode;

use crate::{problem::Problem, settings::ServerSettings};

/// Room for a number of requests at once. Nobody waits for it: a request enters or is refused.
#[derive(Debug)]
pub(crate) struct Bulkhead {
    pub(crate) name: &'static str,
    /// The setting of its limit.
    setting: &'static str,
    used: AtomicUsize,
    limit: AtomicUsize,
}

/// Room in a bulkhead until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Bulkhead>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::Release);
    }
}

/// Something that a request needs is in use by others; the setting that limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full {
    pub(crate) what: &'static str,
    pub(crate) setting: &'static str,
}

impl From<Full> for Problem {
    fn from(full: Full) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "overload", full.what)
            .with_hint(format!("retry later; the setting `{}` sets the limit", full.setting))
            .with_retry_after(1)
    }
}

impl Bulkhead {
    fn new(name: &'static str, setting: &'static str, limit: usize) -> Arc<Self> {
        Arc::new(Self { name, setting, used: AtomicUsize::new(0), limit: AtomicUsize::new(limit) })
    }

    /// Takes room, if there is any.
    pub(crate) fn try_enter(self: &Arc<Self>) -> Result<Permit, Full> {
        let limit = self.limit();
        let enter = |used: usize| (used < limit).then_some(used + 1);
        match self.used.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter) {
            Ok(_) => Ok(Permit(Arc::clone(self))),
            Err(_) => Err(Full { what: "too many requests at once", setting: self.setting }),
        }
    }

    /// The requests in it.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// How many requests it has room for.
    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Whether the next request would be refused.
    pub(crate) fn is_full(&self) -> bool {
        self.used() >= self.limit()
    }
}

/// The bulkheads of the daemon.
#[derive(Debug)]
pub(crate) struct Bulkheads {
    /// Requests that work.
    pub(crate) requests: Arc<Bulkhead>,
    /// Requests to models.
    pub(crate) chats: Arc<Bulkhead>,
    /// Renders that wait for a tool or a hook.
    pub(crate) waits: Arc<Bulkhead>,
}

impl Bulkheads {
    pub(crate) fn new(settings: &ServerSettings) -> Self {
        Self {
            requests: Bulkhead::new("requests", "server.max_requests", settings.max_requests),
            chats: Bulkhead::new("chats", "server.max_chats", settings.max_chats),
            waits: Bulkhead::new("waits", "server.max_waits", settings.max_waits),
        }
    }

    /// Takes over the limits of `settings`. Requests that are in stay.
    pub(crate) fn set_limits(&self, settings: &ServerSettings) {
        self.requests.limit.store(settings.max_requests, Ordering::Relaxed);
        self.chats.limit.store(settings.max_chats, Ordering::Relaxed);
        self.waits.limit.store(settings.max_waits, Ordering::Relaxed);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Bulkhead> {
        [&self.requests, &self.chats, &self.waits].into_iter().map(|bulkhead| &**bulkhead)
    }

    /// The place of a request that works.
    pub(crate) fn enter_as_request(&self) -> Result<RequestSlot, Full> {
        let permit = self.requests.try_enter()?;
        Ok(RequestSlot::Work { permit: Mutex::new(Some(permit)), waits: Arc::clone(&self.waits) })
    }

    /// The place of a request to a model. It is another one for its whole time, the render included.
    pub(crate) fn enter_as_chat(&self) -> Result<RequestSlot, Full> {
        self.chats.try_enter().map(|permit| RequestSlot::Chat { _permit: permit })
    }

    /// The place of a render that no request waits for.
    pub(crate) fn enter_without_request(&self) -> RequestSlot {
        RequestSlot::Work { permit: Mutex::new(None), waits: Arc::clone(&self.waits) }
    }
}

/// The bulkhead that a request is in.
#[derive(Debug)]
pub(crate) enum RequestSlot {
    /// In none: a stream or a health check.
    Free,
    Chat {
        _permit: Permit,
    },
    Work {
        permit: Mutex<Option<Permit>>,
        /// Where it goes when it waits.
        waits: Arc<Bulkhead>,
    },
}

impl RequestSlot {
    /// Leaves the room of working requests, because this one waits for a tool or a hook from now on. What it still has to
    /// do then is bounded by the render threads.
    pub(crate) fn begin_wait(&self) -> Result<(), Full> {
        let Self::Work { permit, waits } = self else { return Ok(()) };
        let waiting = waits.try_enter()?;
        let working = permit.lock().unwrap_or_else(PoisonError::into_inner).replace(waiting);
        drop(working);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hinagata::Settings;

    use super::*;

    fn bulkheads(limit: usize) -> Bulkheads {
        let settings = ServerSettings::from_settings(&Settings::default()).expect("defaults can be read");
        Bulkheads::new(&ServerSettings {
            max_requests: limit,
            max_chats: limit,
            max_waits: limit,
            ..settings
        })
    }

    #[test]
    fn a_request_that_waits_makes_room_for_one_that_works() {
        let all = bulkheads(1);
        let first = all.enter_as_request().expect("has room");
        assert!(all.enter_as_request().is_err() && all.requests.is_full());
        first.begin_wait().expect("has room to wait");
        let second = all.enter_as_request().expect("the first one only waits");
        assert_eq!(second.begin_wait().expect_err("one waits already").setting, "server.max_waits");
        drop((first, second));
        assert!(all.iter().all(|bulkhead| bulkhead.used() == 0));
    }

    #[test]
    fn chats_have_their_own_room() {
        let all = bulkheads(1);
        let chat = all.enter_as_chat().expect("has room");
        chat.begin_wait().expect("waits where it is");
        assert!(all.enter_as_chat().is_err() && all.enter_as_request().is_ok());
        assert_eq!(all.waits.used(), 0);
    }

    #[test]
    fn a_lower_limit_counts_for_new_requests() {
        let all = bulkheads(2);
        let both = (all.enter_as_request().expect("has room"), all.enter_as_request().expect("has room"));
        let settings = ServerSettings::from_settings(&Settings::default()).expect("defaults can be read");
        all.set_limits(&ServerSettings { max_requests: 1, ..settings });
        drop(both.0);
        assert!(all.enter_as_request().is_err());
        drop(both.1);
        assert!(all.enter_as_request().is_ok());
    }
}
