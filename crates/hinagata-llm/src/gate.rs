//! Which calls a provider gets: a limit of concurrent calls, and a circuit breaker.
//!
//! Each provider has its own gate, so one that hangs or fails does not take connections and memory from the others, and
//! callers learn about it immediately instead of after a timeout.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use hinagata::{Error, Reason, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{ChosenModel, failure::model_error};

/// The longest pause that a provider may request with `Retry-After`.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Returns the current moment.
#[derive(Clone)]
pub(crate) struct Clock(pub(crate) Arc<dyn Fn() -> Instant + Send + Sync>);

impl Clock {
    pub(crate) fn now(&self) -> Instant {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The rules for the calls of a provider.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateRules {
    /// Most calls at the same time.
    pub(crate) concurrency: usize,
    /// Consecutive failures after which calls are suspended; 0 never suspends them.
    pub(crate) failures: u64,
    /// How long calls are suspended before one is tried.
    pub(crate) pause: Duration,
}

/// The gate of one provider.
#[derive(Debug)]
pub(crate) struct ProviderGate {
    provider: String,
    rules: GateRules,
    slots: Arc<Semaphore>,
    breaker: Mutex<Breaker>,
}

/// The state of the circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breaker {
    /// Calls pass; so many failed in a row.
    Closed { failures: u64 },
    /// Calls are refused. The first call after this moment is a trial.
    Open { until: Instant },
    /// The trial runs, and other calls are refused. Without a result, the next call after this moment is a trial.
    HalfOpen { until: Instant },
}

/// What a call says about its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The provider answers, even if it rejects the request.
    Success,
    /// The provider cannot be reached, does not answer in time, or fails; it may ask for a pause.
    Failure { retry_after: Option<Duration> },
    /// Nothing.
    Unknown,
}

impl Outcome {
    pub(crate) fn from_result<T>(result: &Result<T>) -> Self {
        let Err(error) = result else { return Self::Success };
        let number = |name: &str| error.details().get(name).and_then(serde_json::Value::as_u64);
        let failure = Self::Failure { retry_after: number("retry_after").map(Duration::from_secs) };
        match error.reason() {
            Some(Reason::Connect | Reason::Request | Reason::Timeout) => failure,
            Some(Reason::Status) if number("provider_status").is_some_and(|status| status >= 500) => failure,
            Some(Reason::Status | Reason::Answer | Reason::Size) => Self::Success,
            _ => Self::Unknown,
        }
    }
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Too many calls run.
    Concurrency { most: usize },
    /// The provider failed repeatedly; how long calls stay suspended.
    Suspended { wait: Duration },
}

impl Refusal {
    pub(crate) fn to_error(self, choice: &ChosenModel) -> Error {
        let provider = choice.provider();
        let (error, wait) = match self {
            Self::Concurrency { most } => (
                model_error(Reason::Busy, format!("`{provider}` already has {most} concurrent calls"))
                    .with("limit", most)
                    .with_hint(format!(
                        "try again later, or raise `llm.concurrency`, or `concurrency` in `llm.providers.{provider}`"
                    )),
                Duration::ZERO,
            ),
            Self::Suspended { wait } => (
                model_error(
                    Reason::Down,
                    format!("calls to `{provider}` are suspended, because it failed repeatedly"),
                )
                .with_hint("try again later; `llm.breaker_failures` and `llm.breaker_pause` control the suspension"),
                wait,
            ),
        };
        error
            .with("provider", provider)
            .with("model", choice.model())
            .with("retry_after", whole_seconds(wait).max(1))
    }
}

/// A duration in seconds, rounded up.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0))
}

impl ProviderGate {
    pub(crate) fn new(provider: &str, rules: GateRules) -> Self {
        let most = rules.concurrency.min(Semaphore::MAX_PERMITS);
        Self {
            provider: provider.to_owned(),
            rules: GateRules { concurrency: most, ..rules },
            slots: Arc::new(Semaphore::new(most)),
            breaker: Mutex::new(Breaker::Closed { failures: 0 }),
        }
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a call, or refuses it immediately.
    pub(crate) fn admit_call(self: &Arc<Self>, now: Instant) -> Result<Pass, Refusal> {
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        let slot = slot.map_err(|_| Refusal::Concurrency { most: self.rules.concurrency })?;
        let mut breaker = self.breaker();
        let is_trial = match *breaker {
            Breaker::Closed { .. } => false,
            Breaker::Open { until } if until <= now => {
                *breaker = Breaker::HalfOpen { until };
                true
            }
            Breaker::Open { until } => return Err(Refusal::Suspended { wait: until - now }),
            Breaker::HalfOpen { .. } => return Err(Refusal::Suspended { wait: Duration::ZERO }),
        };
        drop(breaker);
        Ok(Pass { gate: Arc::clone(self), is_trial, _slot: slot })
    }
}

/// Permission for one call. It occupies a slot until it is dropped.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: Arc<ProviderGate>,
    is_trial: bool,
    _slot: OwnedSemaphorePermit,
}

