//! `stream`: processes a few chunks per call, with a state that is passed on.

use hinagata::{Result, module::PromptModule};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    Chunk, Outcome, Phase, Range, Running, State,
    walk::{Limits, Passes, Walk, no_chunks_error},
};

/// Processes a few chunks per call. Each answer is the state for the next call, and the last answer is the result.
///
/// The prompts read `chunks`, `range` (the chunks of the call), `state` and `iteration`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// The input and the progress.
    pub context: StreamContext,
    /// The options.
    #[serde(default)]
    pub options: StreamOptions,
}

/// The input and the progress of a [`Stream`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamContext {
    /// The chunks.
    pub chunks: Vec<Chunk>,
    /// The state after the last answer.
    #[serde(default)]
    pub state: State,
    /// The chunks of the last complete answer; the next call starts at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Other variables of the prompts.
    #[serde(flatten)]
    pub variables: Map<String, Value>,
}

/// The options of a [`Stream`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StreamOptions {
    /// Most tokens of chunks per call; a larger chunk gets its own call.
    pub token_limit: Option<u64>,
    /// Most chunks per call.
    pub max_chunk: Option<usize>,
    /// Approximate number of tokens of the state; the prompts read it as `targetTokens`.
    pub target_tokens: Option<u64>,
}

impl Stream {
    /// A process for these chunks.
    #[must_use]
    pub fn new(chunks: Vec<Chunk>) -> Self {
        Self { context: StreamContext { chunks, ..StreamContext::default() }, ..Self::default() }
    }

    pub(crate) async fn run_calls(&mut self, running: &Running<'_>) -> Result<Outcome> {
        if self.context.chunks.is_empty() {
            return Err(no_chunks_error());
        }
        running.keep_begin(self)?;
        let mut context = json!(self.context);
        if let Some(tokens) = self.options.target_tokens {
            context["targetTokens"] = tokens.into();
        }
        let limits = Limits { tokens: self.options.token_limit, chunks: self.options.max_chunk };
        let from = self.context.range.map_or(0, |done| done.end);
        let passes = limits.plan_passes(&self.context.chunks, from, running.model);
        let says = PromptModule::new();
        let walk = Walk { running, says, phase: Phase::Stream, context, passes, before: 0, behind: 0 };
        walk.run_passes(self).await?;
        self.context.range = None;
        Ok(Outcome::from_state(&self.context.state))
    }
}

impl Passes for Stream {
    fn progress(&mut self) -> (&mut State, &mut Option<Range>) {
        (&mut self.context.state, &mut self.context.range)
    }
}
