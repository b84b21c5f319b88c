//! `summarize`: an analysis of chunks, then their summary.

use hinagata::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    Chunk, Note, Outcome, Phase, Range, Running, State, modules,
    walk::{Limits, Walk, no_chunks},
};

/// Chunks of one call where nothing else is said.
const CHUNKS: usize = 2;

/// Analyses chunks, then summarises them by what the analysis found; both work as [`Stream`](crate::Stream) does.
///
/// It says itself what there is to do; the prompts of the caller say how, or about what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summarize {
    /// What it works on, and how far it is.
    pub context: SummarizeContext,
    /// How.
    #[serde(default)]
    pub options: SummarizeOptions,
}

/// What a [`Summarize`] works on, and how far it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummarizeContext {
    /// The chunks.
    pub chunks: Vec<Chunk>,
    /// What it is at; the first time nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Stage>,
    /// What the last answer left.
    #[serde(default)]
    pub state: State,
    /// The chunks of the last whole answer: the next call begins at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// What the analysis found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis_report: Option<String>,
    /// Whatever else the prompts read.
    #[serde(flatten)]
    pub variables: Map<String, Value>,
}

/// How far a [`Summarize`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The chunks are analysed.
    Analysis,
    /// The chunks are summarised.
    Summary,
    /// The summary is the state.
    Complete,
}

/// How a [`Summarize`] works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SummarizeOptions {
    /// Most tokens of the chunks of one call; a chunk that is larger has a call for itself.
    pub token_limit: Option<u64>,
    /// Most chunks of one call; two, where neither this nor a token limit is given.
    pub max_chunk: Option<usize>,
    /// About how many tokens the summary may take.
    pub target_tokens: Option<u64>,
    /// Whether the chunks are analysed first.
    pub enable_analysis: bool,
}

impl Default for SummarizeOptions {
    fn default() -> Self {
        Self { token_limit: None, max_chunk: None, target_tokens: None, enable_analysis: true }
    }
}

impl SummarizeOptions {
    fn limits(&self) -> Limits {
        let unlimited = self.token_limit.is_none() && self.max_chunk.is_none();
        Limits { tokens: self.token_limit, chunks: if unlimited { Some(CHUNKS) } else { self.max_chunk } }
    }
}

impl Summarize {
    /// A process for these chunks.
    #[must_use]
    pub fn new(chunks: Vec<Chunk>) -> Self {
        Self { context: SummarizeContext { chunks, ..SummarizeContext::default() }, ..Self::default() }
    }

    pub(crate) async fn run(&mut self, running: &Running<'_>) -> Result<Outcome> {
        if self.context.chunks.is_empty() {
            return Err(no_chunks());
        }
        let first = if self.options.enable_analysis { Stage::Analysis } else { Stage::Summary };
        let stage = *self.context.phase.get_or_insert(first);
        let from = self.context.range.map_or(0, |done| done.end);
        let passes = |from| self.options.limits().passes(&self.context.chunks, from, running.model);
        let mut before = 0;
        if stage == Stage::Analysis {
            let (now, later) = (passes(from), passes(0).len());
            before = now.len();
            self.analyse(running, now, later).await?;
        }
        if stage != Stage::Complete {
            let from = self.context.range.map_or(0, |done| done.end);
            let passes = self.options.limits().passes(&self.context.chunks, from, running.model);
            self.summarise(running, passes, before).await?;
        }
        let analysis = self.context.analysis_report.clone();
        Ok(Outcome { preparation: analysis, ..Outcome::of(&self.context.state) })
    }

    async fn analyse(&mut self, running: &Running<'_>, passes: Vec<Range>, behind: usize) -> Result<()> {
        let mut context = self.said();
        let says = &modules::analysis();
        let walk = Walk { running, says, phase: Phase::Analysis, passes, before: 0, behind };
        walk.run(&mut context, &mut self.context.state, &mut self.context.range).await?;
        self.context.analysis_report = Some(std::mem::take(&mut self.context.state).content);
        self.context.range = None;
        self.context.phase = Some(Stage::Summary);
        Ok(())
    }

    async fn summarise(&mut self, running: &Running<'_>, passes: Vec<Range>, before: usize) -> Result<()> {
        let mut context = self.said();
        if let Some(report) = self.context.analysis_report.clone() {
            context["preparationNote"] = json!(Note { content: report });
        }
        let says = &modules::summary();
        let walk = Walk { running, says, phase: Phase::Summary, passes, before, behind: 0 };
        walk.run(&mut context, &mut self.context.state, &mut self.context.range).await?;
        self.context.range = None;
        self.context.phase = Some(Stage::Complete);
        Ok(())
    }

    fn said(&self) -> Value {
        let mut context = json!(self.context);
        if let Some(tokens) = self.options.target_tokens {
            context["targetTokens"] = tokens.into();
        }
        context
    }
}
