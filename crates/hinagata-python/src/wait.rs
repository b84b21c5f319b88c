//! Waiting without a runtime: for a slot, and for blocking work.

use std::{
    collections::HashMap,
    future::poll_fn,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
};

/// A number of slots shared by several owners.
///
/// A free slot goes to the owner who holds the fewest, and among equals to the one who waits longest. If there is more
/// than one slot, no owner gets them all: a quarter is reserved for others, so an owner whose jobs never end cannot
/// starve everybody else.
pub(crate) struct Slots {
    state: Mutex<State>,
    /// Maximum slots of one owner.
    share: usize,
}

#[derive(Default)]
struct State {
    free: usize,
    held: HashMap<Box<str>, usize>,
    /// In order of arrival.
    waiting: Vec<Ticket>,
    count: u64,
}

struct Ticket {
    number: u64,
    owner: Box<str>,
    waker: Option<Waker>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn held_by(&self, owner: &str) -> usize {
        self.held.get(owner).copied().unwrap_or_default()
    }

    /// Assigns free slots to waiting owners.
    fn hand_out(&mut self, share: usize) {
        while self.free > 0 {
            let entitled =
                self.waiting.iter().enumerate().filter(|(_, one)| self.held_by(&one.owner) < share);
            let Some((next, _)) = entitled.min_by_key(|(_, one)| self.held_by(&one.owner)) else { return };
            let ticket = self.waiting.remove(next);
            self.free -= 1;
            *self.held.entry(ticket.owner).or_default() += 1;
            if let Some(waker) = ticket.waker {
                waker.wake();
            }
        }
    }

    fn take_back(&mut self, owner: &str, share: usize) {
        self.free += 1;
        if let Some(held) = self.held.get_mut(owner) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(owner);
            }
        }
        self.hand_out(share);
    }
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        let count = count.max(1);
        let share = if count == 1 { 1 } else { count - (count / 4).max(1) };
        Self { state: Mutex::new(State { free: count, ..State::default() }), share }
    }

    /// Waits for a slot for `owner`.
    pub(crate) async fn take_slot<'p>(&'p self, owner: &str) -> Slot<'p> {
        let mut queued = Queued { slots: self, owner, number: None };
        poll_fn(|cx| queued.poll(cx)).await;
        queued.number = None;
        Slot { slots: self, owner: owner.into() }
    }
}

/// A slot, released on drop.
pub(crate) struct Slot<'p> {
    slots: &'p Slots,
    owner: Box<str>,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        lock(&self.slots.state).take_back(&self.owner, self.slots.share);
    }
}

/// An entry in the queue, which may be cancelled at any time.
struct Queued<'p, 'o> {
    slots: &'p Slots,
    owner: &'o str,
    number: Option<u64>,
}

impl Queued<'_, '_> {
    fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.slots.state);
        let number = *self.number.get_or_insert_with(|| {
            state.count += 1;
            let (number, owner) = (state.count, self.owner.into());
            state.waiting.push(Ticket { number, owner, waker: None });
            state.hand_out(self.slots.share);
            number
        });
        match state.waiting.iter_mut().find(|ticket| ticket.number == number) {
            // A ticket that left the queue has a slot.
            None => Poll::Ready(()),
            Some(ticket) => {
                ticket.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Queued<'_, '_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut state = lock(&self.slots.state);
        match state.waiting.iter().position(|ticket| ticket.number == number) {
            Some(place) => drop(state.waiting.remove(place)),
            // It was assigned a slot and was cancelled before it took it.
            None => state.take_back(self.owner, self.slots.share),
        }
    }
}

/// Runs `work` on a thread of its own and returns its result.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let shared: Arc<Mutex<(Option<T>, Option<Waker>)>> = Arc::new(Mutex::new((None, None)));
    let inner = Arc::clone(&shared);
    let job = move || {
        let value = work();
        let mut shared = lock(&inner);
        shared.0 = Some(value);
        if let Some(waker) = shared.1.take() {
            waker.wake();
        }
    };
    let thread = thread::Builder::new().name("hooks-start".into()).spawn(job)?;
    poll_fn(move |cx| {
        let mut shared = lock(&shared);
        match shared.0.take() {
            Some(value) => Poll::Ready(Ok(value)),
            None if thread.is_finished() => Poll::Ready(Err(io::Error::other("the thread panicked"))),
            None => {
                shared.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::tests::block_on;

    #[test]
    fn a_released_slot_goes_to_the_next_in_the_queue() {
        let slots = Slots::new(1);
        let first = block_on(slots.take_slot("a"));
        let mut cx = Context::from_waker(Waker::noop());
        let mut second = pin!(slots.take_slot("a"));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        drop(first);
        assert!(second.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn a_cancelled_wait_passes_its_slot_on() {
        let slots = Slots::new(1);
        let first = block_on(slots.take_slot("a"));
        let mut cx = Context::from_waker(Waker::noop());
        let mut second = Box::pin(slots.take_slot("a"));
        let mut third = pin!(slots.take_slot("a"));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert!(third.as_mut().poll(&mut cx).is_pending());
        drop(first);
        drop(second);
        assert!(third.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn no_owner_gets_every_slot() {
        let slots = Slots::new(4);
        let mut cx = Context::from_waker(Waker::noop());
        let _held: Vec<_> = (0..3).map(|_| block_on(slots.take_slot("greedy"))).collect();
        let mut fourth = pin!(slots.take_slot("greedy"));
        assert!(fourth.as_mut().poll(&mut cx).is_pending(), "one slot is reserved for others");
        let other = block_on(slots.take_slot("other"));
        drop(other);
        assert!(fourth.as_mut().poll(&mut cx).is_pending());
    }

    #[test]
    fn a_slot_goes_to_the_owner_with_the_fewest() {
        let slots = Slots::new(2);
        let mut cx = Context::from_waker(Waker::noop());
        let (first, _second) = (block_on(slots.take_slot("a")), block_on(slots.take_slot("b")));
        let mut queue: Vec<_> =
            ["b", "b", "a", "c"].iter().map(|owner| Box::pin(slots.take_slot(owner))).collect();
        for waiting in &mut queue {
            assert!(waiting.as_mut().poll(&mut cx).is_pending());
        }
        drop(first);
        let taken: Vec<_> = queue.iter_mut().map(|one| one.as_mut().poll(&mut cx)).collect();
        let ready: Vec<bool> = taken.iter().map(Poll::is_ready).collect();
        assert_eq!(ready, [false, false, true, false], "`a` holds none and came before `c`");
    }

    #[test]
    fn blocking_work_returns_its_result() {
        assert_eq!(block_on(run_blocking(|| 7)).expect("a thread can be started"), 7);
    }
}
