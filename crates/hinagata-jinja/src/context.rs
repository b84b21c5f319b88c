//! What the library (operators, filters, tests, methods, printing) sees of a running template.

use hinagata_value::{EngineRef, Error, Heap, Owner, Result, Undefined, Value};

/// What an undefined value allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndefinedMode {
    /// Prints nothing, is false and empty, and so is every attribute of it: the product's default.
    #[default]
    Empty,
    /// As in Jinja2: prints nothing, but an attribute of it, a call or arithmetic is an error.
    Jinja,
    /// Everything but a test for being defined is an error.
    Error,
    /// As `Jinja`, but prints the expression that is undefined.
    Debug,
}

/// How a template behaves, whatever its data.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What an undefined value allows.
    pub undefined: UndefinedMode,
    /// Whether expressions are escaped for HTML unless they are marked safe.
    pub autoescape: bool,
    /// Whether methods that change a list or map in place are refused.
    pub immutable: bool,
    /// Whether the functions and the `tojson` of model chat templates are there.
    pub chat_host: bool,
}

/// What the library needs to know of objects that only the engine can look into.
pub trait Objects<'a> {
    /// What printing it shows, such as `<Macro 'f'>`.
    fn repr(&self, object: EngineRef) -> String;

    /// The word for its type in messages.
    fn type_name(&self, object: EngineRef) -> &'static str;

    /// Whether it can be called.
    fn is_callable(&self, object: EngineRef) -> bool;

    /// An attribute of it that templates may see.
    fn attribute(&self, object: EngineRef, name: &str) -> Option<Value<'a>>;
}

/// The running template, as the library sees it.
#[derive(Clone, Copy)]
pub struct Context<'c, 'a> {
    /// Makes, reads and changes values.
    pub heap: &'c Heap<'a>,
    /// How the template behaves.
    pub settings: &'c Settings,
    /// Whether expressions are escaped here.
    pub autoescape: bool,
    /// The objects of the engine.
    pub objects: &'c dyn Objects<'a>,
}

impl Context<'_, '_> {
    /// The error for an operation that this undefined value does not allow.
    #[cold]
    #[must_use]
    pub fn undefined_error(&self, undefined: Undefined<'_>) -> Error {
        let message = match (undefined.owner, undefined.name) {
            (Owner::Variables, Some(name)) => format!("'{name}' is undefined"),
            (Owner::Map, Some(name)) => format!("'dict object' has no attribute '{name}'"),
            (Owner::List, Some(name)) => format!("'list object' has no attribute '{name}'"),
            (Owner::Str, Some(name)) => format!("'str object' has no attribute '{name}'"),
            (_, Some(name)) => format!("the value has no attribute '{name}'"),
            (_, None) => "the value is undefined".to_owned(),
        };
        Error::undefined(message)
    }

    /// Refuses an undefined value where the mode does.
    ///
    /// # Errors
    /// When `value` is undefined and the mode is neither `Empty` nor one that allows this use.
    pub fn require_defined(&self, value: &Value<'_>) -> Result<()> {
        match value {
            Value::Undefined(undefined) => Err(self.undefined_error(*undefined)),
            _ => Ok(()),
        }
    }
}
