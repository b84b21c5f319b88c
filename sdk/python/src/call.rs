//! Runs renders: at once where they are quick, else beside the caller, who waits and can stop them.

use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    task::{Context as TaskContext, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use hinagata::{
    Code, Context, Error, Rendered as EngineRendered, Request, Result, definition::UndefinedMode,
};
use hinagata_value::{BoundedCache, Cancel};
use pyo3::{intern, prelude::*};

use crate::{
    errors::to_exception,
    opened::{Opened, generation},
    rendered::Rendered,
    variables::CallVariables,
};

/// The longest render after which a prompt runs on the thread of the caller.
const INLINE_MAX: Duration = Duration::from_millis(1);

/// A render on the thread of the caller that takes longer than this holds up others there.
const TOO_LONG: Duration = Duration::from_millis(20);

/// How often a waiting main thread looks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// How long the caller waits for a render to end that was stopped.
const STOP_TIME: Duration = Duration::from_secs(10);

/// Prompts that are remembered.
const CAPACITY: usize = 4096;

/// A render that owns its parts.
pub(crate) struct Call {
    pub(crate) opened: Arc<Opened>,
    pub(crate) prompt: String,
    pub(crate) variables: CallVariables,
    pub(crate) context: Context,
    pub(crate) undefined: Option<UndefinedMode>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: Option<Cancel>,
    /// Whether a trace is wanted, and a source map in it.
    pub(crate) explained: Option<bool>,
}

impl Call {
    fn request(&self) -> Request<'_> {
        let mut request =
            Request::new(&self.prompt).with_variable_map(self.variables.map()).with_context(&self.context);
        if let Some(undefined) = self.undefined {
            request = request.with_undefined(undefined);
        }
        if let Some(deadline) = self.deadline {
            request = request.with_deadline(deadline);
        }
        if let Some(cancel) = &self.cancel {
            request = request.with_cancel(cancel.clone());
        }
        if self.explained == Some(false) { request.without_map() } else { request }
    }

    fn run_blocking(&self) -> Result<EngineRendered> {
        match self.explained {
            None => self.opened.engine.render_blocking(&self.request()),
            Some(_) => self.opened.engine.explain_blocking(&self.request()),
        }
    }

    async fn run(&self) -> Result<EngineRendered> {
        match self.explained {
            None => self.opened.engine.render(&self.request()).await,
            Some(_) => self.opened.engine.explain(&self.request()).await,
        }
    }
}

/// Which prompts are quick enough to run on the thread of the caller, by the names that callers use. A template does not
/// show its cost, so a prompt is tried beside the caller first.
pub(crate) struct Pace(BoundedCache<Box<str>, bool>);

impl Default for Pace {
    fn default() -> Self {
        Self(BoundedCache::new(CAPACITY))
    }
}

impl Pace {
    fn is_quick(&self, prompt: &str) -> bool {
        self.0.get(prompt) == Some(true)
    }

    fn record_inline(&self, prompt: &str, time: Duration) {
        if time > TOO_LONG {
            self.0.insert(prompt.into(), false);
        }
    }

    fn record_beside(&self, prompt: &str, time: Duration, is_ok: bool) {
        if is_ok && time <= INLINE_MAX {
            self.0.insert(prompt.into(), true);
        }
    }
}

/// Renders, and waits for the result without the lock of the interpreter.
pub(crate) fn run_sync(py: Python<'_>, call: Call) -> PyResult<Rendered> {
    let begin = Instant::now();
    let is_quick = call.opened.pace.is_quick(&call.prompt);
    if is_quick || !is_main_thread(py)? {
        let result = py.detach(|| call.run_blocking());
        let time = begin.elapsed();
        match is_quick {
            true => call.opened.pace.record_inline(&call.prompt, time),
            false => call.opened.pace.record_beside(&call.prompt, time, result.is_ok()),
        }
        return finish(py, result);
    }
    let result = run_interruptible(py, call, begin)?;
    finish(py, result)
}

