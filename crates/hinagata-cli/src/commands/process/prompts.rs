//! The prompts of a process: module files or a preset, and the instructions of the user.

use hinagata::{
    Result as Ours,
    definition::{AdHocModules, module_error},
    module::{CompiledPrompt, PromptModule, merge_modules},
};
use hinagata_process::{Process, Prompts};
use serde_json::{Map, Value, json};

use super::{super::module::typed_variables, saved::SavedProcess};
use crate::{failure::Failure, variables::Variables};

/// The module of `concat`, which has no preset.
const CONCAT: &str = include_str!("concat.json");

/// The prompts of a process.
pub(super) struct ProcessPrompts {
    modules: AdHocModules,
    instructions: PromptModule<Value>,
    variables: Map<String, Value>,
}

impl ProcessPrompts {
    pub(super) fn new(saved: &SavedProcess, passed: &Variables) -> Result<Self, Failure> {
        let modules = match saved.modules.is_empty() {
            true => AdHocModules::from_documents(preset(&saved.process).iter())?,
            false => AdHocModules::from_files(&saved.modules)?,
        };
        let variables = typed_variables(&modules, passed)?;
        let instructions = PromptModule::new().instructions(saved.instructions.clone());
        Ok(Self { modules, instructions, variables })
    }

    /// Puts the variables into the context of a process.
    pub(super) fn set_variables(&self, process: &mut Process) {
        let context = match process {
            Process::Stream(process) => &mut process.context.variables,
            Process::Concat(process) => &mut process.context.variables,
            Process::Dialogue(process) => &mut process.context.variables,
            Process::Summarize(process) => &mut process.context.variables,
        };
        context.extend(self.variables.clone());
    }
}

/// The preset, which is used without module files. A summary has its own prompt.
fn preset(process: &Process) -> Option<Value> {
    match process {
        Process::Stream(_) | Process::Dialogue(_) => {
            Some(json!({"module": process.name(), "uses": [format!("preset:{}", process.name())]}))
        }
        Process::Concat(_) => serde_json::from_str(CONCAT).ok(),
        Process::Summarize(_) => None,
    }
}

impl Prompts for ProcessPrompts {
    fn compile_prompt(&self, process: &PromptModule<Value>, context: &Value) -> Ours<CompiledPrompt> {
        let merged = merge_modules([process.clone(), self.instructions.clone()]).map_err(module_error)?;
        self.modules.compile_behind(&merged, context)
    }
}
