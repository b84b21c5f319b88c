//! Idle processes that wait for their next job, and when they are ended.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Wake, Waker},
    time::{Duration, Instant},
};

use hinagata::{Digest, ports::FixedSurroundings};

use super::{policy::Policy, worker::Worker, zygote::Zygote};
use crate::timer::{Deadline, Timer};

/// The paths that a zygote can see. Workers with the same view can share it.
pub(crate) type View = Vec<PathBuf>;

/// What an idle worker can be reused for: this source under this policy, in these surroundings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WorkerPurpose {
    pub(crate) file: PathBuf,
    pub(crate) source: Digest,
    pub(crate) policy: Policy,
    /// What was fixed before the source was loaded, which may have kept it.
    pub(crate) fixed: Option<FixedSurroundings>,
}

/// A worker that is kept between calls.
pub(crate) struct IdleWorker {
    pub(crate) worker: Worker,
    pub(crate) calls: u32,
}

/// Idle processes.
pub(crate) struct WorkerCache {
    state: Mutex<State>,
    idle: Duration,
    most: usize,
    timer: Timer,
}

#[derive(Default)]
struct State {
    /// Zygotes with one unused worker each.
    zygotes: Vec<Idle<(View, Arc<Zygote>)>>,
    /// Zygotes whose workers are reused.
    prefork_zygotes: HashMap<View, Arc<Zygote>>,
    kept: Vec<Idle<(WorkerPurpose, IdleWorker)>>,
    /// When to look for expired processes next.
    next: Option<Deadline>,
}

struct Idle<T> {
    what: T,
    since: Instant,
}

impl<T> Idle<T> {
    fn now(what: T) -> Self {
        Self { what, since: Instant::now() }
    }
}

impl WorkerCache {
    /// Creates a cache for at most `most` processes of each kind, which expire after `idle`.
    pub(crate) fn new(idle: Duration, most: usize, timer: &Timer) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), idle, most, timer: timer.clone() })
    }

    /// The lock is held for a few lines that cannot panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a zygote with this view.
    pub(crate) fn take_zygote(&self, view: &View) -> Option<Arc<Zygote>> {
        let mut state = self.state();
        loop {
            let found = state.zygotes.iter().rposition(|idle| idle.what.0 == *view)?;
            let (_, zygote) = state.zygotes.remove(found).what;
            if zygote.is_running() {
                return Some(zygote);
            }
        }
    }

    /// Keeps a zygote for the next call.
    pub(crate) fn put_zygote(self: &Arc<Self>, view: View, zygote: Arc<Zygote>) {
        let mut state = self.state();
        state.zygotes.push(Idle::now((view, zygote)));
        // Evict the oldest. It is ended after the lock is released.
        let surplus = state.zygotes.len().saturating_sub(self.most);
        let gone: Vec<_> = state.zygotes.drain(..surplus).collect();
        self.schedule_trim(&mut state);
        drop(state);
        drop(gone);
    }

    /// The zygote of reused workers with this view. `make` launches it if needed.
    pub(crate) fn prefork_zygote<E>(
        &self,
        view: &View,
        make: impl FnOnce() -> Result<Arc<Zygote>, E>,
    ) -> Result<Arc<Zygote>, E> {
        let mut state = self.state();
        if let Some(known) = state.prefork_zygotes.get(view).filter(|known| known.is_running()) {
            return Ok(Arc::clone(known));
        }
        let made = make()?;
        state.prefork_zygotes.insert(view.clone(), Arc::clone(&made));
        Ok(made)
    }

    /// Takes an idle worker for `purpose`.
    pub(crate) fn take_idle_worker(&self, purpose: &WorkerPurpose) -> Option<IdleWorker> {
        let mut state = self.state();
        loop {
            let found = state.kept.iter().rposition(|idle| idle.what.0 == *purpose)?;
            let (_, kept) = state.kept.swap_remove(found).what;
            if kept.worker.is_running() {
                return Some(kept);
            }
        }
    }

    /// Keeps a worker for the next call with `purpose`.
    pub(crate) fn put_idle_worker(self: &Arc<Self>, purpose: WorkerPurpose, kept: IdleWorker) {
        let mut state = self.state();
        state.kept.push(Idle::now((purpose, kept)));
        let oldest = (state.kept.len() > 4 * self.most)
            .then(|| state.kept.iter().enumerate().min_by_key(|(_, idle)| idle.since))
            .flatten()
            .map(|(index, _)| index);
        let gone = oldest.map(|index| state.kept.swap_remove(index));
        self.schedule_trim(&mut state);
        drop(state);
        drop(gone);
    }

    /// Ends processes that have been idle for too long.
    fn trim_idle(self: &Arc<Self>) {
        let mut state = self.state();
        let old = |since: Instant| since.elapsed() >= self.idle;
        let kept = state.kept.extract_if(.., |idle| old(idle.since)).collect::<Vec<_>>();
        let zygotes = state.zygotes.extract_if(.., |idle| old(idle.since)).collect::<Vec<_>>();
        let prefork_zygotes =
            if state.kept.is_empty() { std::mem::take(&mut state.prefork_zygotes) } else { HashMap::new() };
        state.next = None;
        if !(state.kept.is_empty() && state.zygotes.is_empty()) {
            self.schedule_trim(&mut state);
        }
        drop(state);
        drop((kept, zygotes, prefork_zygotes));
    }

    fn schedule_trim(self: &Arc<Self>, state: &mut State) {
        if state.next.is_some() {
            return;
        }
        let mut deadline = self.timer.deadline_at(Instant::now() + self.idle);
        let waker = Waker::from(Arc::new(IdleReaper(Arc::downgrade(self))));
        if deadline.poll(&Context::from_waker(&waker)).is_pending() {
            state.next = Some(deadline);
        }
    }
}

/// Trims the cache at its deadline, on the timer's thread.
struct IdleReaper(Weak<WorkerCache>);

impl Wake for IdleReaper {
    fn wake(self: Arc<Self>) {
        if let Some(cache) = self.0.upgrade() {
            cache.trim_idle();
        }
    }
}
