//! Admits calls module by module, so that a module that hangs does not delay the others.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use hinagata::{Error, Reason, Result, ports::Tool};
use hinagata_http::{AdmittedCall, BreakerChange, BreakerRules, CallOutcome, CircuitBreaker};
use hinagata_value::BoundedCache;
use serde_json::Value;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::failure::tool_error;

/// Failures in a row after which calls are refused.
const MAX_FAILURES: u64 = 5;

/// How long calls to a server that failed are refused, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Maximum remembered modules.
const MAX_MODULES: usize = 1_024;

type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// A breaker that refuses calls after `max_failures` failures in a row.
pub(crate) const fn new_breaker(max_failures: u64) -> CircuitBreaker {
    let (first_pause, longest_pause) = PAUSES;
    CircuitBreaker::new(BreakerRules { max_failures, first_pause, longest_pause })
}

/// The gates of all modules. They outlive the definitions of tools, which change more often than servers recover.
pub(crate) struct ModuleGates {
    concurrency: usize,
    clock: Clock,
    gates: BoundedCache<String, Arc<ModuleGate>>,
}

impl ModuleGates {
    /// Gates that admit `concurrency` calls at a time each.
    pub(crate) fn new(concurrency: usize, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self { concurrency, clock: Arc::new(clock), gates: BoundedCache::new(MAX_MODULES) }
    }

    /// The gate of the module of `tool`. A tool without a module has its own.
    pub(crate) fn gate(&self, tool: &Tool) -> Arc<ModuleGate> {
        let subject = match &tool.module {
            Some(module) => format!("the module `{module}`"),
            None => format!("the tool `{}`", tool.id),
        };
        self.gates.get_or_insert_with(&subject, || {
            Arc::new(ModuleGate {
                subject: subject.clone(),
                concurrency: self.concurrency,
                room: Semaphore::new(self.concurrency.min(Semaphore::MAX_PERMITS)),
                breaker: Mutex::new(new_breaker(MAX_FAILURES)),
                clock: Arc::clone(&self.clock),
            })
        })
    }
}

/// Limits the concurrent calls of a module, and refuses them while its servers do not answer.
pub(crate) struct ModuleGate {
    subject: String,
    concurrency: usize,
    room: Semaphore,
    breaker: Mutex<CircuitBreaker>,
    clock: Clock,
}

impl ModuleGate {
    /// Admits a call.
    ///
    /// # Errors
    /// Code `tool`, reason `down`, while the servers of the module do not answer.
    pub(crate) fn admit_call(&self) -> Result<GateCall<'_>> {
        let admitted = self.with_breaker(CircuitBreaker::admit_call);
        admitted
            .map(|kind| GateCall { gate: self, kind, outcome: CallOutcome::Unknown })
            .map_err(|left| self.down_error(left))
    }

    /// Waits until fewer calls than allowed are running, at most for `time`.
    ///
    /// # Errors
    /// Code `tool`, reason `busy`.
    pub(crate) async fn acquire_room(&self, time: Duration) -> Result<CallRoom<'_>> {
        if let Ok(permit) = self.room.try_acquire() {
            return Ok(CallRoom { _permit: permit, was_free: true });
        }
        match timeout(time, self.room.acquire()).await {
            Ok(Ok(permit)) => Ok(CallRoom { _permit: permit, was_free: false }),
            Ok(Err(_)) => Err(tool_error(Reason::Runtime, "the tools are shut down")),
            Err(_) => Err(self.busy_error(time)),
        }
    }

    fn with_breaker<T>(&self, work: impl FnOnce(&mut CircuitBreaker, Instant) -> T) -> T {
        let now = (self.clock)();
        work(&mut self.breaker.lock().unwrap_or_else(PoisonError::into_inner), now)
    }

    fn record_outcome(&self, kind: AdmittedCall, outcome: CallOutcome) {
        let subject = &self.subject;
        match self.with_breaker(|breaker, now| breaker.record_outcome(kind, outcome, now)) {
            Some(BreakerChange::Opened(pause)) => tracing::warn!(
                pause = pause.as_secs_f64(),
                "{subject} did not answer {MAX_FAILURES} times in a row; its calls are refused"
            ),
            Some(BreakerChange::Closed) => tracing::info!("{subject} answers again; its calls are admitted"),
            None => {}
        }
    }

    fn down_error(&self, left: Duration) -> Error {
        let next = match left {
            Duration::ZERO => "the next attempt is running".to_owned(),
            left => format!("next attempt in {left:.1?}"),
        };
        let message = format!("{} did not answer {MAX_FAILURES} times in a row; {next}", self.subject);
        tool_error(Reason::Down, message)
            .with("retry_after", left.as_secs_f64())
            .with_hint("check the server of the tool; it is tried again by itself")
    }

    fn busy_error(&self, time: Duration) -> Error {
        let message = format!(
            "{} already runs {} calls, and none ended within {time:?}",
            self.subject, self.concurrency
        );
        tool_error(Reason::Busy, message)
            .with("limit", self.concurrency)
            .with_hint("raise `tools.concurrency`, or find out why the tool is slow")
    }
}

