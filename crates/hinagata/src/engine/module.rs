//! Modules: what depends on the variables of a call is worked out, and the module is compiled with it.

use std::sync::Arc;

use hinagata_module::{CompiledPrompt, Text};
use serde_json::Value;

use super::{plan::PlannedTemplate, run::Passing, scope::Scope};
use crate::{
    Result,
    definition::{
        ModuleBody, UndefinedMode,
        module::{Local, WithLocal, World, evaluate},
    },
};

/// A module with its templates, compiled.
pub(super) struct PlannedModule {
    pub(super) body: Arc<ModuleBody>,
    pub(super) templates: Vec<PlannedTemplate>,
}

impl Passing<'_, '_> {
    /// Works out a module; `None` when templates wait for calls.
    pub(super) fn module(&mut self, planned: &PlannedModule) -> Result<Option<Arc<CompiledPrompt>>> {
        let (scope, limit) = (self.scope, self.run.plan.limits.output.unwrap_or(usize::MAX));
        let given = evaluate(&planned.body, &mut Rendering { passing: self, planned, scope }, limit)?;
        if !self.wanted.is_empty() {
            return Ok(None);
        }
        let prompt = planned.body.module.compile_in(planned.body.order, &given)?;
        Ok(Some(Arc::new(prompt)))
    }
}

/// A render, as a module sees it.
struct Rendering<'w, 'p, 'r> {
    passing: &'w mut Passing<'p, 'r>,
    planned: &'w PlannedModule,
    scope: &'p Scope<'p>,
}

impl<'p> World<'p> for Rendering<'_, 'p, '_> {
    fn variable(&self, name: &str) -> Option<&'p Value> {
        self.scope.get(name)
    }

    fn template(&mut self, number: usize, local: Option<&Local<'p>>) -> Result<Text> {
        let Some(template) = self.planned.templates.get(number) else { return Ok(Text::default()) };
        // A text that waits for a call is made again when the result is there.
        let text = self.passing.text_with(template, &WithLocal { variables: self.scope, local })?;
        Ok(text.unwrap_or_default().into())
    }

    fn is_strict(&self) -> bool {
        self.passing.run.undefined == UndefinedMode::Error
    }
}
