//! What a process needs of the world: somebody to ask, something to say, somebody to tell.

use hinagata::{
    Code, Error, Result,
    definition::{LooseModules, module_error},
    module::{CompiledPrompt, PromptModule, merge_modules, tokens::TokenCount},
    ports::PortFuture,
};
use serde_json::Value;

use crate::Range;

/// Whoever answers prompts.
pub trait Ask: Send + Sync {
    /// The whole answer to `prompt`; `pieces` is told what comes before that, where the model streams.
    fn ask<'a>(
        &'a self,
        prompt: CompiledPrompt,
        pieces: &'a (dyn Fn(&str) + Send + Sync),
    ) -> PortFuture<'a, Result<Answer>>;

    /// The tokens that a text takes for the model.
    fn count(&self, text: &str) -> TokenCount {
        hinagata_module::tokens::estimate_tokens(text)
    }
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the model says.
    pub content: String,
    /// Its tokens, where the provider counts them.
    pub tokens: Option<u64>,
    /// Why it ends.
    pub finish: Finish,
}

impl Answer {
    /// An answer that ended by itself.
    #[must_use]
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), tokens: None, finish: Finish::Stop }
    }
}

/// Why an answer ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Everything was said.
    Stop,
    /// It was cut.
    Length,
    /// Something else, in the word of the provider.
    Other(String),
}

impl Finish {
    /// What providers call `word`.
    #[must_use]
    pub fn named(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// What the prompts of a process say.
pub trait Prompts: Send + Sync {
    /// The prompt of one call: what the process says itself, and behind it what these say, both with `context`.
    ///
    /// # Errors
    /// Those of compiling.
    fn prompt(&self, process: &PromptModule<Value>, context: &Value) -> Result<CompiledPrompt>;
}

impl Prompts for PromptModule<Value> {
    fn prompt(&self, process: &PromptModule<Value>, context: &Value) -> Result<CompiledPrompt> {
        let merged =
            merge_modules([process.clone(), self.clone()]).and_then(|module| module.compile(context));
        merged.map_err(module_error)
    }
}

impl Prompts for LooseModules {
    fn prompt(&self, process: &PromptModule<Value>, context: &Value) -> Result<CompiledPrompt> {
        self.compile_behind(process, context)
    }
}

/// What a process tells while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A call begins.
    Started(Step),
    /// A piece of the answer of a call.
    Piece(Step, &'e str),
    /// The answer of a call is whole, and kept.
    Finished(Step),
}

/// One call of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is for.
    pub phase: Phase,
    /// Which of the calls of the process it is, counted from 0; those before a resumption do not count.
    pub number: usize,
    /// How many calls there are.
    pub total: usize,
    /// The chunks that are looked at.
    pub chunks: Option<Range>,
}

impl Step {
    /// Whether its answer is the result of the process.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.number + 1 == self.total
    }
}

/// What a call is for.
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
    /// The word for people and scripts.
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

/// Whoever is told how far a process is. Functions are.
pub trait Watch: Send + Sync {
    /// Something happened. It is called on the thread of the process, which waits for it.
    fn event(&self, event: Event<'_>);
}

impl<F: Fn(Event<'_>) + Send + Sync> Watch for F {
    fn event(&self, event: Event<'_>) {
        self(event);
    }
}

/// With what a process runs.
#[derive(Clone, Copy)]
pub struct Running<'r> {
    pub(crate) prompts: &'r dyn Prompts,
    pub(crate) model: &'r dyn Ask,
    watch: &'r dyn Watch,
}

impl<'r> Running<'r> {
    /// What is said, who is asked, who is told.
    #[must_use]
    pub fn new(prompts: &'r dyn Prompts, model: &'r dyn Ask, watch: &'r dyn Watch) -> Self {
        Self { prompts, model, watch }
    }

    /// The whole answer of one call.
    pub(crate) async fn ask(
        &self,
        step: Step,
        process: &PromptModule<Value>,
        context: &Value,
    ) -> Result<Answer> {
        let prompt = self.prompts.prompt(process, context)?;
        self.watch.event(Event::Started(step));
        let watch = self.watch;
        let answer = self.model.ask(prompt, &move |piece| watch.event(Event::Piece(step, piece))).await?;
        match answer.finish {
            Finish::Stop => Ok(answer),
            Finish::Length => {
                Err(unfinished("length", "the answer is incomplete: it reached the token limit")
                    .with_hint("allow longer answers, or process less in one call with a lower token limit"))
            }
            Finish::Other(why) => Err(unfinished(&why, &format!("the answer ended with `{why}`"))),
        }
    }

    /// Tells that the answer of a step is kept.
    pub(crate) fn finished(&self, step: Step) {
        self.watch.event(Event::Finished(step));
    }
}

fn unfinished(why: &str, message: &str) -> Error {
    Error::new(Code::Model, message).with("reason", "finish").with("finish_reason", why)
}