/// Room for one call, until it is dropped.
pub(crate) struct CallRoom<'g> {
    _permit: SemaphorePermit<'g>,
    /// Whether the call did not have to wait for it.
    was_free: bool,
}

/// An admitted call. What it says about the server is recorded when it is dropped, so that a cancelled one counts too.
pub(crate) struct GateCall<'g> {
    gate: &'g ModuleGate,
    kind: AdmittedCall,
    outcome: CallOutcome,
}

impl GateCall<'_> {
    /// Records the result of the call.
    pub(crate) fn record_result(mut self, result: &Result<Value>, room: &CallRoom<'_>) {
        self.outcome = match result.as_ref().map_err(Error::reason) {
            Ok(_) | Err(Some(Reason::Status | Reason::Answer | Reason::Size | Reason::Redirect)) => {
                CallOutcome::Answered
            }
            // A call that had to wait for room had too little time to tell.
            Err(Some(Reason::Timeout)) if !room.was_free => CallOutcome::Unknown,
            Err(Some(Reason::Timeout | Reason::Connect)) => CallOutcome::Failed { requested_pause: None },
            Err(_) => CallOutcome::Unknown,
        };
    }
}

impl Drop for GateCall<'_> {
    fn drop(&mut self) {
        self.gate.record_outcome(self.kind, self.outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(id: &str, module: Option<&str>) -> Tool {
        Tool {
            id: id.to_owned(),
            module: module.map(str::to_owned),
            name: id.to_owned(),
            description: None,
            parameters: None,
            pure: true,
            on_error: hinagata::ports::OnError::default(),
            fallback: Value::Null,
        }
    }

    #[test]
    fn each_module_and_each_tool_without_a_module_has_its_own_gate() {
        let gates = ModuleGates::new(1, Instant::now);
        let gate = |id: &str, module: Option<&str>| gates.gate(&tool(id, module));
        assert!(Arc::ptr_eq(&gate("m.a", Some("m")), &gate("m.b", Some("m"))));
        assert!(!Arc::ptr_eq(&gate("m.a", Some("m")), &gate("n.a", Some("n"))));
        assert!(!Arc::ptr_eq(&gate("a", None), &gate("b", None)));
        assert!(!Arc::ptr_eq(&gate("m", None), &gate("m.a", Some("m"))));
    }

    #[test]
    fn a_call_without_room_is_busy_and_says_nothing_about_the_server() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("runs");
        runtime.block_on(async {
            let gate = ModuleGates::new(1, Instant::now).gate(&tool("m.a", Some("m")));
            let room = gate.acquire_room(Duration::ZERO).await.expect("is free");
            let error = gate.acquire_room(Duration::ZERO).await.map(|_| ()).expect_err("is taken");
            assert_eq!(error.reason(), Some(Reason::Busy), "{error}");
            drop(room);
            let slow = || Err(tool_error(Reason::Timeout, "slow"));
            for _ in 0..2 * MAX_FAILURES {
                let room = CallRoom { _permit: gate.room.try_acquire().expect("is free"), was_free: false };
                gate.admit_call().expect("is admitted").record_result(&slow(), &room);
            }
            for _ in 0..MAX_FAILURES {
                let room = gate.acquire_room(Duration::ZERO).await.expect("is free");
                gate.admit_call().expect("is admitted").record_result(&slow(), &room);
            }
            let error = gate.admit_call().map(|_| ()).expect_err("is refused");
            assert_eq!(error.reason(), Some(Reason::Down), "{error}");
        });
    }
}
