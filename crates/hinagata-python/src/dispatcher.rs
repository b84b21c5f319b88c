//! What running jobs needs on every system: who may run now, until when, on which terms, and how the engine hears the end.

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

/// Takes jobs and hands their results over.
pub(crate) struct Dispatcher {
    pub(crate) options: HookOptions,
    pub(crate) timer: Timer,
    http: HookHttp,
    /// Providers have slots of their own: a hook that waits for one must not keep it from running.
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

    /// The interpreter. This starts it and waits for it.
    pub(crate) fn find_interpreter(&self) -> Result<Interpreter, Failure> {
        Interpreter::find_python(self.options.python.as_deref(), self.options.start_timeout)
    }

    /// A place among those that run at the same time. The wait for it ends with the render, and not before.
    pub(crate) async fn take_slot<'d>(&'d self, job: &HookJob<'_>) -> Result<Slot<'d>, Failure> {
        let slots = match job.stage {
            Stage::Provide => &self.providers,
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

    /// What `future` gives, if it does so in time.
    pub(crate) async fn run_within<T>(&self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        self.run_until(Instant::now() + time, future).await
    }

    async fn run_until<T>(&self, end: Instant, future: impl Future<Output = T>) -> Option<T> {
        let mut deadline = self.timer.deadline(end);
        let mut future = pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => deadline.poll(cx).map(|()| None),
        })
        .await
    }

    /// The terms of a job whose worker serves nothing else. `filter` names the system calls that it may make.
    pub(crate) fn call_terms<'a>(&'a self, job: &'a HookJob<'a>, filter: &'static str) -> CallTerms<'a> {
        CallTerms {
            host: HookHost::new(job, &self.http),
            max_requests: self.options.max_requests,
            deadline: self.timer.deadline(Instant::now() + job.time),
            render_deadline: job.deadline.map(|end| self.timer.deadline(end)),
            waited: job.waited.total(),
            keep: false,
            knows_source: false,
            filter,
        }
    }

    /// The result as the engine hears it; what was printed goes to the listener. Both without anything secret.
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
