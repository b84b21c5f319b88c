//! The kinds of cases: one module each, with the format, the comparison and the trait of the engine.

pub mod context;
pub mod exchange;
pub mod gotemplate;
pub mod jinja;
pub mod module;
pub mod rumi;

use std::path::Path;

use crate::engines;
use crate::load::{InputError, LoadedCase};

type Load = fn(&Path) -> Result<Vec<LoadedCase>, InputError>;

/// A kind of cases.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name on the command line.
    pub name: &'static str,
    /// Whether this build has an engine for it. Without one, every case fails.
    pub ready: bool,
    load: Load,
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "context",
        ready: engines::Context::READY,
        load: |dir| context::load_cases(dir, &engines::Context),
    },
    Kind {
        name: "exchange",
        ready: engines::Exchange::READY,
        load: |dir| exchange::load_cases(dir, &engines::Exchange),
    },
    Kind {
        name: "gotemplate",
        ready: engines::GoTemplate::READY,
        load: |dir| gotemplate::load_cases(dir, &engines::GoTemplate),
    },
    Kind { name: "jinja", ready: engines::Jinja::READY, load: |dir| jinja::load_cases(dir, &engines::Jinja) },
    Kind {
        name: "module",
        ready: engines::Module::READY,
        load: |dir| module::load_cases(dir, &engines::Module),
    },
    Kind { name: "rumi", ready: engines::Rumi::READY, load: |dir| rumi::load_cases(dir, &engines::Rumi) },
];

impl Kind {
    /// The kind with this name.
    ///
    /// # Errors
    /// A message for an unknown kind.
    pub fn from_name(name: &str) -> Result<Self, String> {
        let known = || KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
        match KINDS.iter().find(|kind| kind.name == name) {
            Some(kind) => Ok(*kind),
            None => Err(format!("unknown kind `{name}`; expected one of {}", known())),
        }
    }

    /// Loads the cases of `dir` for the product's engine.
    ///
    /// # Errors
    /// A file cannot be read, or a case is invalid.
    pub fn load_cases(&self, dir: &Path) -> Result<Vec<LoadedCase>, InputError> {
        (self.load)(dir)
    }
}
