//! Decides when calls to a server that does not answer are refused at once, and when the next one tries again.

use std::time::{Duration, Instant};

/// The longest pause that a server may request.
const LONGEST_REQUESTED_PAUSE: Duration = Duration::from_secs(300);

/// When calls are suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerRules {
    /// Failures in a row after which calls are refused; 0 never refuses them.
    pub max_failures: u64,
    /// How long calls are refused before one is tried.
    pub first_pause: Duration,
    /// Each failed trial doubles the pause, up to this one.
    pub longest_pause: Duration,
}

/// What a call says about the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It answered, perhaps with an error.
    Answered,
    /// It did not answer, or failed; it may request a pause.
    Failed {
        /// The pause that the server requests.
        requested_pause: Option<Duration>,
    },
    /// Nothing: the call did not reach it, or was cancelled.
    Unknown,
}

/// An admitted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmittedCall {
    /// One of many.
    Normal,
    /// The one call that finds out whether the server answers again.
    Trial,
}

/// A change that is worth a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerChange {
    /// From now on, calls are refused, until a trial after this time.
    Opened(Duration),
    /// Calls are admitted again.
    Closed,
}

/// A circuit breaker for one server.
#[derive(Debug)]
pub struct CircuitBreaker {
    rules: BreakerRules,
    failures: u64,
    open: Option<OpenBreaker>,
}

#[derive(Clone, Copy, Debug)]
struct OpenBreaker {
    pause: Duration,
    until: Instant,
    is_trial_running: bool,
}

impl CircuitBreaker {
    /// A breaker that admits calls.
    #[must_use]
    pub const fn new(rules: BreakerRules) -> Self {
        Self { rules, failures: 0, open: None }
    }

    /// Admits a call. Its outcome must be recorded, even that of a cancelled one.
    ///
    /// # Errors
    /// The time until the next trial, which is zero while a trial is running.
    pub fn admit_call(&mut self, now: Instant) -> Result<AdmittedCall, Duration> {
        match &mut self.open {
            None => Ok(AdmittedCall::Normal),
            Some(open) if open.until > now => Err(open.until - now),
            Some(open) if open.is_trial_running => Err(Duration::ZERO),
            Some(open) => {
                open.is_trial_running = true;
                Ok(AdmittedCall::Trial)
            }
        }
    }

    /// Records the outcome of an admitted call. A call that was admitted before the breaker opened changes nothing
    /// afterwards.
    pub fn record_outcome(
        &mut self,
        call: AdmittedCall,
        outcome: CallOutcome,
        now: Instant,
    ) -> Option<BreakerChange> {
        match (&mut self.open, call, outcome) {
            (None, _, CallOutcome::Answered) => self.failures = 0,
            (None, _, CallOutcome::Failed { requested_pause }) => {
                self.failures = self.failures.saturating_add(1);
                if self.rules.max_failures > 0 && self.failures >= self.rules.max_failures {
                    let pause = self.open_for(self.rules.first_pause, requested_pause, now);
                    return Some(BreakerChange::Opened(pause));
                }
            }
            (Some(_), AdmittedCall::Trial, CallOutcome::Answered) => {
                *self = Self::new(self.rules);
                return Some(BreakerChange::Closed);
            }
            // The pause was reported when it began.
            (Some(open), AdmittedCall::Trial, CallOutcome::Failed { requested_pause }) => {
                let pause = open.pause.saturating_mul(2).min(self.rules.longest_pause);
                self.open_for(pause, requested_pause, now);
            }
            (Some(open), AdmittedCall::Trial, CallOutcome::Unknown) => open.is_trial_running = false,
            _ => {}
        }
        None
    }

