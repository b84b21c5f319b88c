//! The threads that run renders which are not known to be quick: one per core, with a short queue.
//!
//! A render is a future. A thread polls it, and while it waits for a tool or a hook it uses no thread at all: whatever it
//! waits for is driven by the runtime of the thread that serves its connection.
//!
//! The reasons are in `docs/design/daemon-threads.md`.

use std::{
    collections::VecDeque,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
};

use hinagata_value::Cancel;
use tokio::{runtime::Handle, sync::oneshot};

use crate::bulkhead::Full;

/// Renders that may wait for a core, for each core.
const QUEUED_PER_CORE: usize = 8;

/// How many times as many may wait if their time is not known: most prompts are quick, and a daemon that has just
/// started knows none of them.
const UNKNOWN_FACTOR: usize = 4;

/// What is known about the time of a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedTime {
    Unknown,
    Long,
}

/// The threads. Dropping this ends them once they finished what they run.
#[derive(Debug)]
pub(crate) struct RenderPool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    has_work: Condvar,
    threads: usize,
    max_queued: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    /// Renders that wait for nothing any more. They are further than new ones, so they go first.
    resumed: VecDeque<Arc<Task>>,
    /// New renders whose time was unknown. They go before long ones: a quick prompt must run once to be known as quick.
    unknown: VecDeque<Arc<Task>>,
    long: VecDeque<Arc<Task>>,
    running: usize,
    is_closed: bool,
}

impl Queue {
    /// Renders that use a core or could use one.
    fn load(&self) -> usize {
        self.running + self.resumed.len() + self.unknown.len() + self.long.len()
    }

    fn push_new(&mut self, task: Arc<Task>, expected_time: ExpectedTime) {
        match expected_time {
            ExpectedTime::Unknown => self.unknown.push_back(task),
            ExpectedTime::Long => self.long.push_back(task),
        }
    }

    /// Takes the task that runs next.
    fn pop_next(&mut self) -> Option<Arc<Task>> {
        if let Some(task) = self.resumed.pop_front() {
            return Some(task);
        }
        while let Some(task) = self.unknown.pop_front() {
            match (task.expected_time)() {
                ExpectedTime::Unknown => return Some(task),
                // Another render of its prompt took long in the meantime.
                ExpectedTime::Long => self.long.push_back(task),
            }
        }
        self.long.pop_front()
    }

    /// Takes everything that waits.
    fn drain_all(&mut self) -> Vec<Arc<Task>> {
        let Self { resumed, unknown, long, .. } = self;
        [resumed, unknown, long].into_iter().flat_map(|tasks| tasks.drain(..)).collect()
    }
}

impl Drop for RenderPool {
    fn drop(&mut self) {
        let mut queue = self.0.lock_queue();
        queue.is_closed = true;
        let left = queue.drain_all();
        drop(queue);
        self.0.has_work.notify_all();
        left.iter().for_each(|task| task.forget_work());
    }
}

impl RenderPool {
    /// Starts `threads` threads. `max_queued` renders may wait for them; without it, a number for each thread.
    pub(crate) fn start_threads(threads: usize, max_queued: Option<usize>) -> io::Result<Self> {
        let threads = threads.max(1);
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            has_work: Condvar::new(),
            threads,
            max_queued: AtomicUsize::new(queue_length(threads, max_queued)),
        });
        let pool = Self(shared);
        for _ in 0..threads {
            let shared = Arc::clone(&pool.0);
            thread::Builder::new().name("hinagata-render".to_owned()).spawn(move || shared.run_tasks())?;
        }
        Ok(pool)
    }

    /// Takes over another length of the queue.
    pub(crate) fn set_max_queued(&self, max_queued: Option<usize>) {
        self.0.max_queued.store(queue_length(self.0.threads, max_queued), Ordering::Relaxed);
    }

    /// Whether the next long render would be refused.
    pub(crate) fn is_full(&self) -> bool {
        self.0.lock_queue().load() >= self.0.max_load()
    }

    /// The renders that wait for a core.
    pub(crate) fn queued(&self) -> usize {
        self.0.lock_queue().load().saturating_sub(self.0.threads)
    }

    /// Runs `work` on one of the threads. The runtime of the caller drives what `work` waits for. `work` ends when `cancel`
    /// is triggered. `expected_time` is asked again when a thread is free, because others may have run in the meantime.
    ///
    /// # Errors
    /// All threads are busy, and the queue is full.
    pub(crate) fn try_run<T: Send + 'static>(
        &self,
        cancel: Cancel,
        expected_time: impl Fn() -> ExpectedTime + Send + Sync + 'static,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<Running<T>, Full> {
        let (sender, receiver) = oneshot::channel();
        let work = Box::pin(async move {
            let result = work.await;
            // Nobody may wait for it any more.
            Box::new(move || drop(sender.send(result))) as Deliver
        });
        let expected_now = expected_time();
        let task = Arc::new(Task {
            shared: Arc::clone(&self.0),
            runtime: Handle::current(),
            cancel,
            expected_time: Box::new(expected_time),
            state: AtomicU8::new(QUEUED),
            work: Mutex::new(Some(work)),
        });
        let mut queue = self.0.lock_queue();
        let max_load = match expected_now {
            ExpectedTime::Unknown => self.0.max_load().saturating_mul(UNKNOWN_FACTOR),
            ExpectedTime::Long => self.0.max_load(),
        };
        if queue.load() >= max_load {
            return Err(Full { what: "too many renders at once", setting: "server.max_queued" });
        }
        queue.push_new(task, expected_now);
        drop(queue);
        self.0.has_work.notify_one();
        Ok(Running(receiver))
    }
}

