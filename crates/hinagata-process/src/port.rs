//! The model, the prompts and the progress reports of a process.

use hinagata::{
    Code, Error, Reason, Result,
    definition::{AdHocModules, module_error},
    module::{CompiledPrompt, PromptModule, merge_modules},
    ports::PortFuture,
    tokens::{TokenCount, TokenCounter},
};
use serde_json::Value;

use crate::{Process, Range};

/// A model that answers prompts.
pub trait Ask: Send + Sync {
    /// The complete answer to `prompt`; `pieces` gets the text of a streamed answer as it arrives.
    fn ask_model<'a>(
        &'a self,
        prompt: CompiledPrompt,
        pieces: &'a (dyn Fn(&str) + Send + Sync),
    ) -> PortFuture<'a, Result<Answer>>;

    /// The number of tokens of a text for this model; by default an estimate.
    fn count_tokens(&self, text: &str) -> TokenCount {
        TokenCounter::without_model().count_tokens(text)
    }
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The text.
    pub content: String,
    /// Its tokens, if the provider reports them.
    pub tokens: Option<u64>,
    /// Why it ended.
    pub finish: Finish,
}

impl Answer {
    /// An answer that the model completed.
    #[must_use]
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), tokens: None, finish: Finish::Stop }
    }
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It is complete.
    Stop,
    /// It reached the token limit.
    Length,
    /// Another reason, as the provider names it.
    Other(String),
}

impl Finish {
    /// The reason that providers call `word`.
    #[must_use]
    pub fn from_name(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// The prompts of a process.
pub trait Prompts: Send + Sync {
    /// The prompt of one call: the module of the process followed by these, both compiled with `context`.
    ///
    /// # Errors
    /// Those of compiling.
    fn compile_prompt(&self, process: &PromptModule<Value>, context: &Value) -> Result<CompiledPrompt>;
}

impl Prompts for PromptModule<Value> {
    fn compile_prompt(&self, process: &PromptModule<Value>, context: &Value) -> Result<CompiledPrompt> {
        let merged =
            merge_modules([process.clone(), self.clone()]).and_then(|module| module.compile(context));
        merged.map_err(module_error)
    }
}

impl Prompts for AdHocModules {
    fn compile_prompt(&self, process: &PromptModule<Value>, context: &Value) -> Result<CompiledPrompt> {
        self.compile_behind(process, context)
    }
}

/// Progress of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A call started.
    Started(Step),
    /// A piece of a streamed answer.
    Piece(Step, &'e str),
    /// A call returned a complete answer, which the process has recorded.
    Finished(Step),
}

/// One call of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its purpose.
    pub phase: Phase,
    /// The number of the call, from 0; calls before a resumption do not count.
    pub number: usize,
    /// The number of all calls.
    pub total: usize,
    /// The chunks of this call.
    pub chunks: Option<Range>,
}

impl Step {
    /// Whether its answer is the result of the process.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.number + 1 == self.total
    }
}

/// The purpose of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A pass of `stream`.
    Stream,
    /// A part of `concat`.
    Concat,
    /// The note of `dialogue` that prepares the answer.
    Preparation,
    /// The answer of `dialogue`.
    Reply,
    /// A pass of the analysis of `summarize`.
    Analysis,
    /// A pass of the summary of `summarize`.
    Summary,
}

impl Phase {
    /// The name in messages and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Concat => "concat",
            Self::Preparation => "preparation",
            Self::Reply => "reply",
            Self::Analysis => "analysis",
            Self::Summary => "summary",
        }
    }
}

/// Receives the progress of a process; implemented for functions.
pub trait Watch: Send + Sync {
    /// Handles an event. It is called on the thread of the process, which waits for it.
    fn on_event(&self, event: Event<'_>);
}

impl<F: Fn(Event<'_>) + Send + Sync> Watch for F {
    fn on_event(&self, event: Event<'_>) {
        self(event);
    }
}

/// Keeps the progress of a process, such as in a file; implemented for functions.
pub trait Keep: Send + Sync {
    /// Keeps a process: before its first call, and after each complete answer. The process waits for it.
    ///
    /// # Errors
    /// An error ends the process. One that only loses progress should be reported instead: the process goes on without.
    fn keep_process(&self, process: &Process) -> Result<()>;
}

impl<F: Fn(&Process) -> Result<()> + Send + Sync> Keep for F {
    fn keep_process(&self, process: &Process) -> Result<()> {
        self(process)
    }
}

/// The environment of a running process.
#[derive(Clone, Copy)]
pub struct Running<'r> {
    pub(crate) prompts: &'r dyn Prompts,
    pub(crate) model: &'r dyn Ask,
    watch: &'r dyn Watch,
    keep: Option<&'r dyn Keep>,
}

impl<'r> Running<'r> {
    /// An environment with these prompts, this model and this receiver of progress.
    #[must_use]
    pub fn new(prompts: &'r dyn Prompts, model: &'r dyn Ask, watch: &'r dyn Watch) -> Self {
        Self { prompts, model, watch, keep: None }
    }

    /// The same environment, which keeps the progress.
    #[must_use]
    pub fn with_keeper(self, keep: &'r dyn Keep) -> Self {
        Self { keep: Some(keep), ..self }
    }

    /// The complete answer of one call.
    pub(crate) async fn ask_model(
        &self,
        step: Step,
        process: &PromptModule<Value>,
        context: &Value,
    ) -> Result<Answer> {
        let prompt = self.prompts.compile_prompt(process, context)?;
        self.watch.on_event(Event::Started(step));
        let watch = self.watch;
        let answer =
            self.model.ask_model(prompt, &move |piece| watch.on_event(Event::Piece(step, piece))).await?;
        match answer.finish {
            Finish::Stop => Ok(answer),
            Finish::Length => {
                Err(incomplete_answer_error("length", "the answer is incomplete: it reached the token limit")
                    .with_hint("allow longer answers, or process less in one call with a lower token limit"))
            }
            Finish::Other(why) => {
                Err(incomplete_answer_error(&why, &format!("the answer ended with `{why}`")))
            }
        }
    }

    /// Keeps the progress of a process that has not called yet.
    pub(crate) fn keep_begin(&self, process: &(impl Clone + Into<Process>)) -> Result<()> {
        self.keep.map_or(Ok(()), |keep| keep.keep_process(&process.clone().into()))
    }

    /// Keeps the progress of a process that has recorded the answer of a step, and reports it.
    pub(crate) fn keep_answer(&self, process: &(impl Clone + Into<Process>), step: Step) -> Result<()> {
        self.keep_begin(process)?;
        self.watch.on_event(Event::Finished(step));
        Ok(())
    }
}

fn incomplete_answer_error(why: &str, message: &str) -> Error {
    Error::new(Code::Model, message).with_reason(Reason::Finish).with("finish_reason", why)
}
