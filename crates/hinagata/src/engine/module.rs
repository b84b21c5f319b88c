//! Evaluates a module with the variables of a call and compiles it.

use std::sync::Arc;

use hinagata_module::Text;
use serde_json::Value;

use super::{
    layers::Layers,
    plan::PlannedTemplate,
    rendered::RenderedBody,
    run::{RenderOutput, TemplatePass},
    spans::ModuleNotes,
};
use crate::{
    Place, Result,
    definition::{
        ModuleBody, UndefinedMode,
        module::{Absence, Local, PathUse, WithLocal, World, evaluate_body},
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
    pub(super) fn build_module(&mut self, planned: &PlannedModule) -> Result<Option<RenderOutput>> {
        let (layers, limit) = (self.layers, self.run.plan.limits.output.unwrap_or(usize::MAX));
        let notes = self.run.is_mapped.then(|| ModuleNotes::start(&planned.body));
        let mut rendering = Rendering { pass: self, planned, layers, notes };
        let given = evaluate_body(&planned.body, &mut rendering, limit)?;
        let notes = rendering.notes;
        if !self.wanted.is_empty() {
            return Ok(None);
        }
        let prompt = planned.body.module.compile_in(planned.body.order, &given).map_err(module_error)?;
        let (body, module_map) = match notes {
            None => (RenderedBody::from(&prompt), None),
            Some(notes) => {
                let (body, map) = notes.finish(&prompt, layers, &self.maps);
                (body, Some(map))
            }
        };
        let maps = std::mem::take(&mut self.maps);
        let module = Some(Arc::new(prompt));
        Ok(Some(RenderOutput { module, maps, module_map, ..RenderOutput::from(body) }))
    }
}

/// The environment in which a module is evaluated.
struct Rendering<'w, 'p, 'r> {
    pass: &'w mut TemplatePass<'p, 'r>,
    planned: &'w PlannedModule,
    layers: &'p Layers<'p>,
    notes: Option<ModuleNotes<'p>>,
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
        let is_waiting = text.is_none();
        let text = Text::from(text.unwrap_or_default());
        if let (Some(notes), Some(mapped), false) = (&mut self.notes, self.pass.maps.last(), is_waiting) {
            notes.add_template(number, &text, self.pass.maps.len() - 1, &mapped.text);
        }
        Ok(text)
    }

    fn is_recorded(&self) -> bool {
        self.notes.is_some()
    }

    fn note_texts(&mut self, texts: &[Text], value: &'p Value, path: &PathUse) {
        if let Some(notes) = &mut self.notes {
            notes.add_texts(texts, value, path);
        }
    }

    fn note_data(
        &mut self,
        data: &Arc<Value>,
        values: &[&'p Value],
        templates: &[usize],
        place: Option<&Place>,
    ) {
        if let Some(notes) = &mut self.notes {
            notes.add_data(data, values, templates, place);
        }
    }

    fn note_absent(&mut self, section: &Text, absence: Absence, path: &PathUse, value: Option<&'p Value>) {
        if let Some(notes) = &mut self.notes {
            notes.add_absent(section, absence, path, value);
        }
    }

    fn note_turn(&mut self, list: &PathUse, turn: Option<usize>) {
        if let Some(notes) = &mut self.notes {
            notes.set_turn(list, turn);
        }
    }

    fn is_strict(&self) -> bool {
        self.pass.run.undefined == UndefinedMode::Error
    }
}