/// The result of a render on the threads; `None` when it panicked or was cancelled.
#[derive(Debug)]
pub(crate) struct Running<T>(oneshot::Receiver<T>);

impl<T> Future for Running<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        Pin::new(&mut self.get_mut().0).poll(context).map(Result::ok)
    }
}

fn queue_length(threads: usize, max_queued: Option<usize>) -> usize {
    max_queued.unwrap_or(threads * QUEUED_PER_CORE)
}

impl Shared {
    /// The renders that may use a core or wait for one.
    fn max_load(&self) -> usize {
        self.threads.saturating_add(self.max_queued.load(Ordering::Relaxed))
    }

    fn lock_queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs tasks until the pool is dropped.
    fn run_tasks(&self) {
        let mut queue = self.lock_queue();
        loop {
            if let Some(task) = queue.pop_next() {
                queue.running += 1;
                drop(queue);
                let deliver = task.poll_work();
                queue = self.lock_queue();
                queue.running -= 1;
                if let Some(deliver) = deliver {
                    drop(queue);
                    deliver();
                    queue = self.lock_queue();
                }
            } else if queue.is_closed {
                return;
            } else {
                queue = self.has_work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Queues a task that can go on. It was admitted before, so it is never refused.
    fn resume_task(&self, task: Arc<Task>) {
        let mut queue = self.lock_queue();
        if queue.is_closed {
            drop(queue);
            task.forget_work();
            return;
        }
        queue.resumed.push_back(task);
        drop(queue);
        self.has_work.notify_one();
    }
}

// The states of a task.
/// It waits to be woken.
const IDLE: u8 = 0;
/// It is in the queue.
const QUEUED: u8 = 1;
/// A thread polls it.
const RUNNING: u8 = 2;
/// It was woken while a thread polls it.
const WOKEN: u8 = 3;
/// It ended.
const ENDED: u8 = 4;

/// A render on the threads of the pool.
struct Task {
    shared: Arc<Shared>,
    runtime: Handle,
    cancel: Cancel,
    expected_time: Box<dyn Fn() -> ExpectedTime + Send + Sync>,
    state: AtomicU8,
    /// Locked by the thread that polls it; `None` once it ended.
    work: Mutex<Option<Pin<Box<dyn Future<Output = Deliver> + Send>>>>,
}

/// Hands over a result, once the thread that produced it counts as free: whoever has the result finds room for the next
/// render.
type Deliver = Box<dyn FnOnce() + Send>;

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let next = |state: u8| match state {
            IDLE => Some(QUEUED),
            RUNNING => Some(WOKEN),
            _ => None,
        };
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE) {
            let shared = Arc::clone(&self.shared);
            shared.resume_task(self);
        }
    }
}

