//! The lock of a workspace as a guard of its engine.

use std::path::Path;

use hinagata::{Catalog, PromptId, Result, Settings, ports::Guard};
use hinagata_packs::LockCheck;

/// Lets an engine render only what was locked. The lock is read once, so that it cannot change meanwhile.
pub(crate) struct LockGuard(LockCheck);

impl LockGuard {
    pub(crate) fn open(root: &Path, settings: &Settings) -> Result<Self> {
        LockCheck::open(root, settings).map(Self)
    }

    /// The lock, to compare with.
    #[cfg(feature = "tools")]
    pub(crate) fn check(&self) -> &LockCheck {
        &self.0
    }
}

impl Guard for LockGuard {
    fn check_catalog(&self, catalog: &Catalog) -> Result<()> {
        self.0.check_catalog(catalog)
    }

    fn checks_prompts(&self) -> bool {
        self.0.lock().prompts.is_some()
    }

    fn check_prompt(&self, prompt: &PromptId, definition_hash: &str) -> Result<()> {
        self.0.check_prompt(prompt.as_str(), definition_hash)
    }
}
