//! Threads that calls run on, started with the first call.

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

/// Threads of the runtime: they wait for others nearly all of the time.
const THREADS: usize = 2;

/// A runtime that is started when it is first needed, or that of somebody else: for whoever calls others and hands out plain
/// futures.
#[derive(Debug)]
pub struct LazyRuntime {
    handle: OnceLock<Handle>,
    /// Ours, to be stopped.
    own: Mutex<Option<Runtime>>,
    name: &'static str,
}

impl LazyRuntime {
    /// One whose threads are called `name`.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { handle: OnceLock::new(), own: Mutex::default(), name }
    }

    /// That of somebody else.
    #[must_use]
    pub fn from_handle(handle: Handle) -> Self {
        Self { handle: OnceLock::from(handle), own: Mutex::default(), name: "" }
    }

    fn handle(&self) -> io::Result<&Handle> {
        if let Some(handle) = self.handle.get() {
            return Ok(handle);
        }
        // Held while threads are started, which waits for nobody.
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if self.handle.get().is_none() {
            let mut builder = Builder::new_multi_thread();
            let runtime = builder.worker_threads(THREADS).thread_name(self.name).enable_all().build()?;
            let _ = self.handle.set(runtime.handle().clone());
            *own = Some(runtime);
        }
        Ok(self.handle.get().expect("was set above"))
    }

    /// Runs a future there; dropping what this gives stops it.
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
        // Not by waiting: this may happen on a thread of another runtime.
        if let Some(runtime) = self.own.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}

/// Something that runs; it stops when this is dropped.
#[derive(Debug)]
pub struct RunningTask<T>(Result<JoinHandle<T>, TaskError>);

/// Why something that ran has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskError {
    /// No thread could be started for it.
    NotStarted(String),
    /// It was broken off.
    Cancelled,
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(why) => write!(f, "no thread can be started for it: {why}"),
            Self::Cancelled => f.write_str("the call was broken off"),
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
