//! Prompt modules in files: sections, loops and conditions over the context, other modules, presets.
//!
//! A file becomes a module of `hinagata-module` at once, merged with those that it uses. What depends on the
//! variables of a call stays beside it as a list of [`DynamicSpec`]: a render works out each, and the module takes
//! the results as its context. So a heading can never come from data; the grammar has no way to write it.

mod build;
mod check;
mod entry;
mod fields;
mod file;
mod path;
mod preset;
mod spec;
mod uses;

use std::sync::Arc;

use hinagata_module::{Elements, Order, PromptModule, Texts};
use serde_json::{Map, Value, json};

use super::{model::TemplateText, parameter::Parameters};
use crate::Result;

pub(crate) use build::{Values, build, build_texts, is_true, no_list, no_number};
pub(crate) use check::Reach;
pub(crate) use file::MODULE_NAMES;
pub use preset::{PRESETS, preset};
pub(crate) use spec::{BodySpec, Bound, DynamicSpec, Each, PathUse};
pub(crate) use uses::ModuleFiles;
pub(super) use uses::read;

/// What the dynamic entries of a module gave in one render, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub(crate) elements: Vec<Elements>,
    pub(crate) texts: Vec<Texts>,
}

/// The body of a prompt that is a module: its file and everything that it uses, as one.
#[derive(Clone, Debug)]
pub struct ModuleBody {
    pub(crate) module: PromptModule<Given>,
    /// Entries of sections that depend on variables.
    pub(crate) entries: Vec<DynamicSpec>,
    /// Texts of subsections that depend on variables.
    pub(crate) texts: Vec<DynamicSpec>,
    /// The templates in them.
    pub(crate) templates: Vec<ModuleTemplate>,
    /// The paths in them.
    pub(crate) paths: Vec<PathUse>,
    /// The order of the sections.
    pub(crate) order: Order,
    /// The declarations of its context, those of the modules that it uses included.
    pub(crate) context: Parameters,
    /// The modules that it uses, as they are written.
    pub(crate) uses: Vec<String>,
}

/// A template in a module.
#[derive(Clone, Debug)]
pub(crate) struct ModuleTemplate {
    pub(crate) text: TemplateText,
    /// The variable of the loop that it stands in.
    pub(crate) local: Option<Arc<str>>,
}

impl ModuleBody {
    /// What it says in each section, the modules that it uses merged, and what its context declares.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let context = |parameter: &super::Parameter| {
            let mut fields = Map::new();
            fields.insert("type".to_owned(), parameter.kind.as_str().into());
            if parameter.class == super::Class::Required {
                fields.insert("required".to_owned(), true.into());
            }
            if let Some(default) = parameter.default.as_ref().filter(|_| !parameter.secret) {
                fields.insert("default".to_owned(), default.clone());
            }
            (parameter.name.clone(), Value::Object(fields))
        };
        let mut all = json!({
            "context": self.context.iter().map(context).collect::<Map<_, _>>(),
            "sections": self.module.sections_to_json(),
        });
        let custom: Map<String, Value> = self
            .module
            .custom_sections()
            .map(|own| (own.name.to_string(), json!({"part": own.part.name(), "title": own.title.as_str()})))
            .collect();
        if !custom.is_empty() {
            all["custom_sections"] = Value::Object(custom);
        }
        all
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
    pub(crate) fn check_paths(&self, reach: &Reach<'_>) -> Result<()> {
        check::paths(&self.paths, reach)
    }
}
