//! Waits for futures without a runtime.
//!
//! The reasons are in `docs/design/cancellation.md`.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use hinagata_value::Cancel;

use crate::{Code, Error, Reason, Result, ports::PortFuture};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks the thread until `future` is ready.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    // Most renders wait for nothing and are ready at the first poll.
    if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return result;
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

/// The result of `work`, or an error as soon as it is cancelled. The caller pins `work`: a future that is passed by value
/// is stored twice.
pub(super) async fn unless_cancelled<T>(
    cancel: Option<&Cancel>,
    mut work: Pin<&mut impl Future<Output = Result<T>>>,
) -> Result<T> {
    poll_fn(|context| {
        if let Some(Poll::Ready(())) = cancel.map(|cancel| cancel.poll_cancelled(context)) {
            return Poll::Ready(Err(
                Error::new(Code::Deadline, "the render was cancelled").with_reason(Reason::Deadline)
            ));
        }
        work.as_mut().poll(context)
    })
    .await
}

/// Runs futures concurrently and returns their results in order.
pub(super) async fn join_all<T: Send>(futures: Vec<PortFuture<'_, T>>) -> Vec<T> {
    let mut waiting: Vec<Option<PortFuture<'_, T>>> = futures.into_iter().map(Some).collect();
    let mut results: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut open = false;
        for (slot, result) in waiting.iter_mut().zip(&mut results) {
            let Some(future) = slot else { continue };
            match future.as_mut().poll(context) {
                Poll::Ready(value) => {
                    *result = Some(value);
                    *slot = None;
                }
                Poll::Pending => open = true,
            }
        }
        if open { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A future that another thread completes.
    fn from_thread(value: u32, start: mpsc::Receiver<()>) -> PortFuture<'static, u32> {
        let shared = Arc::new(std::sync::Mutex::new((false, None::<Waker>)));
        let inner = Arc::clone(&shared);
        thread::spawn(move || {
            start.recv().expect("is started");
            let mut state = inner.lock().expect("is not poisoned");
            state.0 = true;
            if let Some(waker) = state.1.take() {
                waker.wake();
            }
        });
        Box::pin(poll_fn(move |context| {
            let mut state = shared.lock().expect("is not poisoned");
            if state.0 {
                return Poll::Ready(value);
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        }))
    }

    #[test]
    fn results_keep_their_order_whoever_is_ready_first() {
        let (first, first_start) = mpsc::channel();
        let (second, second_start) = mpsc::channel();
        let futures = vec![from_thread(1, first_start), from_thread(2, second_start)];
        second.send(()).expect("is heard");
        let starter = thread::spawn(move || first.send(()).expect("is heard"));
        assert_eq!(block_on(join_all(futures)), [1, 2]);
        starter.join().expect("ends");
    }

    #[test]
    fn what_is_ready_is_not_waited_for() {
        assert_eq!(block_on(async { 5 }), 5);
        assert!(block_on(join_all(Vec::<PortFuture<'_, u8>>::new())).is_empty());
    }
}
