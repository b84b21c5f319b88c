//! Rate limits.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::access::Caller;

/// Whose requests are counted together.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Sender {
    Key(usize),
    Owner,
    Address(IpAddr),
}

/// The rate limits of all callers.
pub(crate) struct RateLimits {
    all: Option<DefaultKeyedRateLimiter<Sender>>,
    /// Limiters of keys with their own limit, by limit.
    own: Mutex<HashMap<u32, Arc<DefaultKeyedRateLimiter<Sender>>>>,
    checks: AtomicU32,
}

impl RateLimits {
    pub(crate) fn new(rate: Option<u32>) -> Self {
        let all = rate.and_then(NonZeroU32::new).map(|rate| RateLimiter::keyed(Quota::per_second(rate)));
        Self { all, own: Mutex::default(), checks: 0.into() }
    }

    /// Whether the caller may send a request now; if not, the seconds to wait. `own` is the limit of the caller's key.
    pub(crate) fn check_rate(&self, caller: &Caller, own: Option<u32>, address: IpAddr) -> Result<(), u32> {
        if self.all.is_none() && own.is_none() {
            return Ok(());
        }
        let sender = match caller {
            Caller::Key(place) => Sender::Key(*place),
            Caller::Owner => Sender::Owner,
            Caller::Anonymous => Sender::Address(address),
        };
        let wait = |limiter: &DefaultKeyedRateLimiter<Sender>| {
            limiter.check_key(&sender).map_err(|not_yet| {
                let wait = not_yet.wait_time_from(governor::clock::Clock::now(limiter.clock()));
                u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1)
            })
        };
        if let Some(rate) = own.and_then(NonZeroU32::new) {
            let limiter = Arc::clone(
                self.own
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .entry(rate.get())
                    .or_insert_with(|| Arc::new(RateLimiter::keyed(Quota::per_second(rate)))),
            );
            return wait(&limiter);
        }
        let Some(all) = &self.all else { return Ok(()) };
        // Forget addresses that stopped sending.
        if self.checks.fetch_add(1, Ordering::Relaxed) % 16_384 == 16_383 {
            all.retain_recent();
            all.shrink_to_fit();
        }
        wait(all)
    }
}
