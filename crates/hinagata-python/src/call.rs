//! One call: the job goes out, asks come in and are answered, a result or a failure ends it.

use std::{
    future::poll_fn,
    io,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use hinagata::ports::{Job, Stage, Waiting};
use serde_json::Value;

use crate::{
    failure::{Exit, Failure},
    frame::{FrameError, Frames, frame},
    host::Host,
    message::{Answer, AnswerContent, FromWorker, JobMessage, VERSION},
    timer::Deadline,
};

/// Bytes that may wait to be sent; nothing more is answered until a worker reads.
const MOST_QUEUED: usize = 16 << 20;
/// Time in which the end of a process that closed its stream becomes known.
const GRACE: Duration = Duration::from_secs(1);
/// Time in which a worker whose time is up can say where it is.
const LAST_WORD: Duration = Duration::from_millis(300);
/// The least by which a deadline moves, so that a wait that goes on is not looked at all the time.
const LEAST_MOVE: Duration = Duration::from_millis(20);

/// The way to a worker.
pub(crate) trait Link: Send {
    /// Puts a frame behind those that wait to be sent.
    fn queue(&mut self, frame: Vec<u8>);

    /// Bytes that wait to be sent.
    fn queued(&self) -> usize;

    /// Sends what waits. A worker that does not listen any more is no error here: its end tells more.
    fn poll_flush(&mut self, cx: &Context<'_>) -> Poll<()>;

    /// Takes what has arrived; 0 at the end of the stream.
    fn poll_fill(&mut self, cx: &Context<'_>, frames: &mut Frames) -> Poll<io::Result<usize>>;

    /// How the process ended.
    fn poll_exit(&mut self, cx: &Context<'_>) -> Poll<Exit>;

    /// Has the worker say where it is, among what it prints; whether it can be asked.
    fn ask_where(&mut self) -> bool;

    /// Whether it has said where it is; the task is woken when it does.
    fn poll_where(&mut self, cx: &Context<'_>) -> Poll<()>;
}

/// What a call needs to know.
pub(crate) struct Terms<'a> {
    pub(crate) host: Host<'a>,
    pub(crate) asks: u64,
    pub(crate) deadline: Deadline,
    /// When the render is over.
    pub(crate) end: Option<Deadline>,
    /// What the job had waited when it started to run; what it waits from then on is not taken off its time either.
    pub(crate) waited: Duration,
    /// Whether the worker may serve another call.
    pub(crate) keep: bool,
    /// Whether the worker has the source already.
    pub(crate) knows_source: bool,
    pub(crate) filter: &'static str,
}

/// The result of a call that went well, or not.
pub(crate) struct Outcome {
    pub(crate) result: Result<Value, Failure>,
    /// Whether the worker can serve another call.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no worker is kept there"))]
    pub(crate) ready: bool,
}

impl Outcome {
    fn failed(failure: Failure) -> Self {
        Self { result: Err(failure), ready: false }
    }
}

/// Makes the call over `link`.
pub(crate) async fn call<'a>(link: &mut impl Link, job: &'a Job<'a>, terms: Terms<'a>) -> Outcome {
    match job_frame(job, &terms) {
        Ok(frame) => link.queue(frame),
        Err(failure) => return Outcome::failed(failure),
    }
    let mut conversation = Conversation {
        link,
        job,
        terms,
        started: Instant::now(),
        frames: Frames::default(),
        answers: Vec::new(),
        asked: 0,
        ended: false,
        over: None,
    };
    poll_fn(|cx| conversation.poll(cx)).await
}

fn job_frame(job: &Job<'_>, terms: &Terms<'_>) -> Result<Vec<u8>, Failure> {
    let (variables, text) = match job.stage {
        Stage::PreRender { variables } => (Some(variables), None),
        Stage::PostRender { text, variables } => (Some(variables), Some(text)),
        Stage::Provide | Stage::Load => (None, None),
    };
    let path = job.path.to_string_lossy();
    let message = JobMessage {
        version: VERSION,
        stage: job.stage.as_str(),
        file: job.file,
        path: &path,
        source: (!terms.knows_source).then_some(job.source),
        context: &job.context,
        functions: &terms.host.functions(),
        variables,
        text,
        keep: terms.keep,
        seconds: job.time.as_secs_f64(),
        filter: terms.filter,
    };
    frame(&message).map_err(|error| Failure::Limit {
        what: "frame",
        message: match error {
            FrameError::TooLarge(size) => format!("would get {size} bytes, more than a message can hold"),
            FrameError::NotJson => "would get something that is no JSON".to_owned(),
        },
    })
}

struct Conversation<'l, 'a, L> {
    link: &'l mut L,
    job: &'a Job<'a>,
    started: Instant,
    terms: Terms<'a>,
    frames: Frames,
    answers: Vec<Waiting<'a, Answer>>,
    asked: u64,
    /// Whether the stream has ended.
    ended: bool,
    /// Why its time is up, while it says where it is.
    over: Option<Over>,
}

/// A call whose time is up.
struct Over {
    after: Duration,
    /// Whether it is the time of the whole render.
    render: bool,
    /// When it is not listened to any more.
    last_word: Deadline,
}

impl<L: Link> Conversation<'_, '_, L> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        if self.over.is_some() {
            return self.poll_last_word(cx);
        }
        loop {
            let answered = self.answer(cx);
            // A worker that does not read is the worker's problem; the deadline ends it.
            let _ = self.link.poll_flush(cx);
            match self.listen(cx) {
                Poll::Ready(Some(outcome)) => return Poll::Ready(outcome),
                Poll::Ready(None) => {}
                Poll::Pending if answered => {}
                Poll::Pending => break,
            }
        }
        if let Poll::Ready(exit) = self.link.poll_exit(cx) {
            return Poll::Ready(self.last_words(cx, exit));
        }
        let Poll::Ready(render) = self.poll_end(cx) else { return Poll::Pending };
        if self.ended {
            return Poll::Ready(Outcome::failed(Failure::Broken("it closed its stream".to_owned())));
        }
        let mut last_word = self.terms.deadline.later(LAST_WORD);
        if !self.link.ask_where() {
            last_word.bring_forward(Instant::now());
        }
        self.over = Some(Over { after: self.time_taken(), render, last_word });
        self.poll_last_word(cx)
    }

    /// How long it ran so far.
    fn time_taken(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.job.waited.total().saturating_sub(self.terms.waited))
    }

    /// Whether its time is up, and if so whether that of the whole render is.
    fn poll_end(&mut self, cx: &Context<'_>) -> Poll<bool> {
        if let Some(Poll::Ready(())) = self.terms.end.as_mut().map(|end| end.poll(cx)) {
            return Poll::Ready(true);
        }
        while self.terms.deadline.poll(cx).is_ready() {
            let waited = self.job.waited.total();
            let more = waited.saturating_sub(self.terms.waited);
            if self.ended || more.is_zero() {
                return Poll::Ready(false);
            }
            // It waited for a provider that waited for its turn.
            self.terms.deadline.push_back(more.max(LEAST_MOVE));
            self.started += more;
            self.terms.waited = waited;
        }
        Poll::Pending
    }

    fn poll_last_word(&mut self, cx: &Context<'_>) -> Poll<Outcome> {
        let told = self.link.poll_where(cx).is_ready();
        let Some(over) = &mut self.over else { return Poll::Pending };
        if !told && over.last_word.poll(cx).is_pending() {
            return Poll::Pending;
        }
        let (after, waited) = (over.after, self.job.waited.total());
        Poll::Ready(Outcome::failed(Failure::Timeout { after, waited, render: over.render }))
    }

    /// What a worker said before it ended may have arrived after the last look.
    fn last_words(&mut self, cx: &Context<'_>, exit: Exit) -> Outcome {
        loop {
            match self.listen(cx) {
                Poll::Ready(Some(outcome)) => return outcome,
                Poll::Ready(None) => {}
                Poll::Pending => return Outcome::failed(self.ended_with(exit)),
            }
        }
    }

    fn ended_with(&self, exit: Exit) -> Failure {
        match self.frames.is_halfway() && exit == Exit::Code(0) {
            true => Failure::Broken("it ended in the middle of a message".to_owned()),
            false => Failure::Died(exit),
        }
    }

    /// Queues the answers that are there now; whether there were any.
    fn answer(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        let mut index = 0;
        while index < self.answers.len() && self.link.queued() < MOST_QUEUED {
            match self.answers[index].as_mut().poll(cx) {
                Poll::Pending => index += 1,
                Poll::Ready(answer) => {
                    drop(self.answers.swap_remove(index));
                    self.link.queue(answer_frame(&answer));
                    any = true;
                }
            }
        }
        any
    }

    /// Takes what the worker says. Ready without an outcome: there may be more.
    fn listen(&mut self, cx: &Context<'_>) -> Poll<Option<Outcome>> {
        if self.ended || self.link.queued() >= MOST_QUEUED {
            return Poll::Pending;
        }
        let filled = match self.link.poll_fill(cx, &mut self.frames) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(filled) => filled,
        };
        if !matches!(filled, Ok(1..)) {
            self.ended = true;
            self.terms.deadline.bring_forward(Instant::now() + GRACE);
            return Poll::Ready(None);
        }
        loop {
            match self.frames.next_frame() {
                Ok(None) => return Poll::Ready(None),
                Err(_) => {
                    let message = "said more at once than a message can hold".to_owned();
                    return Poll::Ready(Some(Outcome::failed(Failure::Limit { what: "frame", message })));
                }
                Ok(Some(bytes)) => {
                    let said = serde_json::from_slice(bytes);
                    if let Some(outcome) = self.heard(said) {
                        return Poll::Ready(Some(outcome));
                    }
                }
            }
        }
    }

    fn heard(&mut self, said: serde_json::Result<FromWorker>) -> Option<Outcome> {
        match said {
            Err(error) => Some(Outcome::failed(Failure::Broken(error.to_string()))),
            Ok(FromWorker::Result { result, ready }) => Some(Outcome { result: Ok(result), ready }),
            Ok(FromWorker::Error { error, ready }) => {
                Some(Outcome { result: Err(Failure::Raised(error)), ready })
            }
            Ok(FromWorker::Ask { ask, what }) => {
                self.asked += 1;
                if self.asked > self.terms.asks {
                    let message = format!("asked for more than {} things", self.terms.asks);
                    return Some(Outcome::failed(Failure::Limit { what: "asks", message }));
                }
                let content = self.terms.host.answer(what);
                self.answers.push(Box::pin(async move { Answer { answer: ask, content: content.await } }));
                None
            }
        }
    }
}

fn answer_frame(answer: &Answer) -> Vec<u8> {
    let number = answer.answer;
    frame(answer).unwrap_or_else(|_| {
        let message = "the answer is more than a message can hold".to_owned();
        let content = AnswerContent::Error { exception: "ValueError", message };
        frame(&Answer { answer: number, content }).expect("a short text is a small frame")
    })
}
