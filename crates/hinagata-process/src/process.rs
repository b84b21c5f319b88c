//! A process of any kind, and its result.

use std::fmt;

use hinagata::{Error, tokens::TokenCount};
use serde::{Deserialize, Serialize};

use crate::{Ask, Concat, Dialogue, Running, State, Stream, Summarize};

/// A process and its progress. Serialized, it is the state to resume from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "process", rename_all = "lowercase")]
pub enum Process {
    /// Chunks with a state.
    Stream(Stream),
    /// Chunks one by one.
    Concat(Concat),
    /// A conversation.
    Dialogue(Dialogue),
    /// A summary.
    Summarize(Summarize),
}

macro_rules! from {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Process {
            fn from(process: $kind) -> Self {
                Self::$kind(process)
            }
        }
    )*};
}

from!(Stream, Concat, Dialogue, Summarize);

/// The result of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The text.
    pub output: String,
    /// The tokens of the output.
    pub tokens: u64,
    /// Whether the number of tokens is an estimate.
    pub estimated: bool,
    /// How far the estimate may be off, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_percent: Option<u8>,
    /// The note or the analysis that prepared it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preparation: Option<String>,
    /// The number of old messages that were not sent.
    #[serde(skip_serializing_if = "is_none")]
    pub left_out: usize,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

impl Outcome {
    pub(crate) fn from_state(state: &State) -> Self {
        let State { content, usage, estimated, error_percent } = state.clone();
        Self { output: content, tokens: usage, estimated, error_percent, ..Self::default() }
    }

    pub(crate) fn from_output(output: String, model: &dyn Ask) -> Self {
        let TokenCount { tokens, error_percent } = model.count_tokens(&output);
        let estimated = error_percent.is_some();
        Self { output, tokens: tokens as u64, estimated, error_percent, ..Self::default() }
    }
}

/// The failure of a process. The process itself holds the state to resume from.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The error.
    pub error: Error,
    /// The output so far.
    pub partial: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl Process {
    /// The name in commands and files.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Stream(_) => "stream",
            Self::Concat(_) => "concat",
            Self::Dialogue(_) => "dialogue",
            Self::Summarize(_) => "summarize",
        }
    }

    /// Makes the remaining calls.
    ///
    /// Dropping the future cancels only the current call: the next run continues after the last complete answer.
    ///
    /// # Errors
    /// Those of the model and of the prompts; an incomplete answer; code `validation` if there is no input.
    pub async fn run_calls(&mut self, running: &Running<'_>) -> Result<Outcome, Failure> {
        let outcome = match self {
            Self::Stream(process) => process.run_calls(running).await,
            Self::Concat(process) => process.run_calls(running).await,
            Self::Dialogue(process) => process.run_calls(running).await,
            Self::Summarize(process) => process.run_calls(running).await,
        };
        outcome.map_err(|error| Failure { error, partial: self.partial_output() })
    }

    /// The output so far: the state, the answers or the note.
    #[must_use]
    pub fn partial_output(&self) -> String {
        match self {
            Self::Stream(process) => process.context.state.content.clone(),
            Self::Concat(process) => process.joined_answers(),
            Self::Dialogue(process) => {
                process.context.preparation_note.clone().map(|note| note.content).unwrap_or_default()
            }
            Self::Summarize(process) => process.context.state.content.clone(),
        }
    }
}