fn finish(py: Python<'_>, result: Result<EngineRendered>) -> PyResult<Rendered> {
    result.map(Rendered::new).map_err(|error| to_exception(py, &error))
}

/// Whether signals are handled on this thread.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import(intern!(py, "threading"))?;
    let current = threading.call_method0(intern!(py, "current_thread"))?;
    Ok(current.is(&threading.call_method0(intern!(py, "main_thread"))?))
}

/// Renders on another thread, so that this one sees Ctrl-C; it stops the render, its hooks and its calls of tools.
fn run_interruptible(py: Python<'_>, mut call: Call, begin: Instant) -> PyResult<Result<EngineRendered>> {
    let cancel = Cancel::default();
    call.cancel = Some(cancel.clone());
    let work = move || {
        let result = call.run_blocking();
        call.opened.pace.record_beside(&call.prompt, begin.elapsed(), result.is_ok());
        result
    };
    run_beside(py, Some(&cancel), work)
}

/// Runs `work` on another thread, so that this one sees Ctrl-C. It stops the work by `cancel`, or leaves it behind.
pub(crate) fn run_beside<T: Send + 'static>(
    py: Python<'_>,
    cancel: Option<&Cancel>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<Result<T>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let send = move || {
        // A caller who was stopped does not wait any more.
        let _ = sender.send(work());
    };
    let started = thread::Builder::new().name("render".into()).spawn(send);
    let worker = match started {
        Ok(worker) => worker,
        Err(error) => {
            let error = Error::new(Code::System, format!("cannot start a thread: {error}"));
            return Ok(Err(error));
        }
    };
    let receiver = Mutex::new(receiver);
    let receive = |time| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time);
    loop {
        let received = py.detach(|| receive(SIGNAL_INTERVAL));
        match received {
            Ok(result) => {
                let _ = py.detach(|| worker.join());
                return Ok(result);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(Err(panicked())),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = py.check_signals() {
                    if let Some(cancel) = cancel {
                        cancel.cancel();
                        py.detach(|| receive(STOP_TIME)).ok();
                    }
                    return Err(interrupt);
                }
            }
        }
    }
}

fn panicked() -> Error {
    Error::new(Code::System, "the render failed unexpectedly").with_hint("report this as a bug")
}

/// Starts a render for a caller that awaits it: the result if it is there at once, else what the caller waits for.
pub(crate) fn run_async<'py>(py: Python<'py>, mut call: Call) -> PyResult<Bound<'py, PyAny>> {
    let cancel = Cancel::default();
    call.cancel = Some(cancel.clone());
    let begin = Instant::now();
    let opened = Arc::clone(&call.opened);
    let is_quick = opened.pace.is_quick(&call.prompt);
    let prompt = call.prompt.clone();
    let mut work: Work = Box::pin(async move { call.run().await });
    if is_quick {
        let polled = py.detach(|| work.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())));
        if let Poll::Ready(result) = polled {
            opened.pace.record_inline(&prompt, begin.elapsed());
            return Ok(Bound::new(py, finish(py, result)?)?.into_any());
        }
    }
    let shared: Arc<Shared> = Arc::default();
    let outcome = Arc::clone(&shared);
    let runtime = py.detach(runtime).map_err(|error| to_exception(py, &error))?;
    RUNNING.fetch_add(1, Ordering::Relaxed);
    let running = Running;
    runtime.spawn(async move {
        let result = work.await;
        opened.pace.record_beside(&prompt, begin.elapsed(), result.is_ok());
        drop((running, opened));
        outcome.settle(result);
    });
    Ok(Bound::new(py, Pending { shared, cancel })?.into_any())
}

type Work = Pin<Box<dyn Future<Output = Result<EngineRendered>> + Send>>;

/// A render in progress that somebody awaits.
#[pyclass(frozen, module = "hinagata._core")]
pub(crate) struct Pending {
    shared: Arc<Shared>,
    cancel: Cancel,
}

