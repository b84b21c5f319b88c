//! Processes that wait for their next job, and when they are thrown away.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Wake, Waker},
    time::{Duration, Instant},
};

use hinagata::Digest;

use super::{policy::Policy, worker::Worker, zygote::Zygote};
use crate::timer::{Deadline, Timer};

/// What a zygote can see: workers of the same can share it.
pub(crate) type View = Vec<PathBuf>;

/// What a kept worker is for: it has run this source and is in these layers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Purpose {
    pub(crate) file: PathBuf,
    pub(crate) source: Digest,
    pub(crate) policy: Policy,
}

/// A worker that is kept between calls.
pub(crate) struct Kept {
    pub(crate) worker: Worker,
    pub(crate) calls: u32,
}

/// Processes that wait.
pub(crate) struct Shelf {
    state: Mutex<State>,
    idle: Duration,
    most: usize,
    timer: Timer,
}

#[derive(Default)]
struct State {
    /// Zygotes with one worker that nobody uses.
    zygotes: Vec<Rested<(View, Arc<Zygote>)>>,
    /// Zygotes whose workers are kept.
    nurseries: HashMap<View, Arc<Zygote>>,
    kept: Vec<Rested<(Purpose, Kept)>>,
    /// When to look again for what nobody needs any more.
    next: Option<Deadline>,
}

struct Rested<T> {
    what: T,
    since: Instant,
}

impl<T> Rested<T> {
    fn now(what: T) -> Self {
        Self { what, since: Instant::now() }
    }
}

impl Shelf {
    /// A shelf for at most `most` processes of a kind, each for as long as `idle`.
    pub(crate) fn new(idle: Duration, most: usize, timer: &Timer) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), idle, most, timer: timer.clone() })
    }

    /// The lock is held for a few lines at a time, none of which can panic halfway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A zygote that sees `view`.
    pub(crate) fn take_zygote(&self, view: &View) -> Option<Arc<Zygote>> {
        let mut state = self.state();
        loop {
            let found = state.zygotes.iter().rposition(|rested| rested.what.0 == *view)?;
            let (_, zygote) = state.zygotes.remove(found).what;
            if zygote.is_there() {
                return Some(zygote);
            }
        }
    }

    /// Keeps a zygote for whoever comes next.
    pub(crate) fn put_zygote(self: &Arc<Self>, view: View, zygote: Arc<Zygote>) {
        let mut state = self.state();
        state.zygotes.push(Rested::now((view, zygote)));
        // What lies longest goes first; it is ended when the lock is not held any more.
        let surplus = state.zygotes.len().saturating_sub(self.most);
        let gone: Vec<_> = state.zygotes.drain(..surplus).collect();
        self.look_later(&mut state);
        drop(state);
        drop(gone);
    }

    /// The zygote of kept workers that sees `view`; `make` makes one.
    pub(crate) fn nursery<E>(
        &self,
        view: &View,
        make: impl FnOnce() -> Result<Arc<Zygote>, E>,
    ) -> Result<Arc<Zygote>, E> {
        let mut state = self.state();
        if let Some(known) = state.nurseries.get(view).filter(|known| known.is_there()) {
            return Ok(Arc::clone(known));
        }
        let made = make()?;
        state.nurseries.insert(view.clone(), Arc::clone(&made));
        Ok(made)
    }

    /// A worker for `purpose` that waits.
    pub(crate) fn take_kept(&self, purpose: &Purpose) -> Option<Kept> {
        let mut state = self.state();
        loop {
            let found = state.kept.iter().rposition(|rested| rested.what.0 == *purpose)?;
            let (_, kept) = state.kept.swap_remove(found).what;
            if kept.worker.is_there() {
                return Some(kept);
            }
        }
    }

    /// Keeps a worker for the next call of `purpose`.
    pub(crate) fn put_kept(self: &Arc<Self>, purpose: Purpose, kept: Kept) {
        let mut state = self.state();
        state.kept.push(Rested::now((purpose, kept)));
        let oldest = (state.kept.len() > 4 * self.most)
            .then(|| state.kept.iter().enumerate().min_by_key(|(_, rested)| rested.since))
            .flatten()
            .map(|(index, _)| index);
        let gone = oldest.map(|index| state.kept.swap_remove(index));
        self.look_later(&mut state);
        drop(state);
        drop(gone);
    }

    /// Ends what nobody has used for too long.
    fn trim(self: &Arc<Self>) {
        let mut state = self.state();
        let old = |since: Instant| since.elapsed() >= self.idle;
        let kept = state.kept.extract_if(.., |rested| old(rested.since)).collect::<Vec<_>>();
        let zygotes = state.zygotes.extract_if(.., |rested| old(rested.since)).collect::<Vec<_>>();
        let nurseries = match state.kept.is_empty() {
            true => std::mem::take(&mut state.nurseries),
            false => HashMap::new(),
        };
        state.next = None;
        if !(state.kept.is_empty() && state.zygotes.is_empty()) {
            self.look_later(&mut state);
        }
        drop(state);
        drop((kept, zygotes, nurseries));
    }

    fn look_later(self: &Arc<Self>, state: &mut State) {
        if state.next.is_some() {
            return;
        }
        let mut deadline = self.timer.deadline(Instant::now() + self.idle);
        let waker = Waker::from(Arc::new(Janitor(Arc::downgrade(self))));
        if deadline.poll(&Context::from_waker(&waker)).is_pending() {
            state.next = Some(deadline);
        }
    }
}

/// Looks after the shelf when its time has come, on the thread of the timer.
struct Janitor(Weak<Shelf>);

impl Wake for Janitor {
    fn wake(self: Arc<Self>) {
        if let Some(shelf) = self.0.upgrade() {
            shelf.trim();
        }
    }
}
