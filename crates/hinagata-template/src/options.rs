//! How templates of both languages are read and behave.

use std::sync::Arc;

use hinagata_gotemplate::{MissingKey, Options as GoOptions};
use hinagata_jinja::{ParseOptions, Settings, UndefinedMode};
use hinagata_value::Functions;

use crate::{Language, structure};

/// The options of a template and of everything it includes; the defaults are the product's.
#[derive(Clone, Debug)]
pub struct Options {
    /// How Jinja sources are read.
    pub jinja: ParseOptions,
    /// How Jinja templates behave.
    pub settings: Settings,
    /// How Go templates are read and behave.
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
    /// The same with what an undefined value allows, in both languages.
    ///
    /// Go has two answers to a missing key where Jinja has four: `Error` makes it an error there too.
    /// All others leave Go's own behaviour, which prints `<no value>`: a Go template that is rendered
    /// here and by Go gives the same text.
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

    /// The same for templates that use `functions`.
    ///
    /// Go refuses an unknown function when it reads a template, so their names are needed then; the
    /// functions themselves may be others in every render. `role`, `media` and `resource` are always
    /// known.
    #[must_use]
    pub fn with_functions(mut self, functions: &Functions) -> Self {
        self.functions = functions.names().chain(structure::NAMES).map(str::to_owned).collect();
        self
    }

    /// The names of the functions that Go templates may use.
    pub(crate) fn function_names(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(String::as_str)
    }

    fn same_functions(&self, other: &Self) -> bool {
        // There may be thousands of tools: the same list is not read.
        Arc::ptr_eq(&self.functions, &other.functions) || self.functions == other.functions
    }

    /// Whether a source compiles to the same under both; what only a run looks at does not count.
    pub(crate) fn compile_alike(&self, other: &Self, language: Language) -> bool {
        match language {
            Language::Jinja => self.jinja == other.jinja,
            Language::Go => self.go == other.go && self.same_functions(other),
        }
    }
}
