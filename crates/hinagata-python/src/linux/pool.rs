//! Runs jobs: probes the machine once, then runs each job in a process that is confined for it.
//!
//! The reasons are in `docs/design/fair-workers.md`.

use std::{
    future::poll_fn,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Waker},
};

use hinagata::{Digest, Error, Reason, ports::HookJob};
use serde_json::Value;

use super::{
    launcher::{LauncherRole, ZygoteOrder, filter_name},
    machine::{Machine, probe_sandbox},
    policy::{Policy, Rulesets},
    reactor::Reactor,
    worker::Worker,
    worker_cache::{IdleWorker, View, WorkerCache, WorkerPurpose},
    zygote::Zygote,
};
use crate::{
    call::{CallOutcome, CallTerms, run_call},
    dispatcher::Dispatcher,
    failure::Failure,
    options::{HookOptions, Isolation},
    sandbox::SandboxReport,
    wait::{Slots, run_blocking},
};

/// Calls after which a reused worker is replaced.
const MAX_CALLS: u32 = 1000;

/// Runs jobs.
pub(crate) struct Pool {
    pub(crate) dispatcher: Dispatcher,
    machine: Mutex<Option<Arc<Machine>>>,
    /// Held while the machine is probed.
    examining: Slots,
    cache: Arc<WorkerCache>,
    rulesets: Rulesets,
}

impl Pool {
    pub(crate) fn new(options: HookOptions) -> Self {
        let dispatcher = Dispatcher::new(options);
        Self {
            machine: Mutex::default(),
            examining: Slots::new(1),
            cache: WorkerCache::new(
                dispatcher.options.idle_timeout,
                dispatcher.options.workers,
                &dispatcher.timer,
            ),
            rulesets: Rulesets::default(),
            dispatcher,
        }
    }

    /// Reports what confines Python. This starts a process and waits for it.
    pub(crate) fn sandbox_report(&self) -> Result<SandboxReport, Failure> {
        let reactor = Reactor::start_thread()
            .map_err(|error| Failure::unavailable(Reason::Start, error.to_string()))?;
        probe_sandbox(&self.dispatcher.options, self.dispatcher.find_interpreter().ok().as_ref(), &reactor)
    }

    /// Runs a job.
    pub(crate) async fn run_job(&self, job: HookJob<'_>) -> Result<Value, Error> {
        let mut printed = String::new();
        let result = self.run_printing(&job, &mut printed).await;
        self.dispatcher.deliver_result(&job, result, &printed)
    }

    async fn run_printing(&self, job: &HookJob<'_>, printed: &mut String) -> Result<Value, Failure> {
        let waiting = job.waited.start_waiting();
        let machine = self.machine().await?;
        let _slot = self.dispatcher.take_slot(job).await?;
        drop(waiting);
        let policy = Policy::for_job(job, &machine);
        match self.dispatcher.options.isolation {
            Isolation::Call | Isolation::Prompt if !machine.interpreter.forks => {
                self.run_spawned(&machine, job, &policy, printed).await
            }
            Isolation::Spawn => self.run_spawned(&machine, job, &policy, printed).await,
            // Programs that a hook started can only be ended together with their worker.
            Isolation::Prompt if !policy.programs => self.run_reused(&machine, job, policy, printed).await,
            Isolation::Call | Isolation::Prompt => self.run_forked(&machine, job, &policy, printed).await,
        }
    }

    fn known_machine(&self) -> MutexGuard<'_, Option<Arc<Machine>>> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The machine, probed by the first caller.
    async fn machine(&self) -> Result<Arc<Machine>, Failure> {
        if let Some(machine) = &*self.known_machine() {
            return Ok(Arc::clone(machine));
        }
        let _turn = self.examining.take_slot("").await;
        if let Some(machine) = &*self.known_machine() {
            return Ok(Arc::clone(machine));
        }
        let options = self.dispatcher.options.clone();
        let examined = run_blocking(move || Machine::probe_machine(&options)).await;
        let examined = examined.map_err(|error| Failure::unavailable(Reason::Start, error.to_string()))??;
        let machine = Arc::new(examined);
        *self.known_machine() = Some(Arc::clone(&machine));
        Ok(machine)
    }

    /// Runs a job in a fork of a warm interpreter.
    async fn run_forked(
        &self,
        machine: &Machine,
        job: &HookJob<'_>,
        policy: &Policy,
        printed: &mut String,
    ) -> Result<Value, Failure> {
        let waiting = job.waited.start_waiting();
        let (lease, mut worker) = self.lease_worker(machine, policy).await?;
        drop(waiting);
        self.confine(machine, &mut worker, policy)?;
        let outcome =
            run_call(&mut worker, job, self.dispatcher.call_terms(job, filter_name(policy.programs))).await;
        let result = take_result(&mut worker, outcome, printed);
        // End the worker first: the next one is forked only when this one is gone.
        drop(worker);
        drop(lease);
        result
    }

    /// Runs a job in a new interpreter.
    async fn run_spawned(
        &self,
        machine: &Machine,
        job: &HookJob<'_>,
        policy: &Policy,
        printed: &mut String,
    ) -> Result<Value, Failure> {
        let role = LauncherRole::Worker { rules: policy.launch_rules(machine), programs: policy.programs };
        let assignment = machine.new_assignment(role, policy, &self.dispatcher.options);
        let mut worker =
            Zygote::launch_worker(&self.dispatcher.options.launcher, &assignment, &machine.reactor)
                .map_err(|error| self.launch_failure(&error))?;
        let outcome =
            run_call(&mut worker, job, self.dispatcher.call_terms(job, filter_name(policy.programs))).await;
        let result = take_result(&mut worker, outcome, printed);
        match worker.start_failure() {
            Some(why) if matches!(result, Err(Failure::Died(_))) => {
                Err(Failure::unavailable(Reason::Start, why))
            }
            _ => result,
        }
    }

