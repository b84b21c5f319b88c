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

use crate::{access::Caller, rate_limiter::RateLimiter};

/// Whose requests are counted together.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Sender {
    Key(usize),
    Owner,
    Address(IpAddr),
}

/// The rate limits of all callers.
pub(crate) struct RateLimits {
    all: Option<RateLimiter<Sender>>,
    /// Limiters of keys with their own limit, by limit.
    own: Mutex<HashMap<u32, Arc<RateLimiter<Sender>>>>,
    checks: AtomicU32,
}

impl RateLimits {
    pub(crate) fn new(rate: Option<u32>) -> Self {
        let all = rate.and_then(NonZeroU32::new).map(RateLimiter::per_second);
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
        let now = Instant::now();
        let wait = |limiter: &RateLimiter<Sender>| {
            limiter
                .count_request(sender, now)
                .map_err(|wait| u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1))
        };
        if let Some(rate) = own.and_then(NonZeroU32::new) {
            let limiter = Arc::clone(
                self.own
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .entry(rate.get())
                    .or_insert_with(|| Arc::new(RateLimiter::per_second(rate))),
            );
            return wait(&limiter);
        }
        let Some(all) = &self.all else { return Ok(()) };
        // Forget addresses that stopped sending.
        if self.checks.fetch_add(1, Ordering::Relaxed) % 16_384 == 16_383 {
            all.forget_idle(now);
        }
        wait(all)
    }
}