impl Task {
    /// Polls the work once; what it returns when it is complete.
    fn poll_work(self: Arc<Self>) -> Option<Deliver> {
        self.state.store(RUNNING, Ordering::Release);
        // Nobody waits for the result, and the runtime may be gone.
        if self.cancel.is_cancelled() {
            self.forget_work();
            return None;
        }
        if let Poll::Ready(deliver) = self.poll_once() {
            self.forget_work();
            return deliver;
        }
        let next = |state: u8| Some(if state == WOKEN { QUEUED } else { IDLE });
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN) {
            let shared = Arc::clone(&self.shared);
            shared.resume_task(self);
        }
        None
    }

    /// Polls the work in the runtime of its caller. A panic ends it.
    fn poll_once(self: &Arc<Self>) -> Poll<Option<Deliver>> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = work.as_mut() else { return Poll::Ready(None) };
        let waker = Waker::from(Arc::clone(self));
        let _entered = self.runtime.enter();
        let poll = || running.as_mut().poll(&mut Context::from_waker(&waker));
        catch_unwind(AssertUnwindSafe(poll)).map_or(Poll::Ready(None), |polled| polled.map(Some))
    }

    /// Drops the work with everything that it waits for.
    fn forget_work(&self) {
        self.state.store(ENDED, Ordering::Release);
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(work);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc::{Sender, channel},
        time::Duration,
    };

    use tokio::sync::oneshot;

    use super::*;

    fn long() -> ExpectedTime {
        ExpectedTime::Long
    }

    fn unknown() -> ExpectedTime {
        ExpectedTime::Unknown
    }

    /// Keeps a thread busy until the sender is dropped; returns once it runs.
    fn occupy(pool: &RenderPool) -> (Sender<()>, Running<()>) {
        let (release, released) = channel::<()>();
        let (start, started) = channel();
        let running = pool.try_run(Cancel::default(), long, async move {
            let _ = start.send(());
            let _ = released.recv();
        });
        started.recv().expect("runs");
        (release, running.expect("has room"))
    }

    #[tokio::test]
    async fn what_does_not_fit_into_the_queue_is_refused() {
        let pool = RenderPool::start_threads(1, Some(1)).expect("threads start");
        let (release, running) = occupy(&pool);
        let queued = pool.try_run(Cancel::default(), long, async { 1 }).expect("one may wait");
        assert!(pool.is_full());
        let refused = pool.try_run(Cancel::default(), long, async { 2 }).expect_err("two may not");
        assert_eq!(refused.setting, "server.max_queued");
        drop(release);
        assert_eq!((running.await, queued.await), (Some(()), Some(1)));
        assert_eq!(
            pool.try_run(Cancel::default(), long, async { 3 }).expect("has room again").await,
            Some(3)
        );
    }

    #[tokio::test]
    async fn more_renders_of_unknown_time_may_wait() {
        let pool = RenderPool::start_threads(1, Some(0)).expect("threads start");
        let (release, running) = occupy(&pool);
        assert!(pool.try_run(Cancel::default(), long, async {}).is_err());
        let try_unknown = || pool.try_run(Cancel::default(), unknown, async {});
        let queued: Vec<_> = (1..UNKNOWN_FACTOR).map(|_| try_unknown().expect("may wait")).collect();
        assert!(try_unknown().is_err());
        drop(release);
        assert_eq!(running.await, Some(()));
        for render in queued {
            assert_eq!(render.await, Some(()));
        }
    }

    #[tokio::test]
    async fn renders_of_unknown_time_go_before_long_ones() {
        let pool = RenderPool::start_threads(1, None).expect("threads start");
        let (release, running) = occupy(&pool);
        let (order, ended) = channel();
        let note = |name: &'static str| {
            let order = order.clone();
            async move { order.send(name).expect("is read") }
        };
        let is_known = Arc::new(AtomicUsize::new(0));
        let known_later = {
            let is_known = Arc::clone(&is_known);
            move || if is_known.load(Ordering::Relaxed) == 0 { unknown() } else { long() }
        };
        let queued = [
            pool.try_run(Cancel::default(), long, note("long")),
            pool.try_run(Cancel::default(), known_later, note("known later")),
            pool.try_run(Cancel::default(), unknown, note("unknown")),
        ];
        is_known.store(1, Ordering::Relaxed);
        drop(release);
        for render in queued {
            assert_eq!(render.expect("may wait").await, Some(()));
        }
        assert_eq!(running.await, Some(()));
        assert_eq!(ended.try_iter().collect::<Vec<_>>(), ["unknown", "long", "known later"]);
    }

    #[tokio::test]
    async fn a_render_that_waits_uses_no_thread() {
        let pool = RenderPool::start_threads(1, Some(0)).expect("threads start");
        let (answer, answered) = oneshot::channel::<u8>();
        let waiting = pool.try_run(Cancel::default(), long, answered).expect("has room");
        // The only thread is free as soon as the first one waits.
        let other = loop {
            match pool.try_run(Cancel::default(), long, async { 7 }) {
                Ok(other) => break other,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        assert_eq!(other.await, Some(7));
        answer.send(8).expect("is waited for");
        assert_eq!(waiting.await, Some(Ok(8)));
    }

    #[tokio::test]
    async fn timers_of_the_calling_runtime_work() {
        let pool = RenderPool::start_threads(1, None).expect("threads start");
        let work = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            thread::current().name().map(str::to_owned)
        };
        let name = pool.try_run(Cancel::default(), long, work).expect("has room").await;
        assert_eq!(name.flatten().as_deref(), Some("hinagata-render"));
    }

    #[tokio::test]
    async fn a_cancelled_render_is_dropped() {
        let pool = RenderPool::start_threads(1, None).expect("threads start");
        let (release, running) = occupy(&pool);
        let cancel = Cancel::default();
        let queued = pool.try_run(cancel.clone(), long, async { 1 }).expect("may wait");
        cancel.cancel();
        drop(release);
        assert_eq!((running.await, queued.await), (Some(()), None));
    }

    #[tokio::test]
    async fn a_panic_ends_the_render_and_not_the_thread() {
        let pool = RenderPool::start_threads(1, None).expect("threads start");
        let failed =
            pool.try_run(Cancel::default(), long, async { panic!("as a bug would") }).expect("has room");
        assert_eq!(failed.await, None::<()>);
        assert_eq!(pool.try_run(Cancel::default(), long, async { 1 }).expect("has room").await, Some(1));
    }

    #[tokio::test]
    async fn dropping_the_pool_drops_what_waits() {
        let pool = RenderPool::start_threads(1, None).expect("threads start");
        let (release, running) = occupy(&pool);
        let queued = pool.try_run(Cancel::default(), long, async { 1 }).expect("may wait");
        drop(pool);
        assert_eq!(queued.await, None);
        drop(release);
        assert_eq!(running.await, Some(()));
    }
}
