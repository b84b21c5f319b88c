//! The callable models, for `hina doctor`.

use hinagata_llm::{Models, ProviderInfo};
use serde_json::{Value, json};

use crate::{failure::Failure, workspace::Workspace};

/// The models and providers of a workspace.
pub(crate) struct ModelState(Models);

impl ModelState {
    pub(crate) fn find(workspace: &Workspace) -> Result<Self, Failure> {
        Ok(Self(workspace.host.llm()?.models()))
    }

    /// Names and values for display.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let default = self.0.default.clone();
        let model = default.unwrap_or_else(|| "none; a call or a prompt must choose one".to_owned());
        let mut rows = vec![("model", model)];
        rows.extend(self.0.providers.iter().map(|provider| ("", key_state(provider))));
        rows
    }

    /// For scripts.
    pub(crate) fn to_json(&self) -> Value {
        json!(self.0)
    }
}

/// Whether a provider has a key.
fn key_state(provider: &ProviderInfo) -> String {
    let name = &provider.name;
    match (&provider.key, provider.needs_key) {
        (Some(variable), _) => format!("{name}: key in {variable}"),
        (None, true) => format!("{name}: no key; set {}", provider.key_variables.join(" or ")),
        (None, false) => format!("{name}: without a key at {}", provider.base_url),
    }
}