impl Pass {
    /// Records what the call says about the provider.
    pub(crate) fn record_outcome(&mut self, outcome: Outcome, now: Instant) {
        let rules = self.gate.rules;
        let mut breaker = self.gate.breaker();
        let next = match (*breaker, outcome) {
            (Breaker::Closed { .. }, Outcome::Success) => Breaker::Closed { failures: 0 },
            (Breaker::Closed { failures }, Outcome::Failure { retry_after }) => {
                let failures = failures + 1;
                match rules.failures > 0 && failures >= rules.failures {
                    true => open_breaker(rules, retry_after, now),
                    false => Breaker::Closed { failures },
                }
            }
            (Breaker::HalfOpen { .. }, Outcome::Success) if self.is_trial => Breaker::Closed { failures: 0 },
            (Breaker::HalfOpen { .. }, Outcome::Failure { retry_after }) if self.is_trial => {
                open_breaker(rules, retry_after, now)
            }
            // A call that started before the breaker opened does not change it.
            (other, _) => other,
        };
        let before = std::mem::replace(&mut *breaker, next);
        drop(breaker);
        self.is_trial &= matches!(next, Breaker::HalfOpen { .. });
        let provider = self.gate.provider.as_str();
        match (before, next) {
            (Breaker::Closed { failures }, Breaker::Open { until }) => {
                let pause = until - now;
                tracing::warn!(
                    provider,
                    failures = failures + 1,
                    ?pause,
                    "calls to the provider are suspended"
                );
            }
            (Breaker::HalfOpen { .. }, Breaker::Closed { .. }) => {
                tracing::info!(provider, "the provider answers again");
            }
            _ => {}
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut breaker = self.gate.breaker();
        if let Breaker::HalfOpen { until } = *breaker
            && self.is_trial
        {
            // The trial ended without a result, for example because nobody waited for it.
            *breaker = Breaker::Open { until };
        }
    }
}

fn open_breaker(rules: GateRules, retry_after: Option<Duration>, now: Instant) -> Breaker {
    let asked = retry_after.unwrap_or_default().min(LONGEST_PAUSE);
    Breaker::Open { until: now + rules.pause.max(asked) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const FAILED: Outcome = Outcome::Failure { retry_after: None };

    fn gate(concurrency: usize, failures: u64) -> Arc<ProviderGate> {
        Arc::new(ProviderGate::new("p", GateRules { concurrency, failures, pause: 10 * SECOND }))
    }

    /// One call with an outcome.
    fn call(gate: &Arc<ProviderGate>, outcome: Outcome, now: Instant) -> Result<(), Refusal> {
        gate.admit_call(now).map(|mut pass| pass.record_outcome(outcome, now))
    }

    #[test]
    fn a_slot_is_free_again_when_its_call_ends() {
        let (gate, now) = (gate(2, 0), Instant::now());
        let first = gate.admit_call(now).expect("is free");
        let _second = gate.admit_call(now).expect("is free");
        assert_eq!(gate.admit_call(now).expect_err("is full"), Refusal::Concurrency { most: 2 });
        drop(first);
        gate.admit_call(now).expect("is free again");
    }

    #[test]
    fn only_consecutive_failures_open_the_breaker() {
        let (gate, now) = (gate(9, 2), Instant::now());
        for outcome in [FAILED, Outcome::Success, FAILED, Outcome::Unknown] {
            call(&gate, outcome, now).expect("is closed");
        }
        call(&gate, FAILED, now).expect("is closed");
        let wait = 10 * SECOND;
        assert_eq!(call(&gate, FAILED, now), Err(Refusal::Suspended { wait }));
        assert_eq!(call(&gate, FAILED, now + 9 * SECOND), Err(Refusal::Suspended { wait: SECOND }));
    }

    #[test]
    fn after_the_pause_one_call_decides() {
        let (gate, start) = (gate(9, 1), Instant::now());
        call(&gate, FAILED, start).expect("is closed");
        let later = start + 10 * SECOND;
        let mut trial = gate.admit_call(later).expect("is a trial");
        assert_eq!(call(&gate, FAILED, later), Err(Refusal::Suspended { wait: Duration::ZERO }));
        trial.record_outcome(FAILED, later);
        drop(trial);
        assert_eq!(call(&gate, FAILED, later), Err(Refusal::Suspended { wait: 10 * SECOND }));
        let later = later + 10 * SECOND;
        call(&gate, Outcome::Success, later).expect("is a trial");
        call(&gate, Outcome::Success, later).expect("is closed again");
    }

    #[test]
    fn a_trial_without_a_result_lets_the_next_call_decide() {
        let (gate, start) = (gate(9, 1), Instant::now());
        call(&gate, FAILED, start).expect("is closed");
        let later = start + 10 * SECOND;
        drop(gate.admit_call(later).expect("is a trial"));
        call(&gate, Outcome::Unknown, later).expect("is a trial");
        call(&gate, Outcome::Success, later).expect("is a trial");
        call(&gate, FAILED, later).expect("is closed again");
    }

    #[test]
    fn calls_from_before_do_not_change_an_open_breaker() {
        let (gate, start) = (gate(9, 1), Instant::now());
        let mut old =
            [gate.admit_call(start).expect("is closed"), gate.admit_call(start).expect("is closed")];
        call(&gate, FAILED, start).expect("is closed");
        old[0].record_outcome(Outcome::Success, start);
        old[1].record_outcome(FAILED, start + 9 * SECOND);
        drop(old);
        assert_eq!(call(&gate, FAILED, start), Err(Refusal::Suspended { wait: 10 * SECOND }));
    }

    #[test]
    fn a_provider_can_ask_for_a_longer_pause() {
        let now = Instant::now();
        for (asked, wait) in [(5, 10), (60, 60), (86_400, 300)] {
            let gate = gate(9, 1);
            let outcome = Outcome::Failure { retry_after: Some(asked * SECOND) };
            call(&gate, outcome, now).expect("is closed");
            assert_eq!(call(&gate, FAILED, now), Err(Refusal::Suspended { wait: wait * SECOND }));
        }
    }

    #[test]
    fn seconds_are_rounded_up() {
        assert_eq!(
            [0, 1, 999, 1000, 1001].map(|ms| whole_seconds(Duration::from_millis(ms))),
            [0, 1, 1, 1, 2]
        );
    }
}
