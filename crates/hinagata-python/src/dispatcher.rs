//! The platform-independent part of running jobs: slots, deadlines, call terms, and the delivery of results.

use std::{
    future::poll_fn,
    pin::pin,
    task::Poll,
    time::{Duration, Instant},
};

use hinagata::{
    Error,
    ports::{HookJob, Stage},
};
use serde_json::Value;

use crate::{
    call::CallTerms,
    failure::Failure,
    host::HookHost,
    http::HookHttp,
    interpreter::Interpreter,
    options::{HookOptions, PrintedText},
    stack,
    timer::Timer,
    wait::{Slot, Slots},
};

/// Dispatches jobs and delivers their results.
pub(crate) struct Dispatcher {
    pub(crate) options: HookOptions,
    pub(crate) timer: Timer,
    http: HookHttp,
    /// Providers have slots of their own, so that a hook waiting for a provider cannot block it.
    hooks: Slots,
    providers: Slots,
}

impl Dispatcher {
    pub(crate) fn new(options: HookOptions) -> Self {
        Self {
            timer: Timer::default(),
            http: HookHttp::new(&options),
            hooks: Slots::new(options.workers),
            providers: Slots::new(options.workers),
            options,
        }
    }

    /// Finds the interpreter. This starts Python and waits for it.
    pub(crate) fn find_interpreter(&self) -> Result<Interpreter, Failure> {
        Interpreter::find_python(self.options.python.as_deref(), self.options.start_timeout)
    }

    /// Waits for a free slot, at most until the render's deadline.
    pub(crate) async fn take_slot<'d>(&'d self, job: &HookJob<'_>) -> Result<Slot<'d>, Failure> {
        let slots = match job.stage {
            Stage::Provide { .. } => &self.providers,
            _ => &self.hooks,
        };
        let taken = slots.take_slot(job.owner);
        match job.deadline {
            None => Ok(taken.await),
            Some(end) => {
                self.run_until(end, taken).await.ok_or_else(|| Failure::NoWorker(job.waited.total()))
            }
        }
    }

    /// Runs `future` for at most `time`. Returns `None` on timeout.
    pub(crate) async fn run_within<T>(&self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        self.run_until(Instant::now() + time, future).await
    }

    async fn run_until<T>(&self, end: Instant, future: impl Future<Output = T>) -> Option<T> {
        let mut deadline = self.timer.deadline_at(end);
        let mut future = pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => deadline.poll(cx).map(|()| None),
        })
        .await
    }

    /// The terms of a job whose worker serves no other call. `filter` names the seccomp filter.
    pub(crate) fn call_terms<'a>(&'a self, job: &'a HookJob<'a>, filter: &'static str) -> CallTerms<'a> {
        CallTerms {
            host: HookHost::new(job, &self.http),
            max_requests: self.options.max_requests,
            deadline: self.timer.deadline_at(Instant::now() + job.time),
            render_deadline: job.deadline.map(|end| self.timer.deadline_at(end)),
            waited: job.waited.total(),
            keep: false,
            knows_source: false,
            filter,
        }
    }

    /// Returns the result as an engine error or value and passes printed text to the listener, with secrets masked in
    /// both.
    pub(crate) fn deliver_result(
        &self,
        job: &HookJob<'_>,
        result: Result<Value, Failure>,
        printed: &str,
    ) -> Result<Value, Error> {
        let (printed, stack) = stack::split_printed(printed, job.file);
        let printed = job.secrets.mask_text(&printed);
        if let (Some(listener), false) = (&self.options.listener, printed.is_empty()) {
            listener(&PrintedText { file: job.file, stage: job.stage.as_str(), text: &printed });
        }
        result.map_err(|failure| job.secrets.redact_error(failure.into_error(job, &printed, &stack)))
    }
}
