//! Runs the Python of prompts and packs in a kernel sandbox.
//!
//! A [`HookPool`] implements the port [`Hooks`] of an engine. It starts nothing before the first job. Then it forks a
//! warm interpreter for each call. The fork can read only what its prompt declared, cannot write files or open
//! connections, and ends with its call.
//!
//! The pool starts its own executable again to launch Python: the `main` of a program that uses this crate must call
//! [`launch_if_requested`] first. A library names another [`Launcher`], a program that calls [`run_launcher`].

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

/// The first argument of a process that is to become Python.
pub const LAUNCHER_ARGUMENT: &str = "__hook-launcher";

/// Becomes Python if this process was started for that, and returns otherwise.
///
/// Call it before starting threads or opening files.
pub fn launch_if_requested() {
    if std::env::args_os().nth(1).is_none_or(|argument| argument != LAUNCHER_ARGUMENT) {
        return;
    }
    run_launcher();
}

/// Becomes Python in a process that was started for that with other arguments, such as an interpreter that has loaded
/// this crate as a library. On systems without launchers it returns.
///
/// The process must have one thread, and nothing may own a descriptor beyond the first three.
pub fn run_launcher() {
    #[cfg(target_os = "linux")]
    {
        use std::process;
        let code = linux::launcher::run_launcher();
        process::exit(i32::from(code != process::ExitCode::SUCCESS));
    }
}

/// Runs Python for an engine. Cheap to clone. Its processes end with the last clone.
#[derive(Clone)]
pub struct HookPool(Arc<Pool>);

impl HookPool {
    /// Creates a pool. It starts no process before the first job.
    #[must_use]
    pub fn new(options: HookOptions) -> Self {
        Self(Arc::new(Pool::new(options)))
    }

    /// Reports what confines Python on this machine. This starts a process and waits for it.
    ///
    /// # Errors
    /// The launcher cannot be started.
    pub fn sandbox_report(&self) -> Result<SandboxReport> {
        self.0.sandbox_report().map_err(failure::Failure::into_plain_error)
    }

    /// Finds the Python that hooks run on. This starts Python and waits for it.
    ///
    /// # Errors
    /// Code `hook`, reason `unavailable`, `python` or `python_version`.
    pub fn find_interpreter(&self) -> Result<Interpreter> {
        self.0.dispatcher.find_interpreter().map_err(failure::Failure::into_plain_error)
    }
}

impl Hooks for HookPool {
    fn run_hook<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
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

    /// Blocks this thread until the future is ready.
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
