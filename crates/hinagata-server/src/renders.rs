//! Renders of the daemon: where they run, and what they take room from while they wait.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use hinagata::{Code, Error, Reason, RenderJob, Rendered, Result};
use hinagata_value::CancelOnDrop;
use tracing::Instrument as _;

use crate::{
    bulkhead::{Full, RequestSlot},
    problem::Problem,
    render_pool::ExpectedTime,
    render_times::ThreadTimer,
    spans,
    state::App,
};

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum RenderFailure {
    Failed(Error),
    /// The daemon has no room for it now.
    Overload(Full),
}

impl From<Error> for RenderFailure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Full> for RenderFailure {
    fn from(full: Full) -> Self {
        Self::Overload(full)
    }
}

impl From<RenderFailure> for Problem {
    fn from(failure: RenderFailure) -> Self {
        match failure {
            RenderFailure::Failed(error) => error.into(),
            RenderFailure::Overload(full) => full.into(),
        }
    }
}

impl From<RenderFailure> for Error {
    fn from(failure: RenderFailure) -> Self {
        match failure {
            RenderFailure::Failed(error) => error,
            RenderFailure::Overload(full) => Self::new(Code::Deadline, full.what)
                .with_reason(Reason::Deadline)
                .with_hint(format!("retry later; the setting `{}` sets the limit", full.setting)),
        }
    }
}

impl App {
    /// Renders. Fast prompts run on the thread that serves the request, others on the render threads, so that other
    /// requests do not wait. Dropping the future stops the render with its hooks and tools.
    ///
    /// # Errors
    /// Those of the render; overload when no render thread or no room to wait is free.
    pub(crate) async fn render_job(
        self: &Arc<Self>,
        job: RenderJob,
        slot: Arc<RequestSlot>,
    ) -> Result<Rendered, RenderFailure> {
        let span = spans::render_span();
        if span.is_disabled() {
            return self.render_untraced(job, slot).await;
        }
        let rendered = if self.settings.trace_values {
            self.explain_job(job, slot).instrument(span.clone()).await
        } else {
            self.render_untraced(job, slot).instrument(span.clone()).await
        };
        if let Ok(rendered) = &rendered {
            spans::record_render(&span, rendered);
        }
        rendered
    }

    async fn render_untraced(
        self: &Arc<Self>,
        mut job: RenderJob,
        slot: Arc<RequestSlot>,
    ) -> Result<Rendered, RenderFailure> {
        job.deadline = Some(self.deadline());
        if !self.render_times.is_quick(&job.prompt) {
            return self.render_on_pool(job, slot).await;
        }
        // Dropping this future drops everything that the render waits for.
        let (rendered, time) = follow_render(pin!(job.render()), &slot).await;
        self.render_times.record_inline(&job.prompt, time);
        rendered
    }

    async fn render_on_pool(
        self: &Arc<Self>,
        mut job: RenderJob,
        slot: Arc<RequestSlot>,
    ) -> Result<Rendered, RenderFailure> {
        let cancel = job.cancel.get_or_insert_default().clone();
        let (app, prompt) = (Arc::clone(self), job.prompt.clone());
        let expected_time = move || app.render_times.expected_time(&prompt);
        let app = Arc::clone(self);
        let work = async move {
            let (rendered, time) = follow_render(pin!(job.render()), &slot).await;
            app.render_times.record_on_pool(&job.prompt, time, rendered.is_ok());
            rendered
        };
        let running = self.render_pool.try_run(cancel.clone(), expected_time, work.in_current_span())?;
        wait_for_render(running, CancelOnDrop::new(cancel)).await
    }

    /// Renders with a trace of where every part came from.
    ///
    /// # Errors
    /// As [`App::render_job`].
    pub(crate) async fn explain_job(
        self: &Arc<Self>,
        mut job: RenderJob,
        slot: Arc<RequestSlot>,
    ) -> Result<Rendered, RenderFailure> {
        job.deadline = Some(self.deadline());
        let cancel = job.cancel.get_or_insert_default().clone();
        let work = async move { follow_render(pin!(job.explain()), &slot).await.0 };
        let running =
            self.render_pool.try_run(cancel.clone(), || ExpectedTime::Long, work.in_current_span())?;
        wait_for_render(running, CancelOnDrop::new(cancel)).await
    }

    /// The deadline of a render that starts now.
    fn deadline(&self) -> Instant {
        Instant::now() + self.settings.request_timeout
    }
}

/// Waits for a render on the pool, and cancels it when this future is dropped.
async fn wait_for_render(
    running: impl Future<Output = Option<Result<Rendered, RenderFailure>>>,
    cancel_on_drop: CancelOnDrop,
) -> Result<Rendered, RenderFailure> {
    let rendered = running.await;
    drop(cancel_on_drop);
    rendered.unwrap_or_else(|| Err(Error::new(Code::RenderRuntime, "the render failed unexpectedly").into()))
}

/// The result of a render, and how long it kept its thread busy. When it waits for the first time, its request leaves the
/// room of those that work. The caller pins the render: a future that is passed by value is stored twice.
async fn follow_render(
    mut render: Pin<&mut impl Future<Output = Result<Rendered>>>,
    slot: &RequestSlot,
) -> (Result<Rendered, RenderFailure>, Duration) {
    let (mut time, mut is_waiting) = (Duration::ZERO, false);
    let rendered = poll_fn(|context| {
        let timer = ThreadTimer::start();
        let polled = render.as_mut().poll(context);
        time += timer.elapsed();
        if polled.is_pending() && !is_waiting {
            is_waiting = true;
            if let Err(full) = slot.begin_wait() {
                return Poll::Ready(Err(full.into()));
            }
        }
        polled.map(|rendered| rendered.map_err(RenderFailure::from))
    })
    .await;
    (rendered, time)
}
