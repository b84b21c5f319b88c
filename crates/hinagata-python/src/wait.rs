//! Waiting without a runtime: for a place, and for work that blocks.

use std::{
    collections::VecDeque,
    future::poll_fn,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
};

/// A number of places; whoever finds none waits, first come, first served.
pub(crate) struct Places(Mutex<State>);

struct State {
    free: usize,
    waiting: VecDeque<Arc<Ticket>>,
}

#[derive(Default)]
struct Ticket(Mutex<TicketState>);

#[derive(Default)]
struct TicketState {
    waker: Option<Waker>,
    called: bool,
    gone: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Places {
    pub(crate) fn new(count: usize) -> Self {
        Self(Mutex::new(State { free: count.max(1), waiting: VecDeque::new() }))
    }

    /// A place, once there is one.
    pub(crate) async fn take(&self) -> Place<'_> {
        let mut queued = Queued { places: self, ticket: None };
        poll_fn(|cx| queued.poll(cx)).await;
        queued.ticket = None;
        Place(self)
    }

    /// Hands a place to whoever waits longest.
    fn give(&self) {
        let mut state = lock(&self.0);
        while let Some(ticket) = state.waiting.pop_front() {
            let mut ticket = lock(&ticket.0);
            if !ticket.gone {
                ticket.called = true;
                if let Some(waker) = ticket.waker.take() {
                    waker.wake();
                }
                return;
            }
        }
        state.free += 1;
    }
}

/// A place that is given back when this is dropped.
pub(crate) struct Place<'p>(&'p Places);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.give();
    }
}

/// Somebody in the queue, who may leave at any time.
struct Queued<'p> {
    places: &'p Places,
    ticket: Option<Arc<Ticket>>,
}

impl Queued<'_> {
    fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        let ticket = match &self.ticket {
            Some(ticket) => ticket,
            None => {
                let mut state = lock(&self.places.0);
                if state.free > 0 {
                    state.free -= 1;
                    return Poll::Ready(());
                }
                let ticket = Arc::<Ticket>::default();
                state.waiting.push_back(Arc::clone(&ticket));
                self.ticket.insert(ticket)
            }
        };
        let mut ticket = lock(&ticket.0);
        if ticket.called {
            return Poll::Ready(());
        }
        ticket.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        let Some(ticket) = &self.ticket else { return };
        let called = {
            let mut ticket = lock(&ticket.0);
            ticket.gone = true;
            ticket.called
        };
        if called {
            self.places.give();
        }
    }
}

/// What `work` gives, done on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
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
    fn the_next_in_the_queue_gets_the_place_that_is_given_back() {
        let places = Places::new(1);
        let first = block_on(places.take());
        let mut cx = Context::from_waker(Waker::noop());
        let mut second = pin!(places.take());
        assert!(second.as_mut().poll(&mut cx).is_pending());
        drop(first);
        assert!(second.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn who_leaves_the_queue_leaves_the_place_to_the_next() {
        let places = Places::new(1);
        let first = block_on(places.take());
        let mut cx = Context::from_waker(Waker::noop());
        let mut second = Box::pin(places.take());
        let mut third = pin!(places.take());
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert!(third.as_mut().poll(&mut cx).is_pending());
        drop(first);
        drop(second);
        assert!(third.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn blocking_work_gives_its_result() {
        assert_eq!(block_on(blocking(|| 7)).expect("there are threads"), 7);
    }
}
