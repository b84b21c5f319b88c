//! `concat`: processes each chunk separately and joins the answers.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use hinagata::{Result, module::PromptModule};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Chunk, Outcome, Phase, Range, Running, Step, walk::no_chunks_error};

/// Concurrent calls.
const AT_ONCE: usize = 4;

/// Processes each chunk separately and joins the answers.
///
/// The prompts read `chunks` (those of the call), `results` (the answers before it) and `processedCount` (the number of chunks with
/// answers).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Concat {
    /// The input and the progress.
    pub context: ConcatContext,
    /// The options.
    #[serde(default)]
    pub options: ConcatOptions,
}

/// The input and the progress of a [`Concat`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConcatContext {
    /// The chunks.
    pub chunks: Vec<Chunk>,
    /// The answers.
    #[serde(default)]
    pub results: Vec<String>,
    /// The number of chunks with answers.
    #[serde(default)]
    pub processed_count: usize,
    /// Answers of concurrent calls that arrived before those of earlier chunks, by the number of their chunk.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ahead: BTreeMap<usize, String>,
    /// Other variables of the prompts.
    #[serde(flatten)]
    pub variables: Map<String, Value>,
}

/// The options of a [`Concat`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConcatOptions {
    /// Chunks per call.
    pub batch_size: usize,
    /// Whether calls run concurrently, without the answers before them. Ignored for batches.
    pub parallel: bool,
    /// The text between two answers.
    pub separator: String,
}

impl Default for ConcatOptions {
    fn default() -> Self {
        Self { batch_size: 1, parallel: false, separator: "\n".to_owned() }
    }
}

impl Concat {
    /// A process for these chunks.
    #[must_use]
    pub fn new(chunks: Vec<Chunk>) -> Self {
        Self { context: ConcatContext { chunks, ..ConcatContext::default() }, ..Self::default() }
    }

    /// The answers, joined.
    pub(crate) fn joined_answers(&self) -> String {
        self.context.results.join(&self.options.separator)
    }

    pub(crate) async fn run_calls(&mut self, running: &Running<'_>) -> Result<Outcome> {
        if self.context.chunks.is_empty() {
            return Err(no_chunks_error());
        }
        if self.options.batch_size > 1 {
            // An answer to one chunk cannot replace a part of an answer to several.
            self.context.ahead.clear();
        }
        self.settle_answers();
        running.keep_begin(self)?;
        let steps = self.steps();
        match self.options.parallel && self.options.batch_size <= 1 {
            true => self.at_once(running, &steps).await?,
            false => self.one_by_one(running, &steps).await?,
        }
        Ok(Outcome::from_output(self.joined_answers(), running.model))
    }

    /// The calls whose answers are missing.
    fn steps(&self) -> Vec<Step> {
        let (size, end) = (self.options.batch_size.max(1), self.context.chunks.len());
        let starts = (self.context.processed_count..end).step_by(size);
        let starts: Vec<usize> = starts.filter(|start| !self.context.ahead.contains_key(start)).collect();
        let total = starts.len();
        let step = |(number, start): (usize, usize)| {
            let chunks = Some(Range { start, end: start.saturating_add(size).min(end) });
            Step { phase: Phase::Concat, number, total, chunks }
        };
        starts.into_iter().enumerate().map(step).collect()
    }

    /// The context of a call, without the answers before it.
    fn context_of(&self, step: Step) -> Value {
        let Range { start, end } = step.chunks.unwrap_or_default();
        let mut context = Value::Object(self.context.variables.clone());
        context["chunks"] = json!(self.context.chunks[start..end]);
        context["processedCount"] = json!(self.context.processed_count);
        context
    }

    async fn one_by_one(&mut self, running: &Running<'_>, steps: &[Step]) -> Result<()> {
        let says = PromptModule::new();
        for &step in steps {
            let mut context = self.context_of(step);
            context["results"] = json!(self.context.results);
            let answer = running.ask_model(step, &says, &context).await?;
            self.keep(running, step, answer.content)?;
        }
        Ok(())
    }

    /// Makes a few calls at the same time. After a failure no call starts, and the answers of those under way are kept.
    async fn at_once(&mut self, running: &Running<'_>, steps: &[Step]) -> Result<()> {
        let says = &PromptModule::new();
        let call = |(step, context): (Step, Value)| async move {
            (step, running.ask_model(step, says, &context).await)
        };
        let contexts: Vec<(Step, Value)> = steps.iter().map(|step| (*step, self.context_of(*step))).collect();
        let mut calls = contexts.into_iter().map(call);
        let mut under_way: FuturesUnordered<_> = calls.by_ref().take(AT_ONCE).collect();
        let mut failed = None;
        while let Some((step, answer)) = under_way.next().await {
            match answer.and_then(|answer| self.keep(running, step, answer.content)) {
                Ok(()) if failed.is_none() => under_way.extend(calls.next()),
                Ok(()) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn keep(&mut self, running: &Running<'_>, step: Step, answer: String) -> Result<()> {
        let Range { start, end } = step.chunks.unwrap_or_default();
        if start == self.context.processed_count {
            self.context.results.push(answer);
            self.context.processed_count = end;
        } else {
            self.context.ahead.insert(start, answer);
        }
        self.settle_answers();
        running.keep_answer(self, step)
    }

    /// Moves the answers ahead that are next in order to the results.
    fn settle_answers(&mut self) {
        let ConcatContext { results, processed_count, ahead, .. } = &mut self.context;
        while let Some(answer) = ahead.remove(processed_count) {
            results.push(answer);
            *processed_count += 1;
        }
    }
}
