//! What answers in place of models: the port of the runner.

use std::{path::Path, sync::Arc};

use hinagata::{Error, Rendered, ports::Model};
use serde_json::{Map, Value};

use crate::checks::{AnswerFacts, Grade};

/// Answers the calls of cases. `directory` is that of the test file.
pub trait CaseModels: Sync {
    /// The answer of a model to a rendered prompt; `turn` counts the answers to the same request.
    ///
    /// # Errors
    /// No answer was recorded, or the call failed.
    fn answer_prompt(
        &self,
        directory: &Path,
        model: &str,
        rendered: &Rendered,
        options: &Map<String, Value>,
        turn: u32,
    ) -> Result<AnswerFacts, ModelError>;

    /// The grade that a model gives to a text.
    ///
    /// # Errors
    /// As [`CaseModels::answer_prompt`].
    fn grade_text(
        &self,
        directory: &Path,
        model: Option<&str>,
        rubric: &str,
        text: &str,
    ) -> Result<Grade, ModelError>;

    /// What answers the calls of hooks.
    fn hook_port(&self, directory: &Path) -> Option<Arc<dyn Model>>;

    /// The number of calls, and what they cost.
    fn totals(&self) -> (u64, f64);
}

/// Why there is no answer.
#[derive(Debug)]
pub enum ModelError {
    /// None was recorded.
    Miss {
        /// What to do.
        message: String,
        /// The difference to a recorded request.
        difference: Option<String>,
    },
    /// The call failed, or the answer is wrong.
    Failed(Error),
}
