//! Python of a build without the feature `python`.

use std::sync::Arc;

use hinagata::{Settings, ports::Hooks};
use serde_json::{Value, json};

/// Nothing runs Python.
pub(crate) fn find_hooks(_settings: &Settings, _quiet: bool) -> Option<Arc<dyn Hooks>> {
    None
}

/// Nothing runs Python.
#[cfg(feature = "mcp")]
pub(crate) fn logged_hooks(_settings: &Settings) -> Option<Arc<dyn Hooks>> {
    None
}

/// The state of Python on this machine, which this build cannot use.
pub(crate) struct PythonState;

impl PythonState {
    pub(crate) fn find(_settings: &Settings) -> Self {
        Self
    }

    /// Names and values for display.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        vec![("python", "not in this build; it needs the feature `python`".to_owned())]
    }

    /// For monitoring: whether Python runs.
    #[cfg(feature = "server")]
    pub(crate) fn health(&self) -> Value {
        json!({"tier": null, "runs": false, "reason": "unavailable"})
    }

    /// For scripts.
    pub(crate) fn to_json(&self) -> Value {
        let absent = json!({"error": "not in this build", "reason": "unavailable"});
        json!({"python": absent, "sandbox": absent})
    }
}
