//! Deadlines for futures on any executor: one thread, started with the first wait.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

/// Wakes futures at their deadlines. Cheap to clone. The thread ends with the last clone.
#[derive(Clone, Default)]
pub(crate) struct Timer(Arc<Handle>);

#[derive(Default)]
struct Handle {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    wakers: BTreeMap<(Instant, u64), Waker>,
    count: u64,
    running: bool,
    closed: bool,
    /// When the thread wakes up next. Later deadlines need not notify it.
    looks: Option<Instant>,
}

impl Shared {
    /// The lock is held for a few lines that cannot panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.state();
        while !state.closed {
            let now = Instant::now();
            let later = state.wakers.split_off(&(now, u64::MAX));
            let due = std::mem::replace(&mut state.wakers, later);
            if !due.is_empty() {
                drop(state);
                due.into_values().for_each(Waker::wake);
                state = self.state();
                continue;
            }
            let next = state.wakers.first_key_value().map(|((at, _), _)| *at);
            state.looks = next;
            state = match next {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let waited = self.changed.wait_timeout(state, at - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_one();
    }
}

impl Timer {
    /// Creates a deadline at `at`.
    pub(crate) fn deadline_at(&self, at: Instant) -> Deadline {
        Deadline { shared: Arc::clone(&self.0.shared), at, key: None }
    }
}

/// A point in time that a future waits for.
pub(crate) struct Deadline {
    shared: Arc<Shared>,
    at: Instant,
    key: Option<(Instant, u64)>,
}

impl Deadline {
    /// Moves the deadline to `at` if that is earlier.
    pub(crate) fn bring_forward(&mut self, at: Instant) {
        if at < self.at {
            self.at = at;
        }
    }

    /// Creates another deadline, `time` from now.
    pub(crate) fn starting_now(&self, time: Duration) -> Self {
        Self { shared: Arc::clone(&self.shared), at: Instant::now() + time, key: None }
    }

    /// Moves the deadline back by `time`.
    pub(crate) fn push_back(&mut self, time: Duration) {
        self.at += time;
    }

    /// Ready once the deadline has passed. Wakes the task then.
    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        if Instant::now() >= self.at {
            return Poll::Ready(());
        }
        let mut state = self.shared.state();
        if let Some(old) = self.key.take_if(|(at, _)| *at != self.at) {
            state.wakers.remove(&old);
        }
        let key = *self.key.get_or_insert_with(|| {
            state.count += 1;
            (self.at, state.count)
        });
        match state.wakers.get_mut(&key) {
            Some(waker) => waker.clone_from(cx.waker()),
            None => drop(state.wakers.insert(key, cx.waker().clone())),
        }
        start(&self.shared, &mut state);
        if state.looks.is_none_or(|looks| self.at < looks) {
            self.shared.changed.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.shared.state().wakers.remove(&key);
        }
    }
}

fn start(shared: &Arc<Shared>, state: &mut State) {
    if state.running {
        return;
    }
    let inner = Arc::clone(shared);
    // Without the thread, a deadline is still noticed whenever the future is polled for another reason.
    state.running = thread::Builder::new().name("hooks-timer".into()).spawn(move || inner.run()).is_ok();
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::tests::block_on;

    fn wait(timer: &Timer, time: Duration) -> Instant {
        let mut deadline = timer.deadline_at(Instant::now() + time);
        block_on(poll_fn(|cx| deadline.poll(cx)));
        deadline.at
    }

    #[test]
    fn a_future_is_woken_at_its_deadline() {
        let timer = Timer::default();
        assert!(wait(&timer, Duration::from_millis(30)) <= Instant::now());
        assert!(wait(&timer, Duration::from_millis(1)) <= Instant::now());
    }

    #[test]
    fn a_later_deadline_does_not_delay_an_earlier_one() {
        let timer = Timer::default();
        let mut late = timer.deadline_at(Instant::now() + Duration::from_secs(600));
        let mut early = timer.deadline_at(Instant::now() + Duration::from_millis(20));
        block_on(poll_fn(|cx| {
            assert!(late.poll(cx).is_pending());
            early.poll(cx)
        }));
        late.bring_forward(Instant::now());
        block_on(poll_fn(|cx| late.poll(cx)));
    }

    #[test]
    fn the_thread_ends_with_the_timer() {
        let timer = Timer::default();
        wait(&timer, Duration::from_millis(1));
        let shared = Arc::downgrade(&timer.0.shared);
        drop(timer);
        while shared.strong_count() > 0 {
            thread::yield_now();
        }
    }
}
