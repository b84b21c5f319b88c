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
use hinagata_http::{AdmittedCall, BreakerChange, BreakerRules, CallOutcome, CircuitBreaker};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::model_error;

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
    pub(crate) breaker: BreakerRules,
}

/// The gate of one provider.
#[derive(Debug)]
pub(crate) struct ProviderGate {
    provider: String,
    concurrency: usize,
    slots: Arc<Semaphore>,
    breaker: Mutex<CircuitBreaker>,
}

/// What the result of a call says about its provider.
pub(crate) fn call_outcome<T>(result: &Result<T>) -> CallOutcome {
    let Err(error) = result else { return CallOutcome::Answered };
    let number = |name: &str| error.details().get(name).and_then(serde_json::Value::as_u64);
    let failed = CallOutcome::Failed { requested_pause: number("retry_after").map(Duration::from_secs) };
    match error.reason() {
        Some(Reason::Connect | Reason::Request | Reason::Timeout) => failed,
        Some(Reason::Status) if number("provider_status").is_some_and(|status| status >= 500) => failed,
        // It answers, even if it rejects the request.
        Some(Reason::Status | Reason::Answer | Reason::Size) => CallOutcome::Answered,
        _ => CallOutcome::Unknown,
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
    /// The error of a call to `model`.
    pub(crate) fn to_error(self, provider: &str, model: &str) -> Error {
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
        error.with("provider", provider).with("model", model).with("retry_after", whole_seconds(wait).max(1))
    }
}

/// A duration in seconds, rounded up.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0))
}

impl ProviderGate {
    pub(crate) fn new(provider: &str, rules: GateRules) -> Self {
        let concurrency = rules.concurrency.min(Semaphore::MAX_PERMITS);
        Self {
            provider: provider.to_owned(),
            concurrency,
            slots: Arc::new(Semaphore::new(concurrency)),
            breaker: Mutex::new(CircuitBreaker::new(rules.breaker)),
        }
    }

    fn breaker(&self) -> MutexGuard<'_, CircuitBreaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a call, or refuses it immediately.
    pub(crate) fn admit_call(self: &Arc<Self>, now: Instant) -> Result<Pass, Refusal> {
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        let slot = slot.map_err(|_| Refusal::Concurrency { most: self.concurrency })?;
        let call = self.breaker().admit_call(now).map_err(|wait| Refusal::Suspended { wait })?;
        Ok(Pass { gate: Arc::clone(self), call: Some((call, now)), _slot: slot })
    }

    fn record_outcome(&self, call: AdmittedCall, outcome: CallOutcome, now: Instant) {
        let change = self.breaker().record_outcome(call, outcome, now);
        let provider = self.provider.as_str();
        match change {
            Some(BreakerChange::Opened(pause)) => {
                tracing::warn!(provider, ?pause, "calls to the provider are suspended");
            }
            Some(BreakerChange::Closed) => tracing::info!(provider, "the provider answers again"),
            None => {}
        }
    }
}

/// Permission for one call. It occupies a slot until it is dropped.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: Arc<ProviderGate>,
    /// The call, and when it was admitted, until its outcome is known.
    call: Option<(AdmittedCall, Instant)>,
    _slot: OwnedSemaphorePermit,
}

impl Pass {
    /// Records what the call says about the provider.
    pub(crate) fn record_outcome(&mut self, outcome: CallOutcome, now: Instant) {
        if let Some((call, _)) = self.call.take() {
            self.gate.record_outcome(call, outcome, now);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some((call, admitted)) = self.call.take() {
            // It ended without a result, for example because nobody waited for it.
            self.gate.record_outcome(call, CallOutcome::Unknown, admitted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(concurrency: usize, max_failures: u64) -> Arc<ProviderGate> {
        let pause = Duration::from_secs(10);
        let breaker = BreakerRules { max_failures, first_pause: pause, longest_pause: pause };
        Arc::new(ProviderGate::new("p", GateRules { concurrency, breaker }))
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
    fn a_trial_without_a_result_lets_the_next_call_decide() {
        let (gate, start) = (gate(9, 1), Instant::now());
        let failed = CallOutcome::Failed { requested_pause: None };
        gate.admit_call(start).expect("is closed").record_outcome(failed, start);
        let wait = Duration::from_secs(10);
        assert_eq!(gate.admit_call(start).expect_err("is open"), Refusal::Suspended { wait });
        let later = start + wait;
        drop(gate.admit_call(later).expect("is a trial"));
        gate.admit_call(later).expect("is a trial").record_outcome(CallOutcome::Answered, later);
        gate.admit_call(later).expect("is closed again");
    }

    #[test]
    fn seconds_are_rounded_up() {
        assert_eq!(
            [0, 1, 999, 1000, 1001].map(|ms| whole_seconds(Duration::from_millis(ms))),
            [0, 1, 1, 1, 2]
        );
    }
}
