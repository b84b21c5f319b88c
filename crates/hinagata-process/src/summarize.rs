//! `summarize`: an analysis of chunks, then their summary.

use hinagata::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    Chunk, Note, Outcome, Phase, Range, Running, State, modules,
    walk::{Limits, Passes, Walk, no_chunks_error},
};

/// Chunks per call by default.
const CHUNKS: usize = 2;

/// Analyses chunks, then summarises them with the help of the analysis; both work as [`Stream`](crate::Stream) does.
///
/// The process states the task; the prompts of the caller add how, or what about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summarize {
    /// The input and the progress.
    pub context: SummarizeContext,
    /// The options.
    #[serde(default)]
    pub options: SummarizeOptions,
}

/// The input and the progress of a [`Summarize`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummarizeContext {
    /// The chunks.
    pub chunks: Vec<Chunk>,
    /// The current stage; `None` before the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Stage>,
    /// The state after the last answer.
    #[serde(default)]
    pub state: State,
    /// The chunks of the last complete answer; the next call starts at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// The result of the analysis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis_report: Option<String>,
    /// Other variables of the prompts.
    #[serde(flatten)]
    pub variables: Map<String, Value>,
}

/// The stage of a [`Summarize`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Analysing the chunks.
    Analysis,
    /// Summarising the chunks.
    Summary,
    /// Complete: the state is the summary.
    Complete,
}

/// The options of a [`Summarize`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SummarizeOptions {
    /// Most tokens of chunks per call; a larger chunk gets its own call.
    pub token_limit: Option<u64>,
    /// Most chunks per call; two if neither this nor a token limit is set.
    pub max_chunk: Option<usize>,
    /// Approximate number of tokens of the summary.
    pub target_tokens: Option<u64>,
    /// Whether to analyse the chunks first.
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

    pub(crate) async fn run_calls(&mut self, running: &Running<'_>) -> Result<Outcome> {
        if self.context.chunks.is_empty() {
            return Err(no_chunks_error());
        }
        let first = if self.options.enable_analysis { Stage::Analysis } else { Stage::Summary };
        let stage = *self.context.phase.get_or_insert(first);
        running.keep_begin(self)?;
        let from = self.context.range.map_or(0, |done| done.end);
        let passes = |from| self.options.limits().plan_passes(&self.context.chunks, from, running.model);
        let mut before = 0;
        if stage == Stage::Analysis {
            let (now, later) = (passes(from), passes(0).len());
            before = now.len();
            self.analyse(running, now, later).await?;
        }
        if stage != Stage::Complete {
            let from = self.context.range.map_or(0, |done| done.end);
            let passes = self.options.limits().plan_passes(&self.context.chunks, from, running.model);
            self.summarise(running, passes, before).await?;
        }
        let analysis = self.context.analysis_report.clone();
        Ok(Outcome { preparation: analysis, ..Outcome::from_state(&self.context.state) })
    }

    async fn analyse(&mut self, running: &Running<'_>, passes: Vec<Range>, behind: usize) -> Result<()> {
        let (context, says) = (self.call_context(), modules::analysis_module());
        let walk = Walk { running, says, phase: Phase::Analysis, context, passes, before: 0, behind };
        walk.run_passes(self).await?;
        self.context.analysis_report = Some(std::mem::take(&mut self.context.state).content);
        self.context.range = None;
        self.context.phase = Some(Stage::Summary);
        Ok(())
    }

    async fn summarise(&mut self, running: &Running<'_>, passes: Vec<Range>, before: usize) -> Result<()> {
        let mut context = self.call_context();
        if let Some(report) = self.context.analysis_report.clone() {
            context["preparationNote"] = json!(Note { content: report });
        }
        let says = modules::summary_module();
        let walk = Walk { running, says, phase: Phase::Summary, context, passes, before, behind: 0 };
        walk.run_passes(self).await?;
        self.context.range = None;
        self.context.phase = Some(Stage::Complete);
        Ok(())
    }

    fn call_context(&self) -> Value {
        let mut context = json!(self.context);
        if let Some(tokens) = self.options.target_tokens {
            context["targetTokens"] = tokens.into();
        }
        context
    }
}

impl Passes for Summarize {
    fn progress(&mut self) -> (&mut State, &mut Option<Range>) {
        (&mut self.context.state, &mut self.context.range)
    }
}
