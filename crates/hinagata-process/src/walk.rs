//! Calls over chunks, a few chunks per call.

use std::iter;

use hinagata::{Code, Error, Reason, Result, module::PromptModule};
use serde_json::{Value, json};

use crate::{Ask, Chunk, Phase, Process, Range, Running, State, Step};

/// The limits of one call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) tokens: Option<u64>,
    pub(crate) chunks: Option<usize>,
}

impl Limits {
    /// The ranges of the calls from chunk `from` on. A chunk above the token limit gets its own call.
    pub(crate) fn plan_passes(self, chunks: &[Chunk], from: usize, model: &dyn Ask) -> Vec<Range> {
        let most = self.chunks.unwrap_or(usize::MAX).max(1);
        let mut start = from;
        iter::from_fn(|| {
            let mut taken = 0;
            let fits = |chunk: &Chunk| match self.tokens {
                None => true,
                Some(limit) => {
                    taken += chunk.count_tokens(model);
                    taken <= limit
                }
            };
            let rest = chunks.get(start..).filter(|rest| !rest.is_empty())?;
            let count = rest.iter().take(most).map(fits).take_while(|fits| *fits).count().max(1);
            let range = Range { start, end: start + count };
            start = range.end;
            Some(range)
        })
        .collect()
    }
}

/// The error of a process without chunks.
pub(crate) fn no_chunks_error() -> Error {
    Error::new(Code::Validation, "no chunks to process")
        .with_reason(Reason::NoChunks)
        .with_hint("pass at least one text that is not empty")
}

/// A sequence of calls over chunks.
pub(crate) struct Walk<'w> {
    pub(crate) running: &'w Running<'w>,
    pub(crate) says: PromptModule<Value>,
    pub(crate) phase: Phase,
    /// The variables of the prompts.
    pub(crate) context: Value,
    /// The chunks of each call, in order.
    pub(crate) passes: Vec<Range>,
    /// Earlier calls of the process.
    pub(crate) before: usize,
    /// Later calls of the process.
    pub(crate) behind: usize,
}

/// A process whose answers are states for the next call.
pub(crate) trait Passes: Clone + Into<Process> {
    /// The state and the chunks of the last complete answer.
    fn progress(&mut self) -> (&mut State, &mut Option<Range>);
}

impl Walk<'_> {
    /// Makes the calls. The progress is kept after each complete answer, so `process` holds it even after an error.
    pub(crate) async fn run_passes(mut self, process: &mut impl Passes) -> Result<()> {
        let count = self.passes.len();
        for (number, range) in self.passes.into_iter().enumerate() {
            let step = Step {
                phase: self.phase,
                number: self.before + number,
                total: self.before + count + self.behind,
                chunks: Some(range),
            };
            self.context["state"] = json!(process.progress().0);
            self.context["range"] = json!(range);
            self.context["iteration"] = json!({
                "current": number, "total": count, "isFirst": range.start == 0, "isLast": number + 1 == count,
            });
            let answer = self.running.ask_model(step, &self.says, &self.context).await?;
            let (state, done) = process.progress();
            *state = State::from_answer(answer, self.running.model);
            *done = Some(range);
            self.running.keep_answer(process, step)?;
        }
        Ok(())
    }
}
