//! The kinds of cases: one file each, with the format, the rules of comparison and the engine's trait.

pub mod context;
pub mod gotemplate;
pub mod jinja;
pub mod module;
pub mod rumi;

use std::path::Path;

use crate::engines;
use crate::load::{InputError, LoadedCase};

type Load = fn(&Path) -> Result<Vec<LoadedCase>, InputError>;

/// A kind of cases that can be run.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name on the command line.
    pub name: &'static str,
    /// Whether this build has an engine for it; without one, every case fails.
    pub ready: bool,
    load: Load,
}

/// Every kind that this build can run.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "context",
        ready: engines::Context::READY,
        load: |dir| context::load_cases(dir, &engines::Context),
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
    /// The kind called `name`.
    ///
    /// # Errors
    /// The sentence to show when there is no such kind.
    pub fn from_name(name: &str) -> Result<Self, String> {
        let known = || KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
        match KINDS.iter().find(|kind| kind.name == name) {
            Some(kind) => Ok(*kind),
            None => Err(format!("there is no kind `{name}`; this build knows {}", known())),
        }
    }

    /// Reads the cases of `dir`, to be answered by the product's engine.
    ///
    /// # Errors
    /// When a file cannot be read or a case is not in the format of this kind.
    pub fn load_cases(&self, dir: &Path) -> Result<Vec<LoadedCase>, InputError> {
        (self.load)(dir)
    }
}
