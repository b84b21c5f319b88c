//! Models of a build without the feature `llm`.

use serde_json::Value;

use crate::{failure::Failure, workspace::Workspace};

/// The callable models: none in this build.
pub(crate) struct ModelState;

impl ModelState {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "settings of models can be invalid in a build that has models"
    )]
    pub(crate) fn find(_workspace: &Workspace) -> Result<Self, Failure> {
        Ok(Self)
    }

    /// Names and values for display.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        vec![("model", "not in this build; it needs the feature `llm`".to_owned())]
    }

    /// For scripts.
    pub(crate) fn to_json(&self) -> Value {
        Value::Null
    }
}
