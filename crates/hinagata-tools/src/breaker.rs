//! Decides when calls to servers that do not answer are refused at once, and when the next one tries again.

use std::time::{Duration, Instant};

use crate::backoff::Backoff;

/// Failures in a row after which calls are refused.
pub(crate) const MAX_FAILURES: u32 = 5;

/// What a call says about the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerSign {
    /// It answered, perhaps with an error.
    Answered,
    /// It did not answer.
    Silent,
    /// Nothing: the call did not reach it, or was cancelled.
    None,
}

/// An admitted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdmittedCall {
    /// One of many.
    Normal,
    /// The one call that finds out whether the server answers again.
    Trial,
}

/// A change that is worth a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreakerChange {
    /// From now on, calls are refused, until a trial after this time.
    Opened(Duration),
    /// Calls are admitted again.
    Closed,
}

/// The recent failures of a server.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    backoff: Backoff,
    is_trial_running: bool,
}

impl Breaker {
    /// Admits a call, or returns the time until the next trial, which is zero while a trial is running.
    pub(crate) fn admit_call(&mut self, now: Instant) -> Result<AdmittedCall, Duration> {
        if !self.is_open() {
            return Ok(AdmittedCall::Normal);
        }
        if let Some(left) = self.backoff.time_left(now) {
            return Err(left);
        }
        if self.is_trial_running {
            return Err(Duration::ZERO);
        }
        self.is_trial_running = true;
        Ok(AdmittedCall::Trial)
    }

    /// Records the end of a call.
    pub(crate) fn record_sign(
        &mut self,
        call: AdmittedCall,
        sign: ServerSign,
        now: Instant,
    ) -> Option<BreakerChange> {
        let (was_open, is_trial) = (self.is_open(), call == AdmittedCall::Trial);
        if is_trial {
            self.is_trial_running = false;
        }
        match sign {
            ServerSign::None => None,
            ServerSign::Answered => {
                let is_trial_running = self.is_trial_running;
                *self = Self { is_trial_running, ..Self::default() };
                was_open.then_some(BreakerChange::Closed)
            }
            // Calls from before the pause end during it and say nothing new.
            ServerSign::Silent if was_open && !is_trial => None,
            ServerSign::Silent => {
                self.failures = self.failures.saturating_add(1);
                if !self.is_open() {
                    return None;
                }
                self.backoff.record_failure(now);
                let pause = self.backoff.time_left(now).unwrap_or_default();
                // A failed trial continues the pause that was reported.
                (!was_open).then_some(BreakerChange::Opened(pause))
            }
        }
    }

    fn is_open(&self) -> bool {
        self.failures >= MAX_FAILURES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(breaker: &mut Breaker, now: Instant) -> Option<BreakerChange> {
        let call = breaker.admit_call(now).expect("is admitted");
        breaker.record_sign(call, ServerSign::Silent, now)
    }

    fn open(now: Instant) -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 1..MAX_FAILURES {
            assert_eq!(fail(&mut breaker, now), None);
        }
        assert!(matches!(fail(&mut breaker, now), Some(BreakerChange::Opened(_))));
        breaker
    }

    #[test]
    fn calls_are_refused_after_failures_in_a_row() {
        let now = Instant::now();
        let left = open(now).admit_call(now).expect_err("is refused");
        assert!(!left.is_zero());
        // An answer in between starts the count again.
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            for _ in 1..MAX_FAILURES {
                assert_eq!(fail(&mut breaker, now), None);
            }
            let call = breaker.admit_call(now).expect("is admitted");
            assert_eq!(breaker.record_sign(call, ServerSign::Answered, now), None);
        }
    }

    #[test]
    fn one_call_after_the_pause_decides() {
        let start = Instant::now();
        let mut breaker = open(start);
        let pause = breaker.admit_call(start).expect_err("is refused");
        let later = start + pause;
        assert_eq!(breaker.admit_call(later), Ok(AdmittedCall::Trial));
        assert_eq!(breaker.admit_call(later), Err(Duration::ZERO), "one trial at a time");
        // A failed trial makes the pause longer, without another report.
        assert_eq!(breaker.record_sign(AdmittedCall::Trial, ServerSign::Silent, later), None);
        let longer = breaker.admit_call(later).expect_err("is refused");
        assert!(longer > pause, "{longer:?}");
        let later = later + longer;
        assert_eq!(breaker.admit_call(later), Ok(AdmittedCall::Trial));
        let change = breaker.record_sign(AdmittedCall::Trial, ServerSign::Answered, later);
        assert_eq!(change, Some(BreakerChange::Closed));
        assert_eq!(breaker.admit_call(later), Ok(AdmittedCall::Normal));
    }

    #[test]
    fn a_cancelled_trial_makes_way_for_the_next() {
        let start = Instant::now();
        let mut breaker = open(start);
        let later = start + breaker.admit_call(start).expect_err("is refused");
        assert_eq!(breaker.admit_call(later), Ok(AdmittedCall::Trial));
        assert_eq!(breaker.record_sign(AdmittedCall::Trial, ServerSign::None, later), None);
        assert_eq!(breaker.admit_call(later), Ok(AdmittedCall::Trial));
    }

    #[test]
    fn calls_from_before_the_pause_do_not_extend_it() {
        let now = Instant::now();
        let mut breaker = open(now);
        let pause = breaker.admit_call(now).expect_err("is refused");
        for _ in 0..100 {
            assert_eq!(breaker.record_sign(AdmittedCall::Normal, ServerSign::Silent, now), None);
        }
        assert_eq!(breaker.admit_call(now), Err(pause));
    }
}
