//! Runs jobs: finds out what the machine has, and takes each job to a process that is confined for it.

use std::{
    future::poll_fn,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Waker},
};

use hinagata::{Digest, Error, ports::Job};
use serde_json::Value;

use super::{
    launcher::{Order, Role, filter_name},
    machine::{Machine, sandbox_of},
    policy::{Policy, Rulesets},
    reactor::Reactor,
    shelf::{Kept, Purpose, Shelf, View},
    worker::Worker,
    zygote::Zygote,
};
use crate::{
    call::{Outcome, Terms, call},
    desk::Desk,
    failure::Failure,
    options::{Isolation, Options},
    sandbox::Report,
    wait::{Places, blocking},
};

/// Calls after which a kept worker is replaced.
const MOST_CALLS: u32 = 1000;

/// Runs jobs.
pub(crate) struct Pool {
    pub(crate) desk: Desk,
    machine: Mutex<Option<Arc<Machine>>>,
    /// Held while the machine is examined.
    examining: Places,
    shelf: Arc<Shelf>,
    rulesets: Rulesets,
}

impl Pool {
    pub(crate) fn new(options: Options) -> Self {
        let desk = Desk::new(options);
        Self {
            machine: Mutex::default(),
            examining: Places::new(1),
            shelf: Shelf::new(desk.options.idle, desk.options.workers, &desk.timer),
            rulesets: Rulesets::default(),
            desk,
        }
    }

