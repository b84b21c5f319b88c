//! What a check of the prompts needs of an open workspace.

use std::{collections::BTreeMap, fs};

use hinagata::{
    Code, Diagnostic, Engine, Error, Hint, Place, SETTINGS_FILE, definition::UndefinedMode, ports::OnError,
};
use hinagata_check::{CheckOptions, LevelRules, Models, ToolSpec};
use hinagata_packs::{LOCK_FILE, LockCheck};

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
        let path = self.root.path.join(LOCK_FILE);
        if !path.exists() {
            return Vec::new();
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let warning = |error: Error| Diagnostic::warning(LOCK_FILE, error.in_file(LOCK_FILE));
        let check = match LockCheck::open(&self.root.path, &self.settings) {
            Ok(check) => check,
            Err(error) => return vec![warning(error)],
        };
        let mut differences = check.differences(&engine.catalog());
        let locked = check.lock().prompts.iter().flatten();
        differences.extend(locked.filter_map(|(id, hash)| match engine.definition_hash(id) {
            Ok(now) if now == *hash => None,
            Ok(_) => Some(format!("prompt `{id}` has other files than the locked ones")),
            Err(_) => Some(format!("prompt `{id}` is locked, but cannot be used")),
        }));
        let place = |difference: &str| {
            let name = difference.split('`').nth(1)?;
            Some(Place::in_text(LOCK_FILE, &text, text.find(&format!("\"{name}\""))?))
        };
        let problem = |difference: String| {
            let place = place(&difference).unwrap_or_else(|| Place::of_file(LOCK_FILE));
            let error = Error::new(Code::Lock, difference).at(place);
            warning(error.with_hint(Hint::SyncPacks.then(Hint::LockWorkspace)))
        };
        differences.into_iter().map(problem).collect()
    }
}
