//! Prompt modules in files: sections, loops and conditions over the context, other modules, presets.
//!
//! A file is converted to a module of `hinagata-module`, merged with those that it uses. Entries that depend on the
//! variables of a call are a separate list of `DynamicSpec`: a render evaluates each of them and passes the results
//! as the context of the module. So a heading can never come from data; the grammar cannot express it.

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

use hinagata_document::{Result, TextOrigin};
use hinagata_module::{Elements, Order, PromptModule, Text, Texts};
use serde_json::{Map, Value, json};

use super::{
    model::TemplateText,
    parameter::{Parameter, Parameters},
};

pub use ad_hoc::AdHocModules;
pub use check::{KnownNames, unknown_variable};
pub use error::module_error;
pub use evaluate::{Absence, LOOP, Local, WithLocal, World, evaluate_body};
pub(crate) use file::MODULE_NAMES;
pub use path::Path;
pub use preset::{PRESETS, preset};
use spec::DynamicSpec;
pub use spec::PathUse;
pub(crate) use uses::ModuleFiles;
pub(super) use uses::read_module;

/// The values of the dynamic entries of a module in one render, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct EvaluatedEntries {
    pub(crate) elements: Vec<Elements>,
    pub(crate) texts: Vec<Texts>,
}

/// The body of a prompt that is a module: its file, merged with the modules that it uses.
#[derive(Clone, Debug)]
pub struct ModuleBody {
    /// The merged module.
    pub module: PromptModule<EvaluatedEntries>,
    /// Entries of sections that depend on variables.
    pub(crate) entries: Vec<DynamicSpec>,
    /// Texts of subsections that depend on variables.
    pub(crate) texts: Vec<DynamicSpec>,
    /// The templates in them.
    pub templates: Vec<ModuleTemplate>,
    /// The paths in them.
    pub paths: Vec<PathUse>,
    /// The texts of its files that depend on nothing, with their places.
    pub fixed: Vec<FixedText>,
    /// The order of the sections.
    pub order: Order,
    /// The declarations of its context, including those of the modules that it uses.
    pub(crate) context: Parameters,
    /// The modules that it uses, as written.
    pub(crate) uses: Vec<String>,
}

/// A text in a module file that depends on nothing.
#[derive(Clone, Debug)]
pub struct FixedText {
    /// The text, which the module shares.
    pub text: Text,
    /// The string in the file.
    pub string: Arc<str>,
    /// The byte of the string at which the text starts.
    pub start: usize,
    /// The file, as a path from the workspace root.
    pub file: String,
    /// Where the string is in the file.
    pub origin: TextOrigin,
}

/// A template in a module.
#[derive(Clone, Debug)]
pub struct ModuleTemplate {
    /// Its text.
    pub text: TemplateText,
    /// The variable of the loop around it.
    pub local: Option<Arc<str>>,
    /// Whether it joins texts among which a line can be a heading; contents of messages and materials are separate.
    pub has_headings: bool,
}

impl ModuleBody {
    /// The merged sections and the declarations of the context as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        module_to_json(&self.context, &self.module)
    }

    /// The sections with content, including those of the modules that it uses.
    pub fn section_names(&self) -> impl Iterator<Item = &str> {
        self.module.sections().map(|(name, _)| name.name())
    }

    /// The modules that it uses, as written.
    #[must_use]
    pub fn uses(&self) -> &[String] {
        &self.uses
    }

    /// Checks every path against the known names.
    ///
    /// # Errors
    /// Code `definition`, with the place of the first invalid path and a list of all.
    pub fn check_paths(&self, known_names: &KnownNames<'_>) -> Result<()> {
        check::check_paths(&self.paths, known_names)
    }
}

/// Declarations and sections as JSON, in the form of a module file.
fn module_to_json<C>(context: &Parameters, module: &PromptModule<C>) -> Value {
    let declaration = |parameter: &Parameter| (parameter.name.clone(), parameter.to_declaration());
    let mut all = json!({
        "context": context.iter().map(declaration).collect::<Map<_, _>>(),
        "sections": module.sections_to_json_with(&escape_references),
    });
    let custom: Map<String, Value> = module
        .custom_sections()
        .map(|own| (own.name.to_string(), json!({"part": own.part.name(), "title": own.title.as_str()})))
        .collect();
    if !custom.is_empty() {
        all["custom_sections"] = Value::Object(custom);
    }
    all
}

/// The value of fixed data in a module file, in which `==` starts a text with `=`.
fn unescape_references(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with("==") => Value::String(text[1..].to_owned()),
        Value::Array(items) => items.into_iter().map(unescape_references).collect(),
        Value::Object(entries) => {
            entries.into_iter().map(|(key, value)| (key, unescape_references(value))).collect()
        }
        other => other,
    }
}

/// A fixed value as a module file writes it: `==` for a text that starts with `=`.
fn escape_references(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with('=') => Value::String(format!("={text}")),
        Value::Array(items) => items.into_iter().map(escape_references).collect(),
        Value::Object(mut entries) => {
            // The result of a tool has its text as content in a file.
            if entries.get("role") == Some(&json!("tool")) && entries.get("kind") == Some(&json!("text")) {
                entries.shift_remove("kind");
                let text = entries.shift_remove("value").unwrap_or_default();
                entries.insert("content".to_owned(), text);
            }
            entries.into_iter().map(|(key, value)| (key, escape_references(value))).collect()
        }
        other => other,
    }
}