    /// Refuses calls for `pause`, or for longer if the server requests that. Returns the time.
    fn open_for(&mut self, pause: Duration, requested: Option<Duration>, now: Instant) -> Duration {
        let time = pause.max(requested.unwrap_or_default().min(LONGEST_REQUESTED_PAUSE));
        self.open = Some(OpenBreaker { pause, until: now + time, is_trial_running: false });
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const FAILED: CallOutcome = CallOutcome::Failed { requested_pause: None };

    fn breaker(max_failures: u64) -> CircuitBreaker {
        CircuitBreaker::new(BreakerRules {
            max_failures,
            first_pause: 10 * SECOND,
            longest_pause: 30 * SECOND,
        })
    }

    /// One call with an outcome; the time until the next trial if it is refused.
    fn call(
        breaker: &mut CircuitBreaker,
        outcome: CallOutcome,
        now: Instant,
    ) -> Result<Option<BreakerChange>, Duration> {
        let call = breaker.admit_call(now)?;
        Ok(breaker.record_outcome(call, outcome, now))
    }

    #[test]
    fn only_consecutive_failures_open_the_breaker() {
        let (mut breaker, now) = (breaker(2), Instant::now());
        for outcome in [FAILED, CallOutcome::Answered, FAILED, CallOutcome::Unknown] {
            assert_eq!(call(&mut breaker, outcome, now), Ok(None));
        }
        assert_eq!(call(&mut breaker, FAILED, now), Ok(Some(BreakerChange::Opened(10 * SECOND))));
        assert_eq!(call(&mut breaker, FAILED, now + 9 * SECOND), Err(SECOND));
    }

    #[test]
    fn without_a_limit_calls_are_never_refused() {
        let (mut breaker, now) = (breaker(0), Instant::now());
        for _ in 0..100 {
            assert_eq!(call(&mut breaker, FAILED, now), Ok(None));
        }
    }

    #[test]
    fn after_the_pause_one_call_decides() {
        let (mut breaker, start) = (breaker(1), Instant::now());
        call(&mut breaker, FAILED, start).expect("is closed");
        let mut now = start + 10 * SECOND;
        // Each failed trial doubles the pause, up to the longest, without another report.
        for pause in [20, 30, 30].map(|seconds| seconds * SECOND) {
            assert_eq!(breaker.admit_call(now), Ok(AdmittedCall::Trial));
            assert_eq!(breaker.admit_call(now), Err(Duration::ZERO), "one trial at a time");
            assert_eq!(breaker.record_outcome(AdmittedCall::Trial, FAILED, now), None);
            assert_eq!(breaker.admit_call(now), Err(pause));
            now += pause;
        }
        assert_eq!(call(&mut breaker, CallOutcome::Answered, now), Ok(Some(BreakerChange::Closed)));
        assert_eq!(breaker.admit_call(now), Ok(AdmittedCall::Normal));
    }

    #[test]
    fn a_cancelled_trial_makes_way_for_the_next() {
        let (mut breaker, start) = (breaker(1), Instant::now());
        call(&mut breaker, FAILED, start).expect("is closed");
        let later = start + 10 * SECOND;
        assert_eq!(call(&mut breaker, CallOutcome::Unknown, later), Ok(None));
        assert_eq!(breaker.admit_call(later), Ok(AdmittedCall::Trial));
    }

    #[test]
    fn calls_from_before_do_not_change_an_open_breaker() {
        let (mut breaker, start) = (breaker(1), Instant::now());
        let old = breaker.admit_call(start).expect("is closed");
        call(&mut breaker, FAILED, start).expect("is closed");
        for outcome in [CallOutcome::Answered, FAILED, CallOutcome::Unknown] {
            assert_eq!(breaker.record_outcome(old, outcome, start + 5 * SECOND), None);
            assert_eq!(breaker.admit_call(start), Err(10 * SECOND));
        }
    }

    #[test]
    fn a_server_can_request_a_longer_pause() {
        for (requested, wait) in [(5, 10), (60, 60), (86_400, 300)] {
            let (mut breaker, now) = (breaker(1), Instant::now());
            let outcome = CallOutcome::Failed { requested_pause: Some(requested * SECOND) };
            assert_eq!(call(&mut breaker, outcome, now), Ok(Some(BreakerChange::Opened(wait * SECOND))));
            assert_eq!(breaker.admit_call(now), Err(wait * SECOND));
        }
    }
}
