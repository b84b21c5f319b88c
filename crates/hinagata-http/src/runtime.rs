//! A tokio runtime that starts with the first call.

use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    sync::{Mutex, OnceLock, PoisonError},
    task::{Context, Poll},
};

use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::JoinHandle,
};

/// Number of threads of the runtime. They mostly wait for I/O.
const THREADS: usize = 2;

/// A runtime that starts when it is first needed, or a foreign one. It serves callers that return plain futures.
#[derive(Debug)]
pub struct LazyRuntime {
    handle: OnceLock<Handle>,
    /// Our own runtime, to be shut down.
    own: Mutex<Option<Runtime>>,
    name: &'static str,
}

impl LazyRuntime {
    /// Creates a runtime whose threads are called `name`.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { handle: OnceLock::new(), own: Mutex::default(), name }
    }

    /// Uses a foreign runtime.
    #[must_use]
    pub fn from_handle(handle: Handle) -> Self {
        Self { handle: OnceLock::from(handle), own: Mutex::default(), name: "" }
    }

    fn handle(&self) -> io::Result<&Handle> {
        if let Some(handle) = self.handle.get() {
            return Ok(handle);
        }
        // Held while the threads start, which does not block.
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if self.handle.get().is_none() {
            let mut builder = Builder::new_multi_thread();
            let runtime = builder.worker_threads(THREADS).thread_name(self.name).enable_all().build()?;
            let _ = self.handle.set(runtime.handle().clone());
            *own = Some(runtime);
        }
        Ok(self.handle.get().expect("was set above"))
    }

    /// Runs a future on the runtime. Dropping the task cancels it.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> RunningTask<T> {
        RunningTask(match self.handle() {
            Ok(handle) => Ok(handle.spawn(future)),
            Err(error) => Err(TaskError::NotStarted(error.to_string())),
        })
    }
}

impl Drop for LazyRuntime {
    fn drop(&mut self) {
        // Without waiting: this may be a thread of another runtime.
        if let Some(runtime) = self.own.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}

/// A running task. Dropping it cancels the task.
#[derive(Debug)]
pub struct RunningTask<T>(Result<JoinHandle<T>, TaskError>);

/// Why a task has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskError {
    /// The threads could not be started.
    NotStarted(String),
    /// The task was cancelled.
    Cancelled,
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(why) => write!(f, "cannot start a thread: {why}"),
            Self::Cancelled => f.write_str("the call was cancelled"),
        }
    }
}

impl std::error::Error for TaskError {}

impl<T> Future for RunningTask<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Ok(task) => Pin::new(task).poll(context).map_err(|_| TaskError::Cancelled),
            Err(stopped) => Poll::Ready(Err(stopped.clone())),
        }
    }
}

impl<T> Drop for RunningTask<T> {
    fn drop(&mut self) {
        if let Ok(task) = &self.0 {
            task.abort();
        }
    }
}