    /// Runs a job in a worker that has already run the same source, if there is one.
    async fn run_reused(
        &self,
        machine: &Machine,
        job: &HookJob<'_>,
        policy: Policy,
        printed: &mut String,
    ) -> Result<Value, Failure> {
        let purpose = WorkerPurpose {
            file: job.root.join(job.file),
            source: Digest::sha256(job.source.as_bytes()),
            policy,
            fixed: job.fixed.clone(),
        };
        let policy = &purpose.policy;
        let known = self.cache.take_idle_worker(&purpose);
        let knows_source = known.is_some();
        let mut kept = match known {
            Some(kept) => kept,
            None => {
                let _waiting = job.waited.start_waiting();
                let mut worker = self.start_worker(machine, policy).await?;
                self.confine(machine, &mut worker, policy)?;
                IdleWorker { worker, calls: 0 }
            }
        };
        let terms = CallTerms {
            keep: true,
            knows_source,
            ..self.dispatcher.call_terms(job, filter_name(policy.programs))
        };
        let outcome = run_call(&mut kept.worker, job, terms).await;
        let ready = outcome.ready;
        let result = take_result(&mut kept.worker, outcome, printed);
        kept.calls += 1;
        if ready && kept.calls < MAX_CALLS {
            self.cache.put_idle_worker(purpose, kept);
        }
        result
    }

    /// Gives a worker the Landlock ruleset that it must apply to itself.
    fn confine(&self, machine: &Machine, worker: &mut Worker, policy: &Policy) -> Result<(), Failure> {
        if !machine.mechanisms.namespaces {
            worker.use_host_pid();
        }
        if machine.mechanisms.landlock {
            worker.set_ruleset(self.rulesets.get(policy)?);
        }
        Ok(())
    }

    fn launch_failure(&self, error: &io::Error) -> Failure {
        let program = self.dispatcher.options.launcher.program.display();
        Failure::unavailable(Reason::Start, format!("cannot start `{program}`: {error}"))
    }

    fn launch_zygote(&self, machine: &Machine, policy: &Policy) -> Result<Arc<Zygote>, Failure> {
        let assignment = machine.new_assignment(LauncherRole::Zygote, policy, &self.dispatcher.options);
        Zygote::launch_zygote(&self.dispatcher.options.launcher, &assignment, &machine.reactor)
            .map_err(|error| self.launch_failure(&error))
    }

    /// Waits for the worker that a zygote forks.
    async fn await_worker(&self, zygote: &Arc<Zygote>) -> Result<Worker, Failure> {
        let worker = self
            .dispatcher
            .run_within(self.dispatcher.options.start_timeout, poll_fn(|cx| zygote.poll_worker(cx)))
            .await;
        worker.unwrap_or_else(|| {
            Err(Failure::unavailable(Reason::Start, "the interpreter did not start in time"))
        })
    }

    /// A worker, and an exclusive lease on its zygote.
    async fn lease_worker(&self, machine: &Machine, policy: &Policy) -> Result<(Lease, Worker), Failure> {
        loop {
            let known = self.cache.take_zygote(&policy.view);
            let fresh = known.is_none();
            let zygote = match known {
                Some(zygote) => zygote,
                None => self.launch_zygote(machine, policy)?,
            };
            match self.await_worker(&zygote).await {
                Ok(worker) if fresh || worker.is_running() => {
                    let lease = Lease { cache: Arc::clone(&self.cache), view: policy.view.clone(), zygote };
                    return Ok((lease, worker));
                }
                Err(failure) if fresh => return Err(failure),
                // The zygote or its worker ended while idle: try another.
                _ => {}
            }
        }
    }

    /// Starts a worker that will be reused.
    async fn start_worker(&self, machine: &Machine, policy: &Policy) -> Result<Worker, Failure> {
        /// A preforked worker, and then its zygote too, may have ended while idle.
        const TRIES: usize = 3;
        let mut tries = 0;
        loop {
            tries += 1;
            let last = tries == TRIES;
            let zygote = self.cache.prefork_zygote(&policy.view, || self.launch_zygote(machine, policy))?;
            match self.await_worker(&zygote).await {
                Ok(worker) => {
                    // Fork the next worker before anybody waits for it.
                    zygote.send_order(ZygoteOrder::Fork);
                    if worker.is_running() || last {
                        return Ok(worker);
                    }
                }
                Err(failure) if last || zygote.is_running() => return Err(failure),
                Err(_) => {}
            }
        }
    }
}

/// Returns the result and takes the printed text.
fn take_result(worker: &mut Worker, outcome: CallOutcome, printed: &mut String) -> Result<Value, Failure> {
    *printed = worker.take_printed(&Context::from_waker(Waker::noop()));
    outcome.result
}

/// A zygote that returns to the cache after its worker has ended.
struct Lease {
    cache: Arc<WorkerCache>,
    view: View,
    zygote: Arc<Zygote>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Fork the next worker before anybody waits for it.
        self.zygote.send_order(ZygoteOrder::Fork);
        if self.zygote.is_running() {
            self.cache.put_zygote(std::mem::take(&mut self.view), Arc::clone(&self.zygote));
        }
    }
}
