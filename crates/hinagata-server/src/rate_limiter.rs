//! Requests per second, counted for each sender by the generic cell rate algorithm.
//!
//! A sender who was silent may send a second's worth of requests at once, and after that one for every interval.

use std::{
    collections::HashMap,
    hash::Hash,
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// One limit, kept for every sender apart.
pub(crate) struct RateLimiter<K> {
    /// Time that one request stands for.
    interval: Duration,
    /// How far the requests of a sender may be ahead of the time.
    burst: Duration,
    /// When the requests so far would have come at an even pace. The lock is held for one lookup.
    next: Mutex<HashMap<K, Instant>>,
}

impl<K: Eq + Hash> RateLimiter<K> {
    /// A limit of `rate` requests per second.
    pub(crate) fn per_second(rate: NonZeroU32) -> Self {
        let interval = Duration::from_secs(1) / rate.get();
        Self { interval, burst: interval * (rate.get() - 1), next: Mutex::default() }
    }

    /// Counts a request of `sender`, or returns how long the sender has to wait.
    pub(crate) fn count_request(&self, sender: K, now: Instant) -> Result<(), Duration> {
        let mut all = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let next = all.entry(sender).or_insert(now);
        match next.saturating_duration_since(now).checked_sub(self.burst) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                *next = (*next).max(now) + self.interval;
                Ok(())
            }
        }
    }

    /// Forgets senders whose requests are long past.
    pub(crate) fn forget_idle(&self, now: Instant) {
        let mut all = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, next| *next > now);
        all.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_per_second() -> RateLimiter<&'static str> {
        RateLimiter::per_second(NonZeroU32::new(3).expect("is not zero"))
    }

    #[test]
    fn a_burst_is_followed_by_one_request_for_every_interval() {
        let (limiter, start) = (three_per_second(), Instant::now());
        for _ in 0..3 {
            assert_eq!(limiter.count_request("a", start), Ok(()));
        }
        let wait = limiter.count_request("a", start).expect_err("the burst is used up");
        assert_eq!(wait, Duration::from_secs(1) / 3);
        assert_eq!(limiter.count_request("a", start + wait), Ok(()));
        assert!(limiter.count_request("a", start + wait).is_err());
        assert_eq!(limiter.count_request("b", start + wait), Ok(()));
    }

    #[test]
    fn a_silent_sender_gets_the_burst_back_and_no_more() {
        let (limiter, start) = (three_per_second(), Instant::now());
        assert_eq!(limiter.count_request("a", start), Ok(()));
        let later = start + Duration::from_secs(60);
        let allowed = (0..10).filter(|_| limiter.count_request("a", later).is_ok()).count();
        assert_eq!(allowed, 3);
    }

    #[test]
    fn only_idle_senders_are_forgotten() {
        let (limiter, start) = (three_per_second(), Instant::now());
        for sender in ["busy", "busy", "busy", "idle"] {
            assert_eq!(limiter.count_request(sender, start), Ok(()));
        }
        limiter.forget_idle(start + Duration::from_millis(500));
        let kept: Vec<_> = limiter.next.lock().expect("nothing panicked").keys().copied().collect();
        assert_eq!(kept, ["busy"]);
    }
}
