//! The threads that answer. Each has connections of its own and a runtime of its own: a request is read, worked on and
//! answered where it came in, and wakes nobody else.

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

/// The threads that answer. They end when this is dropped, whatever is under way there.
#[derive(Debug)]
pub(crate) struct Lanes(Vec<Lane>);

#[derive(Debug)]
struct Lane {
    starts: mpsc::UnboundedSender<Start>,
    /// Connections that are open there.
    open: Arc<AtomicUsize>,
}

/// A place on a lane, for as long as a connection is open.
#[derive(Debug)]
pub(crate) struct Taken(Arc<AtomicUsize>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lanes {
    /// Starts `count` threads.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        let lane = |_| {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (starts, arriving) = mpsc::unbounded_channel();
            thread::Builder::new()
                .name("hinagata-lane".to_owned())
                .spawn(move || drive(runtime, arriving))?;
            Ok(Lane { starts, open: Arc::default() })
        };
        (0..count.max(1)).map(lane).collect::<io::Result<_>>().map(Self)
    }

    /// Lets the lane with the fewest connections run `start`, which keeps the place that it is given while it is at work.
    pub(crate) fn run(&self, start: impl FnOnce(Taken) + Send + 'static) {
        let Some(lane) = self.0.iter().min_by_key(|lane| lane.open.load(Ordering::Relaxed)) else { return };
        lane.open.fetch_add(1, Ordering::Relaxed);
        let taken = Taken(Arc::clone(&lane.open));
        // A lane is there for as long as somebody can ask it.
        let _ = lane.starts.send(Box::new(move || start(taken)));
    }
}

/// Runs what arrives until nobody can bring more; what is under way then is broken off.
fn drive(runtime: Runtime, mut arriving: mpsc::UnboundedReceiver<Start>) {
    runtime.block_on(async {
        while let Some(start) = arriving.recv().await {
            start();
        }
    });
    // Renders that nobody waits for any more are not waited for here either.
    runtime.shutdown_background();
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, thread::ThreadId};

    use super::*;

    #[test]
    fn connections_are_spread_over_the_threads() {
        let lanes = Lanes::start(2).expect("threads start");
        let (sender, receiver) = channel::<(ThreadId, Taken)>();
        let place = || {
            let sender = sender.clone();
            lanes.run(move |taken| sender.send((thread::current().id(), taken)).expect("is waited for"));
            receiver.recv().expect("is run")
        };
        let (first, second) = (place(), place());
        assert_ne!(first.0, second.0, "each has its own");
        let left = first.0;
        drop(first);
        assert_eq!(place().0, left, "the place of one who left is taken next");
    }

    #[test]
    fn what_is_under_way_is_broken_off_when_the_lanes_end() {
        let lanes = Lanes::start(1).expect("threads start");
        let (sender, receiver) = channel::<()>();
        lanes.run(move |taken| {
            tokio::spawn(async move {
                let _kept = (taken, sender);
                std::future::pending::<()>().await;
            });
        });
        drop(lanes);
        assert!(receiver.recv().is_err(), "it is dropped, not forgotten");
    }
}
