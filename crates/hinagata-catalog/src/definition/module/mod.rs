//! Prompt modules in files: sections, loops and conditions over the context, other modules, presets.
//!
//! A file becomes a module of `hinagata-module` at once, merged with those that it uses. What depends on the
//! variables of a call stays beside it as a list of `DynamicSpec`: a render works out each, and the module takes
//! the results as its context. So a heading can never come from data; the grammar has no way to write it.

mod ad_hoc;
mod build;
mod check;
mod entry;
mod error;
mod evaluate;
mod fields;
mod file;
mod path;
mod preset;
mod spec;
mod uses;

use std::sync::Arc;

use hinagata_document::Result;
use hinagata_module::{CustomSection, Elements, Order, PromptModule, Texts};
use serde_json::{Map, Value, json};

use super::{model::TemplateText, parameter::Parameters};

pub use ad_hoc::AdHocModules;
pub use check::{KnownNames, unknown_variable};
pub use error::module_error;
pub use evaluate::{Local, WithLocal, World, evaluate_body};
pub(crate) use file::MODULE_NAMES;
pub use path::Path;
pub use preset::{PRESETS, preset};
use spec::DynamicSpec;
pub use spec::PathUse;
pub(crate) use uses::ModuleFiles;
pub(super) use uses::read_module;

/// What the dynamic entries of a module gave in one render, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct EvaluatedEntries {
    pub(crate) elements: Vec<Elements>,
    pub(crate) texts: Vec<Texts>,
}

/// The body of a prompt that is a module: its file and everything that it uses, as one.
#[derive(Clone, Debug)]
pub struct ModuleBody {
    /// The module, all modules that it uses merged.
    pub module: PromptModule<EvaluatedEntries>,
    /// Entries of sections that depend on variables.
    pub(crate) entries: Vec<DynamicSpec>,
    /// Texts of subsections that depend on variables.
    pub(crate) texts: Vec<DynamicSpec>,
    /// The templates in them.
    pub templates: Vec<ModuleTemplate>,
    /// The paths in them.
    pub paths: Vec<PathUse>,
    /// The order of the sections.
    pub order: Order,
    /// The declarations of its context, those of the modules that it uses included.
    pub(crate) context: Parameters,
    /// The modules that it uses, as they are written.
    pub(crate) uses: Vec<String>,
}

/// A template in a module.
#[derive(Clone, Debug)]
pub struct ModuleTemplate {
    /// Its text.
    pub text: TemplateText,
    /// The variable of the loop that it stands in.
    pub local: Option<Arc<str>>,
}

impl ModuleBody {
    /// What it says in each section, the modules that it uses merged, and what its context declares.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let custom: Vec<&CustomSection> = self.module.custom_sections().collect();
        module_to_json(&self.context, &self.module.sections_to_json(), &custom)
    }

    /// The sections that it has something in, those of the modules that it uses included.
    pub fn section_names(&self) -> impl Iterator<Item = &str> {
        self.module.sections().map(|(name, _)| name.name())
    }

    /// The modules that it uses, as they are written.
    #[must_use]
    pub fn uses(&self) -> &[String] {
        &self.uses
    }

    /// Checks every path against what a call can give.
    ///
    /// # Errors
    /// Code `definition`, with the place of the first path that leads nowhere and a list of all.
    pub fn check_paths(&self, known_names: &KnownNames<'_>) -> Result<()> {
        check::check_paths(&self.paths, known_names)
    }
}

/// Declarations and sections, as a module file has them.
fn module_to_json(context: &Parameters, sections: &Map<String, Value>, custom: &[&CustomSection]) -> Value {
    let declaration = |parameter: &super::Parameter| {
        let mut fields = Map::new();
        fields.insert("type".to_owned(), parameter.kind.name().into());
        if parameter.class == super::ParameterClass::Required {
            fields.insert("required".to_owned(), true.into());
        }
        if let Some(default) = parameter.default.as_ref().filter(|_| !parameter.secret) {
            fields.insert("default".to_owned(), default.clone());
        }
        (parameter.name.clone(), Value::Object(fields))
    };
    let mut all = json!({
        "context": context.iter().map(declaration).collect::<Map<_, _>>(),
        "sections": sections,
    });
    let custom: Map<String, Value> = custom
        .iter()
        .map(|own| (own.name.to_string(), json!({"part": own.part.name(), "title": own.title.as_str()})))
        .collect();
    if !custom.is_empty() {
        all["custom_sections"] = Value::Object(custom);
    }
    all
}
