//! The settings of answers with a schema.

use hinagata::{Settings, module::answer::AnswerMode};

/// How answers with a schema are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerRules {
    pub(crate) mode: AnswerMode,
    pub(crate) retries: u64,
}

impl AnswerRules {
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        let mode = settings.text("answers.mode").and_then(AnswerMode::from_name).unwrap_or_default();
        Self { mode, retries: settings.count("answers.retries").unwrap_or(1) }
    }
}
