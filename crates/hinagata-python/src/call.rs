//! Runs one call: sends the job, answers the worker's requests, and returns a result or a failure.

use std::{
    future::poll_fn,
    io,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use hinagata::ports::{HookJob, PortFuture, Stage};
use serde_json::Value;

use crate::{
    failure::{Failure, ProcessExit},
    frame::{FrameError, FrameReader, encode_frame},
    host::HookHost,
    message::{FixedMessage, HostAnswer, HostAnswerContent, JobMessage, PROTOCOL_VERSION, WorkerMessage},
    timer::Deadline,
};

/// Maximum bytes queued for sending. No further request is answered until the worker reads.
const MAX_QUEUED: usize = 16 << 20;
/// How long to wait for the exit status of a process that closed its stream.
const EXIT_TIME: Duration = Duration::from_secs(1);
/// How long a worker whose time is up may take to report its stack.
const STACK_TIME: Duration = Duration::from_millis(300);
/// The minimum by which a deadline moves, so that a long wait does not poll in a busy loop.
const MIN_EXTENSION: Duration = Duration::from_millis(20);

/// The connection to a worker.
pub(crate) trait WorkerLink: Send {
    /// Queues a frame for sending.
    fn queue_frame(&mut self, frame: Vec<u8>);

    /// The number of bytes queued for sending.
    fn queued_bytes(&self) -> usize;

    /// Sends queued frames. A worker that no longer reads is not an error here: its exit status says more.
    fn poll_flush(&mut self, cx: &Context<'_>) -> Poll<()>;

    /// Reads what has arrived. Returns 0 at the end of the stream.
    fn poll_fill(&mut self, cx: &Context<'_>, frames: &mut FrameReader) -> Poll<io::Result<usize>>;

    /// Returns how the process ended.
    fn poll_exit(&mut self, cx: &Context<'_>) -> Poll<ProcessExit>;

    /// Requests that the worker print its stack. Returns whether the request could be sent.
    fn request_stack(&mut self) -> bool;

    /// Ready once the worker has printed its stack. Wakes the task when it does.
    fn poll_stack(&mut self, cx: &Context<'_>) -> Poll<()>;
}

/// The conditions of one call.
pub(crate) struct CallTerms<'a> {
    pub(crate) host: HookHost<'a>,
    pub(crate) max_requests: u64,
    pub(crate) deadline: Deadline,
    /// When the render ends.
    pub(crate) render_deadline: Option<Deadline>,
    /// How long the job had waited when it started to run. Later waits do not count against its time either.
    pub(crate) waited: Duration,
    /// Whether the worker may serve another call.
    pub(crate) keep: bool,
    /// Whether the worker already has the source.
    pub(crate) knows_source: bool,
    pub(crate) filter: &'static str,
}

/// How a call ended.
pub(crate) struct CallOutcome {
    pub(crate) result: Result<Value, Failure>,
    /// Whether the worker can serve another call.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "workers are never reused on this platform")
    )]
    pub(crate) ready: bool,
}

impl CallOutcome {
    fn failed(failure: Failure) -> Self {
        Self { result: Err(failure), ready: false }
    }
}

/// Runs the call over `link`.
pub(crate) async fn run_call<'a>(
    link: &mut impl WorkerLink,
    job: &'a HookJob<'a>,
    terms: CallTerms<'a>,
) -> CallOutcome {
    match job_frame(job, &terms) {
        Ok(frame) => link.queue_frame(frame),
        Err(failure) => return CallOutcome::failed(failure),
    }
    let mut conversation = Conversation {
        link,
        job,
        terms,
        started: Instant::now(),
        frames: FrameReader::default(),
        answers: Vec::new(),
        requests: 0,
        ended: false,
        expired: None,
    };
    poll_fn(|cx| conversation.poll(cx)).await
}

fn job_frame(job: &HookJob<'_>, terms: &CallTerms<'_>) -> Result<Vec<u8>, Failure> {
    let (variables, text) = match job.stage {
        Stage::PreRender { variables } => (Some(variables), None),
        Stage::PostRender { text, variables } => (Some(variables), Some(text)),
        Stage::Provide { .. } | Stage::Load => (None, None),
    };
    let path = job.path.to_string_lossy();
    let message = JobMessage {
        version: PROTOCOL_VERSION,
        stage: job.stage.as_str(),
        file: job.file,
        path: &path,
        source: (!terms.knows_source).then_some(job.source),
        context: &job.context,
        functions: &terms.host.functions(),
        variables,
        text,
        fixed: job.fixed.as_ref().map(FixedMessage::from_surroundings),
        keep: terms.keep,
        seconds: job.time.as_secs_f64(),
        filter: terms.filter,
    };
    encode_frame(&message).map_err(|error| Failure::Limit {
        what: "frame",
        message: match error {
            FrameError::TooLarge(size) => {
                format!("would receive {size} bytes, which exceeds the message limit")
            }
            FrameError::NotJson => "would receive a value that JSON cannot represent".to_owned(),
        },
    })
}

struct Conversation<'l, 'a, L> {
    link: &'l mut L,
    job: &'a HookJob<'a>,
    started: Instant,
    terms: CallTerms<'a>,
    frames: FrameReader,
    answers: Vec<PortFuture<'a, HostAnswer>>,
    requests: u64,
    /// Whether the stream has ended.
    ended: bool,
    /// Set once the call has timed out, while the worker reports its stack.
    expired: Option<ExpiredCall>,
}

/// A call whose time is up.
struct ExpiredCall {
    after: Duration,
    /// Whether the render's deadline expired, not the call's own.
    render: bool,
    /// When to stop waiting for the stack.
    stack_deadline: Deadline,
}

impl<L: WorkerLink> Conversation<'_, '_, L> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<CallOutcome> {
        if self.expired.is_some() {
            return self.poll_final_stack(cx);
        }
        loop {
            let answered = self.queue_answers(cx);
            // A worker that does not read is bounded by the deadline.
            let _ = self.link.poll_flush(cx);
            match self.read_messages(cx) {
                Poll::Ready(Some(outcome)) => return Poll::Ready(outcome),
                Poll::Ready(None) => {}
                Poll::Pending if answered => {}
                Poll::Pending => break,
            }
        }
        if let Poll::Ready(exit) = self.link.poll_exit(cx) {
            return Poll::Ready(self.drain_after_exit(cx, exit));
        }
        let Poll::Ready(render) = self.poll_end(cx) else { return Poll::Pending };
        if self.ended {
            return Poll::Ready(CallOutcome::failed(Failure::InvalidMessage(
                "the stream was closed".to_owned(),
            )));
        }
        let mut stack_deadline = self.terms.deadline.starting_now(STACK_TIME);
        if !self.link.request_stack() {
            stack_deadline.bring_forward(Instant::now());
        }
        self.expired = Some(ExpiredCall { after: self.time_taken(), render, stack_deadline });
        self.poll_final_stack(cx)
    }

    /// How long the call has run so far.
    fn time_taken(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.job.waited.total().saturating_sub(self.terms.waited))
    }

    /// Ready when the time is up, with whether it was the render's deadline.
    fn poll_end(&mut self, cx: &Context<'_>) -> Poll<bool> {
        if let Some(Poll::Ready(())) = self.terms.render_deadline.as_mut().map(|end| end.poll(cx)) {
            return Poll::Ready(true);
        }
        while self.terms.deadline.poll(cx).is_ready() {
            let waited = self.job.waited.total();
            let more = waited.saturating_sub(self.terms.waited);
            if self.ended || more.is_zero() {
                return Poll::Ready(false);
            }
            // The hook waited for a provider that was itself waiting for a slot.
            self.terms.deadline.push_back(more.max(MIN_EXTENSION));
            self.started += more;
            self.terms.waited = waited;
        }
        Poll::Pending
    }

    fn poll_final_stack(&mut self, cx: &Context<'_>) -> Poll<CallOutcome> {
        let has_stack = self.link.poll_stack(cx).is_ready();
        let Some(expired) = &mut self.expired else { return Poll::Pending };
        if !has_stack && expired.stack_deadline.poll(cx).is_pending() {
            return Poll::Pending;
        }
        let (after, waited) = (expired.after, self.job.waited.total());
        Poll::Ready(CallOutcome::failed(Failure::Timeout { after, waited, render: expired.render }))
    }

    /// Messages sent just before the exit may have arrived after the last read.
    fn drain_after_exit(&mut self, cx: &Context<'_>, exit: ProcessExit) -> CallOutcome {
        loop {
            match self.read_messages(cx) {
                Poll::Ready(Some(outcome)) => return outcome,
                Poll::Ready(None) => {}
                Poll::Pending => return CallOutcome::failed(self.exit_failure(exit)),
            }
        }
    }

    fn exit_failure(&self, exit: ProcessExit) -> Failure {
        if self.frames.is_incomplete() && exit == ProcessExit::Code(0) {
            Failure::InvalidMessage("the process exited in the middle of a message".to_owned())
        } else {
            Failure::Died(exit)
        }
    }

    /// Queues the answers that are ready. Returns whether there were any.
    fn queue_answers(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        let mut index = 0;
        while index < self.answers.len() && self.link.queued_bytes() < MAX_QUEUED {
            match self.answers[index].as_mut().poll(cx) {
                Poll::Pending => index += 1,
                Poll::Ready(answer) => {
                    drop(self.answers.swap_remove(index));
                    self.link.queue_frame(answer_frame(&answer));
                    any = true;
                }
            }
        }
        any
    }

    /// Reads messages from the worker. `Ready(None)` means that there may be more.
    fn read_messages(&mut self, cx: &Context<'_>) -> Poll<Option<CallOutcome>> {
        if self.ended || self.link.queued_bytes() >= MAX_QUEUED {
            return Poll::Pending;
        }
        let filled = match self.link.poll_fill(cx, &mut self.frames) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(filled) => filled,
        };
        if !matches!(filled, Ok(1..)) {
            self.ended = true;
            self.terms.deadline.bring_forward(Instant::now() + EXIT_TIME);
            return Poll::Ready(None);
        }
        loop {
            match self.frames.next_frame() {
                Ok(None) => return Poll::Ready(None),
                Err(_) => {
                    let message = "sent a message that exceeds the size limit".to_owned();
                    return Poll::Ready(Some(CallOutcome::failed(Failure::Limit { what: "frame", message })));
                }
                Ok(Some(bytes)) => {
                    let said = serde_json::from_slice(bytes);
                    if let Some(outcome) = self.handle_message(said) {
                        return Poll::Ready(Some(outcome));
                    }
                }
            }
        }
    }

    fn handle_message(&mut self, said: serde_json::Result<WorkerMessage>) -> Option<CallOutcome> {
        match said {
            Err(error) => Some(CallOutcome::failed(Failure::InvalidMessage(error.to_string()))),
            Ok(WorkerMessage::Result { result, ready }) => Some(CallOutcome { result: Ok(result), ready }),
            Ok(WorkerMessage::Error { error, ready }) => {
                Some(CallOutcome { result: Err(Failure::Raised(error)), ready })
            }
            Ok(WorkerMessage::Ask { ask, what }) => {
                self.requests += 1;
                if self.requests > self.terms.max_requests {
                    let message =
                        format!("made more than {} requests to the engine", self.terms.max_requests);
                    return Some(CallOutcome::failed(Failure::Limit { what: "asks", message }));
                }
                let content = self.terms.host.answer_request(what);
                self.answers
                    .push(Box::pin(async move { HostAnswer { answer: ask, content: content.await } }));
                None
            }
        }
    }
}

fn answer_frame(answer: &HostAnswer) -> Vec<u8> {
    let number = answer.answer;
    encode_frame(answer).unwrap_or_else(|_| {
        let message = "the answer exceeds the message limit".to_owned();
        let content = HostAnswerContent::Error { exception: "ValueError", message };
        encode_frame(&HostAnswer { answer: number, content }).expect("a short message fits into a frame")
    })
}
