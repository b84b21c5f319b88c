//! The threads that serve connections. Each has its own connections and its own runtime: a request is read, handled and
//! answered on one thread, and wakes no other.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc,
};

/// Starts a task on the thread that calls it.
type Start = Box<dyn FnOnce() + Send>;

/// The threads that serve connections. Dropping this ends them and aborts whatever runs there.
#[derive(Debug)]
pub(crate) struct WorkerThreads(Vec<WorkerThread>);

#[derive(Debug)]
struct WorkerThread {
    starts: mpsc::UnboundedSender<Start>,
    /// Open connections of the thread.
    open: Arc<AtomicUsize>,
}

/// Counts a connection on its thread until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot(Arc<AtomicUsize>);

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl WorkerThreads {
    /// Starts `count` threads.
    pub(crate) fn start_threads(count: usize) -> io::Result<Self> {
        let thread = |_| {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (starts, arriving) = mpsc::unbounded_channel();
            thread::Builder::new()
                .name("hinagata-worker".to_owned())
                .spawn(move || run_tasks(runtime, arriving))?;
            Ok(WorkerThread { starts, open: Arc::default() })
        };
        (0..count.max(1)).map(thread).collect::<io::Result<_>>().map(Self)
    }

    /// Runs `start` on the thread with the fewest connections. `start` keeps the slot while the connection is open.
    pub(crate) fn run_on_least_busy(&self, start: impl FnOnce(ConnectionSlot) + Send + 'static) {
        let Some(thread) = self.0.iter().min_by_key(|thread| thread.open.load(Ordering::Relaxed)) else {
            return;
        };
        thread.open.fetch_add(1, Ordering::Relaxed);
        let slot = ConnectionSlot(Arc::clone(&thread.open));
        // The thread lives as long as this sender.
        let _ = thread.starts.send(Box::new(move || start(slot)));
    }
}

/// Runs tasks until all senders are gone, then aborts what still runs.
fn run_tasks(runtime: Runtime, mut arriving: mpsc::UnboundedReceiver<Start>) {
    runtime.block_on(async {
        while let Some(start) = arriving.recv().await {
            start();
        }
    });
    // Do not wait for renders whose callers are gone.
    runtime.shutdown_background();
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, thread::ThreadId};

    use super::*;

    #[test]
    fn connections_are_spread_over_the_threads() {
        let threads = WorkerThreads::start_threads(2).expect("threads start");
        let (sender, receiver) = channel::<(ThreadId, ConnectionSlot)>();
        let place = || {
            let sender = sender.clone();
            threads.run_on_least_busy(move |slot| {
                sender.send((thread::current().id(), slot)).expect("is waited for");
            });
            receiver.recv().expect("is run")
        };
        let (first, second) = (place(), place());
        assert_ne!(first.0, second.0, "each has its own");
        let left = first.0;
        drop(first);
        assert_eq!(place().0, left, "the place of one who left is taken next");
    }

    #[test]
    fn dropping_the_threads_aborts_running_tasks() {
        let threads = WorkerThreads::start_threads(1).expect("threads start");
        let (sender, receiver) = channel::<()>();
        threads.run_on_least_busy(move |slot| {
            tokio::spawn(async move {
                let _kept = (slot, sender);
                std::future::pending::<()>().await;
            });
        });
        drop(threads);
        assert!(receiver.recv().is_err(), "it is dropped, not forgotten");
    }
}