#[derive(Default)]
struct Shared(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Running,
    /// Somebody waits, and is called with nothing.
    Awaited(Py<PyAny>),
    Done(Box<Result<EngineRendered>>),
    Taken,
}

impl Shared {
    fn settle(&self, result: Result<EngineRendered>) {
        let before = mem::replace(&mut *self.lock(), State::Done(Box::new(result)));
        if let State::Awaited(callback) = before {
            // At the end of the interpreter nobody waits any more.
            let _ = Python::try_attach(|py| {
                // The loop may be closed: then nobody waits either.
                drop(callback.call0(py));
            });
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Pending {
    /// Calls `callback` from another thread when the result is there; at once if it is.
    fn on_done(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        {
            let mut state = self.shared.lock();
            if matches!(*state, State::Running) {
                *state = State::Awaited(callback);
                return Ok(());
            }
        }
        callback.call0(py)?;
        Ok(())
    }

    /// Stops the render, its hooks and its calls of tools.
    fn cancel(&self, py: Python<'_>) {
        let callback = {
            let mut state = self.shared.lock();
            match &*state {
                State::Awaited(_) => Some(mem::replace(&mut *state, State::Running)),
                _ => None,
            }
        };
        drop(callback);
        py.detach(|| self.cancel.cancel());
    }

    /// The result, once.
    fn result(&self, py: Python<'_>) -> PyResult<Rendered> {
        let state = {
            let mut state = self.shared.lock();
            match &*state {
                State::Done(_) => mem::replace(&mut *state, State::Taken),
                _ => return Err(to_exception(py, &panicked())),
            }
        };
        match state {
            State::Done(result) => finish(py, *result),
            _ => Err(to_exception(py, &panicked())),
        }
    }
}

/// Renders that are awaited.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The threads for renders that are awaited, of one process.
struct Threads {
    generation: u64,
    runtime: OnceLock<Option<tokio::runtime::Runtime>>,
}

impl Threads {
    fn new() -> Arc<Self> {
        Arc::new(Self { generation: generation(), runtime: OnceLock::new() })
    }
}

static THREADS: OnceLock<ArcSwap<Threads>> = OnceLock::new();

fn threads() -> &'static ArcSwap<Threads> {
    THREADS.get_or_init(|| ArcSwap::new(Threads::new()))
}

fn runtime() -> Result<tokio::runtime::Handle> {
    let mut current = threads().load_full();
    if current.generation != generation() {
        let fresh = Threads::new();
        let found = threads().compare_and_swap(&current, Arc::clone(&fresh));
        let is_ours = Arc::ptr_eq(&found, &current);
        // Its threads are those of the parent.
        mem::forget(mem::replace(&mut current, if is_ours { fresh } else { Arc::clone(&found) }));
    }
    let count = thread::available_parallelism().map_or(2, usize::from).clamp(2, 16);
    let build = || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(count).thread_name("hinagata").build().ok()
    };
    match current.runtime.get_or_init(build) {
        Some(runtime) => Ok(runtime.handle().clone()),
        None => Err(Error::new(Code::System, "cannot start threads")),
    }
}

/// Ends the threads if no render is awaited.
pub(crate) fn close_idle_threads() {
    let Some(threads) = THREADS.get() else { return };
    let current = threads.load_full();
    let is_idle = RUNNING.load(Ordering::Relaxed) == 0 && current.generation == generation();
    if !is_idle || current.runtime.get().is_none() {
        return;
    }
    drop(current);
    let old = threads.swap(Threads::new());
    if let Ok(old) = Arc::try_unwrap(old)
        && let Some(Some(runtime)) = old.runtime.into_inner()
    {
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

/// The renders that the parent awaits are not those of this process.
pub(crate) fn after_fork_in_child() {
    RUNNING.store(0, Ordering::Relaxed);
}
