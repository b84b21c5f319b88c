//! What running jobs needs on every system: who may run now, until when, on which terms, and how the engine hears the end.

use std::{
    future::poll_fn,
    pin::pin,
    task::Poll,
    time::{Duration, Instant},
};

use hinagata::{
    Error,
    ports::{Job, Stage},
};
use serde_json::Value;

use crate::{
    call::Terms,
    failure::Failure,
    host::Host,
    http::Http,
    interpreter::Interpreter,
    options::{Options, Printed},
    stack,
    timer::Timer,
    wait::{Place, Places},
};

/// Takes jobs and hands their results over.
pub(crate) struct Desk {
    pub(crate) options: Options,
    pub(crate) timer: Timer,
    http: Http,
    /// Providers have places of their own: a hook that waits for one must not keep it from running.
    hooks: Places,
    providers: Places,
}

impl Desk {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            timer: Timer::default(),
            http: Http::new(&options),
            hooks: Places::new(options.workers),
            providers: Places::new(options.workers),
            options,
        }
    }

    /// The interpreter. This starts it and waits for it.
    pub(crate) fn interpreter(&self) -> Result<Interpreter, Failure> {
        Interpreter::find(self.options.python.as_deref(), self.options.start)
    }

    /// A place among those that run at the same time. The wait for it ends with the render, and not before.
    pub(crate) async fn place<'d>(&'d self, job: &Job<'_>) -> Result<Place<'d>, Failure> {
        let places = match job.stage {
            Stage::Provide => &self.providers,
            _ => &self.hooks,
        };
        let taken = places.take(job.owner);
        match job.deadline {
            None => Ok(taken.await),
            Some(end) => self.until(end, taken).await.ok_or_else(|| Failure::NoWorker(job.waited.total())),
        }
    }

    /// What `future` gives, if it does so in time.
    pub(crate) async fn within<T>(&self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        self.until(Instant::now() + time, future).await
    }

    async fn until<T>(&self, end: Instant, future: impl Future<Output = T>) -> Option<T> {
        let mut deadline = self.timer.deadline(end);
        let mut future = pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => deadline.poll(cx).map(|()| None),
        })
        .await
    }

    /// The terms of a job whose worker serves nothing else. `filter` names the system calls that it may make.
    pub(crate) fn terms<'a>(&'a self, job: &'a Job<'a>, filter: &'static str) -> Terms<'a> {
        Terms {
            host: Host::new(job, &self.http),
            asks: self.options.asks,
            deadline: self.timer.deadline(Instant::now() + job.time),
            end: job.deadline.map(|end| self.timer.deadline(end)),
            waited: job.waited.total(),
            keep: false,
            knows_source: false,
            filter,
        }
    }

    /// The result as the engine hears it; what was printed goes to the listener. Both without anything secret.
    pub(crate) fn hand_over(
        &self,
        job: &Job<'_>,
        result: Result<Value, Failure>,
        printed: &str,
    ) -> Result<Value, Error> {
        let (printed, stack) = stack::split(printed, job.file);
        let printed = job.secrets.mask_text(&printed);
        if let (Some(listener), false) = (&self.options.listener, printed.is_empty()) {
            listener(&Printed { file: job.file, stage: job.stage.as_str(), text: &printed });
        }
        result.map_err(|failure| job.secrets.redacted(failure.into_error(job, &printed, &stack)))
    }
}
