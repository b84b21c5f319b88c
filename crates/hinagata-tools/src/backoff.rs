//! The delay before a failing server is tried again.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// Consecutive failed attempts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    attempts: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// Records a failed attempt and doubles the delay.
    pub(crate) fn record_failure(&mut self, now: Instant) {
        self.until = Some(now + FIRST.saturating_mul(1 << self.attempts.min(16)).min(LONGEST));
        self.attempts = self.attempts.saturating_add(1);
    }

    /// The remaining delay, or `None` if the next attempt can start.
    pub(crate) fn time_left(&self, now: Instant) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_up_to_a_limit() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        assert_eq!(backoff.time_left(now), None);
        let waits: Vec<u128> = (0..8)
            .map(|_| {
                backoff.record_failure(now);
                backoff.time_left(now).map_or(0, |left| left.as_millis())
            })
            .collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        assert_eq!(backoff.time_left(now + LONGEST), None);
    }
}
