//! Readiness of file descriptors for futures on any executor: one thread waits for all of them.

use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
};

use rustix::{
    buffer::spare_capacity,
    event::{EventfdFlags, epoll, eventfd},
    io::{Errno, write},
};

/// The token of the descriptor that wakes the thread.
const BELL: u64 = 0;

/// Watches descriptors. Cheap to clone. The thread ends when no clone and no watched descriptor is left.
#[derive(Clone)]
pub(crate) struct Reactor(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
}

struct Shared {
    epoll: OwnedFd,
    /// Wakes the thread. It stays open until the thread has read it.
    bell: OwnedFd,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sources: HashMap<u64, Arc<Source>>,
    count: u64,
}

type Work = Box<dyn Fn() + Send + Sync>;

/// What to do when a descriptor is ready.
enum Source {
    /// Wake these futures.
    Waiting(Mutex<Vec<Waker>>),
    /// Run this short callback on the thread.
    Work(Work),
}

impl Reactor {
    /// Starts the thread.
    pub(crate) fn start_thread() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        let shared = Arc::new(Shared { epoll, bell, state: Mutex::default() });
        let inner = Arc::clone(&shared);
        thread::Builder::new().name("hooks".into()).spawn(move || inner.run())?;
        Ok(Self(Arc::new(Handle { shared })))
    }

    /// Watches a non-blocking `io` for futures.
    pub(crate) fn watch_io<T: AsFd>(&self, io: T) -> io::Result<WatchedIo<T>> {
        let source = Arc::new(Source::Waiting(Mutex::default()));
        let number = self.add(io.as_fd(), &source)?;
        Ok(WatchedIo { io, source, number, reactor: self.clone() })
    }

    /// Calls `work` on the thread whenever the non-blocking `io` changes.
    pub(crate) fn watch_with<T: AsFd>(
        &self,
        io: T,
        work: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<WatchedIo<T>> {
        let source = Arc::new(Source::Work(Box::new(work)));
        let number = self.add(io.as_fd(), &source)?;
        Ok(WatchedIo { io, source, number, reactor: self.clone() })
    }

    fn add(&self, io: BorrowedFd<'_>, source: &Arc<Source>) -> io::Result<u64> {
        let shared = &self.0.shared;
        let number = {
            let mut state = shared.state();
            state.count += 1;
            let number = state.count;
            state.sources.insert(number, Arc::clone(source));
            number
        };
        let flags =
            epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&shared.epoll, io, epoll::EventData::new_u64(number), flags)
            .inspect_err(|_| drop(shared.state().sources.remove(&number)))?;
        Ok(number)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The counter of a new eventfd cannot overflow.
        let _ = write(&self.shared.bell, &1_u64.to_ne_bytes());
    }
}

impl Shared {
    /// The lock is held for a few lines that cannot panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut events = Vec::with_capacity(64);
        loop {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    BELL => return,
                    number => self.notify_source(number),
                }
            }
        }
    }

    fn notify_source(&self, number: u64) {
        let source = self.state().sources.get(&number).map(Arc::clone);
        match source.as_deref() {
            Some(Source::Waiting(wakers)) => {
                let woken = std::mem::take(&mut *wakers.lock().unwrap_or_else(PoisonError::into_inner));
                woken.into_iter().for_each(Waker::wake);
            }
            Some(Source::Work(work)) => work(),
            None => {}
        }
    }
}

/// A descriptor that is watched until this value is dropped.
pub(crate) struct WatchedIo<T: AsFd> {
    io: T,
    source: Arc<Source>,
    number: u64,
    reactor: Reactor,
}

impl<T: AsFd> WatchedIo<T> {
    /// The descriptor itself.
    pub(crate) fn get(&self) -> &T {
        &self.io
    }

    /// Runs `attempt` until it does not have to wait.
    ///
    /// The task is registered before the attempt, so that a change in between wakes it.
    pub(crate) fn poll_io<R>(
        &self,
        cx: &Context<'_>,
        mut attempt: impl FnMut(&T) -> Result<R, Errno>,
    ) -> Poll<Result<R, Errno>> {
        self.note(cx.waker());
        loop {
            match attempt(&self.io) {
                Err(Errno::AGAIN) => return Poll::Pending,
                Err(Errno::INTR) => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn note(&self, waker: &Waker) {
        if let Source::Waiting(wakers) = &*self.source {
            let mut wakers = wakers.lock().unwrap_or_else(PoisonError::into_inner);
            if !wakers.iter().any(|known| known.will_wake(waker)) {
                wakers.push(waker.clone());
            }
        }
    }

    /// Wakes every task that waits for this descriptor. One of them consumed data that may belong to another.
    pub(crate) fn wake_all(&self) {
        self.reactor.0.shared.notify_source(self.number);
    }
}

impl<T: AsFd> Drop for WatchedIo<T> {
    fn drop(&mut self) {
        let shared = &self.reactor.0.shared;
        // This fails only if it was closed, which removes it as well.
        let _ = epoll::delete(&shared.epoll, &self.io);
        shared.state().sources.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        io::Write as _,
        os::unix::net::UnixStream,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;
    use crate::tests::block_on;

    fn pair() -> (UnixStream, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("sockets are available");
        ours.set_nonblocking(true).expect("is set");
        (ours, theirs)
    }

    #[test]
    fn a_future_is_woken_by_a_descriptor() {
        let reactor = Reactor::start_thread().expect("there is epoll");
        let (ours, mut theirs) = pair();
        let watched = reactor.watch_io(ours).expect("can be watched");
        let writer = thread::spawn(move || {
            theirs.write_all(b"hello").expect("is read");
            theirs
        });
        let mut buffer = [0; 16];
        let size = block_on(poll_fn(|cx| watched.poll_io(cx, |io| rustix::io::read(io, &mut buffer))));
        assert_eq!(size, Ok(5));
        writer.join().expect("ends");
    }

    #[test]
    fn a_callback_runs_when_a_descriptor_changes() {
        let reactor = Reactor::start_thread().expect("there is epoll");
        let (ours, theirs) = pair();
        let (done, wait) = std::sync::mpsc::channel();
        let count = AtomicUsize::new(0);
        let watched = reactor.watch_with(ours, move || {
            let _ = done.send(count.fetch_add(1, Ordering::Relaxed));
        });
        let _watched = watched.expect("can be watched");
        drop(theirs);
        assert_eq!(wait.recv(), Ok(0));
    }

    #[test]
    fn the_thread_ends_with_the_last_user() {
        let reactor = Reactor::start_thread().expect("there is epoll");
        let shared = Arc::downgrade(&reactor.0.shared);
        let (ours, _theirs) = pair();
        let watched = reactor.watch_io(ours).expect("can be watched");
        drop(reactor);
        assert!(shared.strong_count() > 0, "something is still watched");
        drop(watched);
        while shared.strong_count() > 0 {
            thread::yield_now();
        }
    }
}
