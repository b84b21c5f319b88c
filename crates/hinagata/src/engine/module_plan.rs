//! Plans a module: compiles and analyses its templates and paths.

use std::sync::Arc;

use hinagata_template::Language;

use super::{
    late::active_namespaces,
    module::PlannedModule,
    plan::{Builder, WHOLE},
    tools::SPACE,
};
use crate::{
    Result, TextOrigin,
    definition::{
        ModuleBody, TemplateText,
        module::{KnownNames, ModuleTemplate, unknown_variable},
    },
};

impl<'b> Builder<'b> {
    /// Compiles and analyses the templates and paths of a module.
    pub(super) fn plan_module(&mut self, body: &Arc<ModuleBody>) -> Result<PlannedModule> {
        let known_names = self.known_names();
        body.check_paths(&known_names)?;
        let mut templates = Vec::with_capacity(body.templates.len());
        for ModuleTemplate { text, local, .. } in &body.templates {
            let before = self.reads.graphs.len();
            templates.push(self.template(text)?);
            // A loop variable is not a variable of the prompt.
            self.reads.forget_local(before, local.as_deref());
            self.refuse_unknown(&known_names, text, before)?;
        }
        // A path is analysed as a template that reads it, so that traces contain it too.
        for used in body.paths.iter().filter(|used| !used.local) {
            let (before, after) = if used.condition { ("{% if ", " %}{% endif %}") } else { ("{{ ", " }}") };
            // Padded to its column, so that places are right.
            let column = (used.place.column as usize).saturating_sub(before.len() + 1);
            let text = format!("{}{before}{}{after}", " ".repeat(column), used.path);
            let (file, origin) = (used.place.file.clone(), TextOrigin::from_line(used.place.line));
            self.template(&TemplateText { engine: Language::Jinja, text: text.into(), file, origin })?;
        }
        Ok(PlannedModule { body: Arc::clone(body), templates })
    }

    /// The names that have a value in this prompt.
    fn known_names(&self) -> KnownNames<'b> {
        let mut others: Vec<String> = active_namespaces(self.with.catalog).into_iter().collect();
        // A tool is called by function name or through `tools`.
        if let Some(tools) = &self.with.tools {
            others.extend(tools.set.tools().keys().cloned().chain([SPACE.to_owned()]));
        }
        KnownNames { parameters: self.parameters, others }
    }

    /// Refuses a template that reads an undeclared variable.
    fn refuse_unknown(&self, known_names: &KnownNames<'_>, text: &TemplateText, from: usize) -> Result<()> {
        let variables = self.reads.graphs[from..].iter().flat_map(|(_, graph)| &graph.variables);
        for item in variables {
            let root = &*item.variable.path.root;
            if root == WHOLE || known_names.has_name(root) {
                continue;
            }
            let position = item.variable.position;
            if *item.template != *text.file {
                // The variable is read by an included file.
                let source = self.known.file(&item.template);
                let text = source.map(|file| Arc::from(file.source.text())).unwrap_or_default();
                let included = TemplateText {
                    engine: Language::Jinja,
                    text,
                    file: item.template.to_string(),
                    origin: source.map_or_else(|| TextOrigin::from_line(1), |file| file.origin.clone()),
                };
                return Err(unknown_variable(known_names, root, &included, position));
            }
            return Err(unknown_variable(known_names, root, text, position));
        }
        Ok(())
    }
}
