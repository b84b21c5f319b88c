//! What a check of the prompts needs of an open workspace.

use std::collections::BTreeMap;

use hinagata::{Code, Diagnostic, Engine, Error, SETTINGS_FILE, definition::UndefinedMode, ports::OnError};
use hinagata_check::{CheckOptions, LevelRules, Models, ToolSpec};
use hinagata_packs::{LOCK_FILE, LockDrift, find_drifts};

use crate::OpenWorkspace;

impl OpenWorkspace {
    /// The options of a check: the tools of the engine, how undefined variables behave, and the levels of the settings.
    /// The problems of settings and tools become findings. No tool is called.
    #[must_use]
    pub fn check_options(&self, engine: &Engine) -> CheckOptions {
        let mut tools = BTreeMap::new();
        for (name, tool) in engine.tool_set().iter().flat_map(|set| set.tools()) {
            let fails = tool.on_error == OnError::Fail;
            let spec = ToolSpec { parameters: tool.parameters.clone(), fails };
            if let Some(module) = &tool.module {
                tools.insert(format!("tools.{module}.{}", tool.name), spec.clone());
            }
            tools.insert(name.clone(), spec);
        }
        let undefined = self.settings.undefined().and_then(UndefinedMode::from_name);
        let value = |name: &str| self.settings.get(name).map(|found| found.value.clone()).unwrap_or_default();
        let (levels, problems) = LevelRules::from_settings(&value("check.levels"), &value("check.paths"));
        let (models, model_problems) = Models::from_settings(&self.settings, &self.root.path);
        let mut more = self.settings.diagnostics().to_vec();
        more.extend(problems.into_iter().chain(model_problems).map(|problem| {
            let error = Error::new(Code::Definition, problem);
            Diagnostic::warning(SETTINGS_FILE, error.in_file(SETTINGS_FILE))
        }));
        more.extend(engine.tool_diagnostics());
        CheckOptions { levels, models, more, ..CheckOptions::from_tools(tools, undefined) }
    }

    /// In what the workspace differs from its lock, or why the lock cannot be compared; nothing without a lock.
    #[must_use]
    pub fn lock_problems(&self, engine: &Engine) -> Vec<Diagnostic> {
        let definition_hash = |prompt: &str| engine.definition_hash(prompt).ok();
        match find_drifts(&engine.catalog(), &self.settings, &definition_hash) {
            Ok(drifts) => drifts.iter().map(LockDrift::to_diagnostic).collect(),
            Err(error) => vec![Diagnostic::warning(LOCK_FILE, error.in_file(LOCK_FILE))],
        }
    }
}
