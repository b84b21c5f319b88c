//! Evaluates a module with the variables of a call and compiles it.

use std::sync::Arc;

use hinagata_module::{CompiledPrompt, Text};
use serde_json::Value;

use super::{layers::Layers, plan::PlannedTemplate, run::TemplatePass};
use crate::{
    Result,
    definition::{
        ModuleBody, UndefinedMode,
        module::{Local, WithLocal, World, evaluate_body},
        module_error,
    },
};

/// A module with its templates, compiled.
pub(super) struct PlannedModule {
    pub(super) body: Arc<ModuleBody>,
    pub(super) templates: Vec<PlannedTemplate>,
}

impl TemplatePass<'_, '_> {
    /// Evaluates and compiles a module; `None` if templates wait for calls.
    pub(super) fn build_module(&mut self, planned: &PlannedModule) -> Result<Option<Arc<CompiledPrompt>>> {
        let (layers, limit) = (self.layers, self.run.plan.limits.output.unwrap_or(usize::MAX));
        let given = evaluate_body(&planned.body, &mut Rendering { pass: self, planned, layers }, limit)?;
        if !self.wanted.is_empty() {
            return Ok(None);
        }
        let prompt = planned.body.module.compile_in(planned.body.order, &given).map_err(module_error)?;
        Ok(Some(Arc::new(prompt)))
    }
}

/// The environment in which a module is evaluated.
struct Rendering<'w, 'p, 'r> {
    pass: &'w mut TemplatePass<'p, 'r>,
    planned: &'w PlannedModule,
    layers: &'p Layers<'p>,
}

impl<'p> World<'p> for Rendering<'_, 'p, '_> {
    fn variable(&self, name: &str) -> Option<&'p Value> {
        self.layers.get(name)
    }

    fn template(&mut self, number: usize, local: Option<&Local<'p>>) -> Result<Text> {
        let (Some(template), Some(written)) =
            (self.planned.templates.get(number), self.planned.body.templates.get(number))
        else {
            return Ok(Text::default());
        };
        let variables = WithLocal { variables: self.layers, local };
        // The next pass renders a text that waits for a call again.
        let text = self.pass.render_module_text(template, &variables, written.has_headings)?;
        Ok(text.unwrap_or_default().into())
    }

    fn is_strict(&self) -> bool {
        self.pass.run.undefined == UndefinedMode::Error
    }
}
