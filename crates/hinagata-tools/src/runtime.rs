//! The threads that calls run on, started with the first call.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{Mutex, OnceLock, PoisonError},
    task::{Context, Poll},
};

use hinagata::{Error, Result};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::{AbortHandle, JoinHandle},
};

use crate::failure::failed;

/// Threads of the runtime: they wait for others nearly all of the time.
const THREADS: usize = 2;

/// A runtime that is started when it is first needed, or that of somebody else.
#[derive(Debug, Default)]
pub(crate) struct LazyRuntime {
    handle: OnceLock<Handle>,
    /// Ours, to be stopped.
    own: Mutex<Option<Runtime>>,
}

impl LazyRuntime {
    pub(crate) fn of(handle: Handle) -> Self {
        Self { handle: OnceLock::from(handle), own: Mutex::default() }
    }

    fn handle(&self) -> io::Result<&Handle> {
        if let Some(handle) = self.handle.get() {
            return Ok(handle);
        }
        // Held while threads are started, which waits for nobody.
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if self.handle.get().is_none() {
            let mut builder = Builder::new_multi_thread();
            let runtime =
                builder.worker_threads(THREADS).thread_name("hinagata-tools").enable_all().build()?;
            let _ = self.handle.set(runtime.handle().clone());
            *own = Some(runtime);
        }
        Ok(self.handle.get().expect("was set above"))
    }

    /// Runs a future there; dropping what this gives stops it.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Running<T> {
        match self.handle() {
            Ok(handle) => {
                let task = handle.spawn(future);
                Running(Some((task.abort_handle(), task)), None)
            }
            Err(error) => {
                Running(None, Some(failed("runtime", format!("no thread can be started for it: {error}"))))
            }
        }
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
pub(crate) struct Running<T>(Option<(AbortHandle, JoinHandle<Result<T>>)>, Option<Error>);

impl<T> Future for Running<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(error) = self.1.take() {
            return Poll::Ready(Err(error));
        }
        let Some((_, task)) = &mut self.0 else {
            return Poll::Ready(Err(failed("runtime", "the call has ended already")));
        };
        Pin::new(task)
            .poll(context)
            .map(|ended| ended.unwrap_or_else(|_| Err(failed("runtime", "the call was broken off"))))
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        if let Some((abort, _)) = &self.0 {
            abort.abort();
        }
    }
}
