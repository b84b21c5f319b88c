//! Options of templates in both languages.

use std::sync::Arc;

use hinagata_gotemplate::{MissingKey, Options as GoOptions};
use hinagata_jinja::{ParseOptions, Settings, UndefinedMode};
use hinagata_value::Functions;

use crate::{Language, structure};

/// The options of a template and of everything that it includes.
#[derive(Clone, Debug)]
pub struct Options {
    /// How Jinja sources are parsed.
    pub jinja: ParseOptions,
    /// How Jinja templates behave.
    pub settings: Settings,
    /// How Go templates are parsed and behave.
    pub go: GoOptions,
    functions: Arc<[String]>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            jinja: ParseOptions::default(),
            settings: Settings::default(),
            go: GoOptions::default(),
            functions: structure::NAMES.map(str::to_owned).into(),
        }
    }
}

impl Options {
    /// Sets how undefined values behave, in both languages.
    ///
    /// `Error` makes a missing key an error in Go templates too. The other modes do not change Go templates,
    /// which print `<no value>`, so that they have the same output as in Go.
    #[must_use]
    pub fn with_undefined(mut self, mode: UndefinedMode) -> Self {
        self.settings.undefined = mode;
        self.go.missing_key = match mode {
            UndefinedMode::Error => MissingKey::Error,
            UndefinedMode::Needed => MissingKey::Needed,
            UndefinedMode::Empty | UndefinedMode::Jinja | UndefinedMode::Debug => MissingKey::Invalid,
        };
        self
    }

    /// Sets the functions that templates use.
    ///
    /// Go rejects unknown functions when it parses a template, so the names are needed then. The functions
    /// themselves may differ in every render. `role`, `media` and `resource` are always known.
    #[must_use]
    pub fn with_functions(mut self, functions: &Functions) -> Self {
        self.functions = functions.names().chain(structure::NAMES).map(str::to_owned).collect();
        self
    }

    /// The names of the functions that Go templates may use.
    pub fn function_names(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(String::as_str)
    }

    fn same_functions(&self, other: &Self) -> bool {
        // There may be thousands of tools, so identical lists are not compared.
        Arc::ptr_eq(&self.functions, &other.functions) || self.functions == other.functions
    }

    /// Whether a source compiles to the same template with both options. Run-time options do not matter.
    pub(crate) fn compile_alike(&self, other: &Self, language: Language) -> bool {
        match language {
            Language::Jinja => self.jinja == other.jinja,
            Language::Go => self.go == other.go && self.same_functions(other),
        }
    }
}
