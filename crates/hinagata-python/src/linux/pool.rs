//! The processes that run hooks: found, started, shared out, ended.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use hinagata::{
    Error,
    ports::{Job, Stage},
};
use serde_json::Value;

use super::{
    launcher::{Order, Role},
    machine::Machine,
    worker::Worker,
    zygote::Zygote,
};
use crate::{
    call::{Outcome, Terms, call},
    failure::Failure,
    host::Host,
    http::Http,
    options::{Isolation, Options, Printed},
    timer::Timer,
    wait::{Place, Places, blocking},
};

/// Runs jobs.
pub(crate) struct Pool {
    options: Options,
    http: Http,
    timer: Timer,
    /// Held while the machine is examined.
    examining: Places,
    /// Providers have places of their own: a hook that waits for one must not keep it from running.
    hooks: Places,
    providers: Places,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    machine: Option<Arc<Machine>>,
    idle: Vec<Idle>,
}

/// A zygote that nobody uses.
struct Idle {
    zygote: Arc<Zygote>,
    since: Instant,
}

impl Pool {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            http: Http::new(&options),
            timer: Timer::default(),
            examining: Places::new(1),
            hooks: Places::new(options.workers),
            providers: Places::new(options.workers),
            state: Mutex::default(),
            options,
        }
    }

    /// The lock is held for a few lines at a time, none of which can panic halfway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a job.
    pub(crate) async fn run(&self, job: Job<'_>) -> Result<Value, Error> {
        let mut printed = String::new();
        let result = self.run_printing(&job, &mut printed).await;
        if let (Some(listener), false) = (&self.options.listener, printed.is_empty()) {
            listener(&Printed { file: job.file, stage: job.stage.as_str(), text: &printed });
        }
        result.map_err(|failure| failure.into_error(&job, &printed))
    }

    async fn run_printing(&self, job: &Job<'_>, printed: &mut String) -> Result<Value, Failure> {
        let machine = self.machine().await?;
        let _place = self.place(job).await?;
        match self.options.isolation {
            Isolation::Spawn => self.spawn(&machine, job, printed).await,
            Isolation::Call | Isolation::Prompt => self.fork(&machine, job, printed).await,
        }
    }

    /// What this machine has, found out by the first who asks.
    async fn machine(&self) -> Result<Arc<Machine>, Failure> {
        if let Some(machine) = &self.state().machine {
            return Ok(Arc::clone(machine));
        }
        let _turn = self.examining.take().await;
        if let Some(machine) = &self.state().machine {
            return Ok(Arc::clone(machine));
        }
        let options = self.options.clone();
        let examined = blocking(move || Machine::examine(&options)).await;
        let examined = examined.map_err(|error| Failure::unavailable("start", error.to_string()))??;
        let machine = Arc::new(examined);
        self.state().machine = Some(Arc::clone(&machine));
        Ok(machine)
    }

    /// A place among those that run at the same time; waiting for it counts.
    async fn place(&self, job: &Job<'_>) -> Result<Place<'_>, Failure> {
        let places = match job.stage {
            Stage::Provide => &self.providers,
            _ => &self.hooks,
        };
        self.within(job.time, places.take()).await.ok_or(Failure::Timeout)
    }

    /// What `future` gives, if it does so in time.
    async fn within<T>(&self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        let mut deadline = self.timer.deadline(Instant::now() + time);
        let mut future = std::pin::pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => deadline.poll(cx).map(|()| None),
        })
        .await
    }

    fn terms<'a>(&'a self, job: &'a Job<'a>) -> Terms<'a> {
        Terms {
            host: Host::new(job, &self.http),
            asks: self.options.asks,
            deadline: self.timer.deadline(Instant::now() + job.time),
            keep: false,
            knows_source: false,
            filter: "none",
        }
    }

    /// Runs a job in a fork of a warm interpreter.
    async fn fork(&self, machine: &Machine, job: &Job<'_>, printed: &mut String) -> Result<Value, Failure> {
        let lease = self.lease(machine).await?;
        let Lease { mut worker, .. } = lease;
        let outcome = call(&mut worker, job, self.terms(job)).await;
        Self::finish(&mut worker, outcome, printed)
    }

    /// Runs a job in an interpreter of its own.
    async fn spawn(&self, machine: &Machine, job: &Job<'_>, printed: &mut String) -> Result<Value, Failure> {
        let assignment = machine.assignment(Role::Worker, &self.options);
        let mut worker = Zygote::launch_worker(&self.options.launcher, &assignment, &machine.reactor)
            .map_err(|error| self.not_launched(&error))?;
        let outcome = call(&mut worker, job, self.terms(job)).await;
        Self::finish(&mut worker, outcome, printed)
    }

    fn finish(worker: &mut Worker, outcome: Outcome, printed: &mut String) -> Result<Value, Failure> {
        *printed = worker.printed(&Context::from_waker(Waker::noop()));
        outcome.result
    }

    fn not_launched(&self, error: &std::io::Error) -> Failure {
        let program = self.options.launcher.program.display();
        Failure::unavailable("start", format!("`{program}` cannot be started: {error}"))
    }

    /// A worker of a zygote that nobody else uses.
    async fn lease(&self, machine: &Machine) -> Result<Lease<'_>, Failure> {
        loop {
            let idle = self.take_idle();
            let known = idle.is_some();
            let zygote = match idle {
                Some(zygote) => zygote,
                None => {
                    let assignment = machine.assignment(Role::Zygote, &self.options);
                    Zygote::launch(&self.options.launcher, &assignment, &machine.reactor)
                        .map_err(|error| self.not_launched(&error))?
                }
            };
            let lent = Lent { pool: self, zygote };
            let worker = self.within(self.options.start, poll_fn(|cx| lent.zygote.poll_worker(cx))).await;
            match worker {
                Some(Ok(worker)) => return Ok(Lease { worker, lent }),
                // It ended while nobody looked: another takes its place.
                Some(Err(_)) if known => {}
                Some(Err(failure)) => return Err(failure),
                None => return Err(Failure::unavailable("start", "the interpreter does not start in time")),
            }
        }
    }

    fn take_idle(&self) -> Option<Arc<Zygote>> {
        let mut state = self.state();
        while let Some(idle) = state.idle.pop() {
            if idle.zygote.is_there() {
                return Some(idle.zygote);
            }
        }
        None
    }
}

/// A worker, and the zygote that is lent for it. The worker is dropped first.
struct Lease<'p> {
    worker: Worker,
    #[expect(dead_code, reason = "gives the zygote back when it is dropped")]
    lent: Lent<'p>,
}

/// A zygote that goes back to the pool.
struct Lent<'p> {
    pool: &'p Pool,
    zygote: Arc<Zygote>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // Its worker was ended before; the next is made while nobody waits for it.
        self.zygote.order(Order::Fork);
        if self.zygote.is_there() {
            let idle = Idle { zygote: Arc::clone(&self.zygote), since: Instant::now() };
            self.pool.state().idle.push(idle);
        }
    }
}
