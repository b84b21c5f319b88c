//! Runs the Python of prompts and packs, confined by the kernel.
//!
//! A [`HookPool`] is the port [`Hooks`] of an engine. Nothing is started before the first job. From then on, a warm
//! interpreter is forked for each call; the fork may read what its prompt declared and nothing else, write nothing,
//! connect to nothing, and ends with its call.
//!
//! The program that becomes Python is the one that uses this library, started anew: its `main` has to call
//! [`launch_if_requested`] first.

mod call;
mod dispatcher;
mod failure;
mod frame;
mod host;
#[cfg(feature = "http")]
mod http;
#[cfg(not(feature = "http"))]
#[path = "no_http.rs"]
mod http;
mod interpreter;
#[cfg(target_os = "linux")]
mod linux;
mod message;
mod options;
mod sandbox;
#[cfg(any(test, not(target_os = "linux")))]
mod spawned;
mod stack;
mod timer;
mod wait;

use std::sync::Arc;

use hinagata::{
    Result,
    ports::{HookJob, Hooks, PortFuture},
};
use serde_json::Value;

#[cfg(target_os = "linux")]
use linux::Pool;
#[cfg(not(target_os = "linux"))]
use spawned::Pool;

pub use frame::{FrameError, FrameReader, MAX_FRAME_BYTES, encode_frame};
pub use interpreter::{Interpreter, OLDEST_PYTHON, PYTHON_VARIABLE};
pub use message::PROTOCOL_VERSION;
pub use options::{HookOptions, Isolation, Launcher, PrintListener, PrintedText, SandboxMode};
pub use sandbox::{SandboxMechanisms, SandboxReport, SandboxTier};

/// The first argument of a program that is to become Python.
pub const LAUNCHER_ARGUMENT: &str = "__hook-launcher";

/// Becomes Python if the program was started for that; returns otherwise.
///
/// It has to be called before threads are started and files are opened.
pub fn launch_if_requested() {
    if std::env::args_os().nth(1).is_none_or(|argument| argument != LAUNCHER_ARGUMENT) {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        use std::process;
        let code = linux::launcher::run_launcher();
        process::exit(i32::from(code != process::ExitCode::SUCCESS));
    }
}

/// Runs Python for an engine. Cheap to clone; its processes end with the last clone.
#[derive(Clone)]
pub struct HookPool(Arc<Pool>);

impl HookPool {
    /// A pool that starts nothing before it is needed.
    #[must_use]
    pub fn new(options: HookOptions) -> Self {
        Self(Arc::new(Pool::new(options)))
    }

    /// What confines Python on this machine, by trying. This starts a process and waits for it.
    ///
    /// # Errors
    /// When the launcher cannot be started.
    pub fn sandbox_report(&self) -> Result<SandboxReport> {
        self.0.sandbox_report().map_err(failure::Failure::into_plain_error)
    }

    /// The Python that hooks run on. This starts it and waits for it.
    ///
    /// # Errors
    /// Code `hook`, reason `unavailable`, `python` or `python_version`.
    pub fn find_interpreter(&self) -> Result<Interpreter> {
        self.0.dispatcher.find_interpreter().map_err(failure::Failure::into_plain_error)
    }
}

impl Hooks for HookPool {
    fn run<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
        Box::pin(self.0.run_job(job))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::pin,
        sync::Arc,
        task::{Context, Poll, Wake, Waker},
        thread::{self, Thread},
    };

    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    /// The result of a future, waited for on this thread.
    pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(value) => return value,
                Poll::Pending => thread::park(),
            }
        }
    }
}