    /// What confines Python here. This starts a process and waits for it.
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let reactor = Reactor::start().map_err(|error| Failure::unavailable("start", error.to_string()))?;
        sandbox_of(&self.desk.options, self.desk.interpreter().ok().as_ref(), &reactor)
    }

    /// Runs a job.
    pub(crate) async fn run(&self, job: Job<'_>) -> Result<Value, Error> {
        let mut printed = String::new();
        let result = self.run_printing(&job, &mut printed).await;
        self.desk.hand_over(&job, result, &printed)
    }

    async fn run_printing(&self, job: &Job<'_>, printed: &mut String) -> Result<Value, Failure> {
        let waiting = job.waited.start_waiting();
        let machine = self.machine().await?;
        let _place = self.desk.place(job).await?;
        drop(waiting);
        let policy = Policy::of(job, &machine);
        match self.desk.options.isolation {
            Isolation::Call | Isolation::Prompt if !machine.interpreter.forks => {
                self.spawn(&machine, job, &policy, printed).await
            }
            Isolation::Spawn => self.spawn(&machine, job, &policy, printed).await,
            // What a program leaves behind can only be ended together with the worker that started it.
            Isolation::Prompt if !policy.programs => self.reuse(&machine, job, policy, printed).await,
            Isolation::Call | Isolation::Prompt => self.fork(&machine, job, &policy, printed).await,
        }
    }

    fn known_machine(&self) -> MutexGuard<'_, Option<Arc<Machine>>> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this machine has, found out by the first who asks.
    async fn machine(&self) -> Result<Arc<Machine>, Failure> {
        if let Some(machine) = &*self.known_machine() {
            return Ok(Arc::clone(machine));
        }
        let _turn = self.examining.take("").await;
        if let Some(machine) = &*self.known_machine() {
            return Ok(Arc::clone(machine));
        }
        let options = self.desk.options.clone();
        let examined = blocking(move || Machine::examine(&options)).await;
        let examined = examined.map_err(|error| Failure::unavailable("start", error.to_string()))??;
        let machine = Arc::new(examined);
        *self.known_machine() = Some(Arc::clone(&machine));
        Ok(machine)
    }

    /// Runs a job in a fork of a warm interpreter.
    async fn fork(
        &self,
        machine: &Machine,
        job: &Job<'_>,
        policy: &Policy,
        printed: &mut String,
    ) -> Result<Value, Failure> {
        let waiting = job.waited.start_waiting();
        let (lent, mut worker) = self.lease(machine, policy).await?;
        drop(waiting);
        self.confine(machine, &mut worker, policy)?;
        let outcome = call(&mut worker, job, self.desk.terms(job, filter_name(policy.programs))).await;
        let result = finish(&mut worker, outcome, printed);
        // The worker is ended first: the next is made when everything of this one is gone.
        drop(worker);
        drop(lent);
        result
    }

    /// Runs a job in an interpreter of its own.
    async fn spawn(
        &self,
        machine: &Machine,
        job: &Job<'_>,
        policy: &Policy,
        printed: &mut String,
    ) -> Result<Value, Failure> {
        let role = Role::Worker { rules: policy.rules_to_start(machine), programs: policy.programs };
        let assignment = machine.assignment(role, policy, &self.desk.options);
        let mut worker = Zygote::launch_worker(&self.desk.options.launcher, &assignment, &machine.reactor)
            .map_err(|error| self.not_launched(&error))?;
        let outcome = call(&mut worker, job, self.desk.terms(job, filter_name(policy.programs))).await;
        let result = finish(&mut worker, outcome, printed);
        match worker.start_failure() {
            Some(why) if matches!(result, Err(Failure::Died(_))) => Err(Failure::unavailable("start", why)),
            _ => result,
        }
    }

    /// Runs a job in a worker that has run the same source before, if there is one.
    async fn reuse(
        &self,
        machine: &Machine,
        job: &Job<'_>,
        policy: Policy,
        printed: &mut String,
    ) -> Result<Value, Failure> {
        let purpose =
            Purpose { file: job.root.join(job.file), source: Digest::of(job.source.as_bytes()), policy };
        let policy = &purpose.policy;
        let known = self.shelf.take_kept(&purpose);
        let knows_source = known.is_some();
        let mut kept = match known {
            Some(kept) => kept,
            None => {
                let _waiting = job.waited.start_waiting();
                let mut worker = self.bring_up(machine, policy).await?;
                self.confine(machine, &mut worker, policy)?;
                Kept { worker, calls: 0 }
            }
        };
        let terms = Terms { keep: true, knows_source, ..self.desk.terms(job, filter_name(policy.programs)) };
        let outcome = call(&mut kept.worker, job, terms).await;
        let ready = outcome.ready;
        let result = finish(&mut kept.worker, outcome, printed);
        kept.calls += 1;
        if ready && kept.calls < MOST_CALLS {
            self.shelf.put_kept(purpose, kept);
        }
        result
    }

    /// Gives a worker the rules for files that it has to put itself under.
    fn confine(&self, machine: &Machine, worker: &mut Worker, policy: &Policy) -> Result<(), Failure> {
        if !machine.layers.namespaces {
            worker.is_visible();
        }
        if machine.layers.landlock {
            worker.confine(self.rulesets.get(policy)?);
        }
        Ok(())
    }

    fn not_launched(&self, error: &io::Error) -> Failure {
        let program = self.desk.options.launcher.program.display();
        Failure::unavailable("start", format!("`{program}` cannot be started: {error}"))
    }

    fn launch(&self, machine: &Machine, policy: &Policy) -> Result<Arc<Zygote>, Failure> {
        let assignment = machine.assignment(Role::Zygote, policy, &self.desk.options);
        Zygote::launch(&self.desk.options.launcher, &assignment, &machine.reactor)
            .map_err(|error| self.not_launched(&error))
    }

    /// The worker that a zygote makes.
    async fn worker_of(&self, zygote: &Arc<Zygote>) -> Result<Worker, Failure> {
        let worker = self.desk.within(self.desk.options.start, poll_fn(|cx| zygote.poll_worker(cx))).await;
        worker.unwrap_or_else(|| Err(Failure::unavailable("start", "the interpreter does not start in time")))
    }

    /// A worker, and the zygote that nobody else uses until it is given back.
    async fn lease(&self, machine: &Machine, policy: &Policy) -> Result<(Lent, Worker), Failure> {
        loop {
            let known = self.shelf.take_zygote(&policy.view);
            let fresh = known.is_none();
            let zygote = match known {
                Some(zygote) => zygote,
                None => self.launch(machine, policy)?,
            };
            match self.worker_of(&zygote).await {
                Ok(worker) if fresh || worker.is_there() => {
                    let lent = Lent { shelf: Arc::clone(&self.shelf), view: policy.view.clone(), zygote };
                    return Ok((lent, worker));
                }
                Err(failure) if fresh => return Err(failure),
                // It ended while nobody looked, or its worker did: another takes its place.
                _ => {}
            }
        }
    }

    /// A worker that is to be kept.
    async fn bring_up(&self, machine: &Machine, policy: &Policy) -> Result<Worker, Failure> {
        /// A worker that waited may have ended while nobody looked, and then its zygote too.
        const TRIES: usize = 3;
        let mut tries = 0;
        loop {
            tries += 1;
            let last = tries == TRIES;
            let zygote = self.shelf.nursery(&policy.view, || self.launch(machine, policy))?;
            match self.worker_of(&zygote).await {
                Ok(worker) => {
                    // The next one is made while nobody waits for it.
                    zygote.order(Order::Fork);
                    if worker.is_there() || last {
                        return Ok(worker);
                    }
                }
                Err(failure) if last || zygote.is_there() => return Err(failure),
                Err(_) => {}
            }
        }
    }
}

/// The result, and what was printed on the way to it.
fn finish(worker: &mut Worker, outcome: Outcome, printed: &mut String) -> Result<Value, Failure> {
    *printed = worker.printed(&Context::from_waker(Waker::noop()));
    outcome.result
}

/// A zygote that goes back on the shelf, after its worker was ended.
struct Lent {
    shelf: Arc<Shelf>,
    view: View,
    zygote: Arc<Zygote>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        // The next worker is made while nobody waits for it.
        self.zygote.order(Order::Fork);
        if self.zygote.is_there() {
            self.shelf.put_zygote(std::mem::take(&mut self.view), Arc::clone(&self.zygote));
        }
    }
}
