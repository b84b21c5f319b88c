//! Rate limits.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use arc_swap::ArcSwapOption;

use crate::{access::Caller, rate_limiter::RateLimiter};

/// Whose requests are counted together.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Sender {
    Key(Arc<str>),
    Owner,
    Address(IpAddr),
}

/// The rate limits of all callers.
pub(crate) struct RateLimits {
    all: ArcSwapOption<(u32, RateLimiter<Sender>)>,
    /// Limiters of keys with their own limit, by limit.
    own: Mutex<HashMap<u32, Arc<RateLimiter<Sender>>>>,
    checks: AtomicU32,
}

impl RateLimits {
    pub(crate) fn new(rate: Option<u32>) -> Self {
        let limits = Self { all: ArcSwapOption::empty(), own: Mutex::default(), checks: 0.into() };
        limits.set_rate(rate);
        limits
    }

    /// Takes over another limit. What was counted so far counts only for the same limit.
    pub(crate) fn set_rate(&self, rate: Option<u32>) {
        let rate = rate.and_then(NonZeroU32::new);
        if self.all.load().as_ref().map(|all| all.0) != rate.map(NonZeroU32::get) {
            self.all.store(rate.map(|rate| Arc::new((rate.get(), RateLimiter::per_second(rate)))));
        }
    }

    /// Whether the caller may send a request now; if not, the seconds to wait. `own` is the limit of the caller's key.
    pub(crate) fn check_rate(&self, caller: &Caller, own: Option<u32>, address: IpAddr) -> Result<(), u32> {
        let all = self.all.load();
        if all.is_none() && own.is_none() {
            return Ok(());
        }
        let sender = match caller {
            Caller::Key(key) => Sender::Key(Arc::clone(&key.name)),
            Caller::Owner => Sender::Owner,
            Caller::Anonymous => Sender::Address(address),
        };
        if let Some(rate) = own.and_then(NonZeroU32::new) {
            let limiter = Arc::clone(
                self.own
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .entry(rate.get())
                    .or_insert_with(|| Arc::new(RateLimiter::per_second(rate))),
            );
            return count_request(&limiter, sender, Instant::now());
        }
        all.as_deref().map_or(Ok(()), |(_, all)| self.count_among_all(all, sender))
    }

    /// As [`Self::check_rate`], for the holder of the key with this name, or for an address. Keys have no limit of their
    /// own here.
    pub(crate) fn check_sender(&self, key: Option<&Arc<str>>, address: IpAddr) -> Result<(), u32> {
        let all = self.all.load();
        let sender = key.map_or(Sender::Address(address), |name| Sender::Key(Arc::clone(name)));
        all.as_deref().map_or(Ok(()), |(_, all)| self.count_among_all(all, sender))
    }

    fn count_among_all(&self, all: &RateLimiter<Sender>, sender: Sender) -> Result<(), u32> {
        let now = Instant::now();
        // Forget addresses that stopped sending.
        if self.checks.fetch_add(1, Ordering::Relaxed) % 16_384 == 16_383 {
            all.forget_idle(now);
        }
        count_request(all, sender, now)
    }
}

/// Counts a request, or returns the seconds to wait.
fn count_request(limiter: &RateLimiter<Sender>, sender: Sender, now: Instant) -> Result<(), u32> {
    let counted = limiter.count_request(sender, now);
    counted.map_err(|wait| u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1))
}
