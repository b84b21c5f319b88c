//! `stream`: chunks a few at a time, with a state that is carried from answer to answer.

use hinagata::{Result, module::PromptModule};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    Chunk, Outcome, Phase, Range, Running, State,
    walk::{Limits, Walk, no_chunks},
};

/// Works through chunks a few at a time; each answer is the state that the next call starts from, and the last one is the result.
///
/// The prompts read `chunks`, `range` (which of them are looked at), `state` and `iteration` of the context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// What it works on, and how far it is.
    pub context: StreamContext,
    /// How.
    #[serde(default)]
    pub options: StreamOptions,
}

/// What a [`Stream`] works on, and how far it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamContext {
    /// The chunks.
    pub chunks: Vec<Chunk>,
    /// What the last answer left.
    #[serde(default)]
    pub state: State,
    /// The chunks of the last whole answer: the next call begins at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Whatever else the prompts read.
    #[serde(flatten)]
    pub variables: Map<String, Value>,
}

/// How a [`Stream`] works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StreamOptions {
    /// Most tokens of the chunks of one call; a chunk that is larger has a call for itself.
    pub token_limit: Option<u64>,
    /// Most chunks of one call.
    pub max_chunk: Option<usize>,
    /// About how many tokens the state may take: for the prompts, which read it as `targetTokens`.
    pub target_tokens: Option<u64>,
}

impl Stream {
    /// A process for these chunks.
    #[must_use]
    pub fn new(chunks: Vec<Chunk>) -> Self {
        Self { context: StreamContext { chunks, ..StreamContext::default() }, ..Self::default() }
    }

    pub(crate) async fn run(&mut self, running: &Running<'_>) -> Result<Outcome> {
        if self.context.chunks.is_empty() {
            return Err(no_chunks());
        }
        let mut context = json!(self.context);
        if let Some(tokens) = self.options.target_tokens {
            context["targetTokens"] = tokens.into();
        }
        let limits = Limits { tokens: self.options.token_limit, chunks: self.options.max_chunk };
        let StreamContext { chunks, state, range, .. } = &mut self.context;
        let from = range.map_or(0, |done| done.end);
        let passes = limits.passes(chunks, from, running.model);
        let walk =
            Walk { running, says: &PromptModule::new(), phase: Phase::Stream, passes, before: 0, behind: 0 };
        walk.run(&mut context, state, range).await?;
        *range = None;
        Ok(Outcome::of(state))
    }
}
