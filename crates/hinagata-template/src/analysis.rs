//! What a template needs and offers, without running it; in one form for both languages.
//!
//! The answer is meant for those who fetch values, complete names and check prompts: where it cannot be
//! exact it names too much rather than too little.

mod go;
mod graph;
mod jinja;

pub use graph::{Graph, GraphUse, GraphVariable, analyze_graph};
pub use hinagata_jinja::analysis::{Path, PathPart, Usage};

use std::collections::{BTreeMap, HashMap};

use hinagata_value::{Limits, Result};

use crate::{Template, structure::NAMES, template::Body};

/// The root of the path of all variables together: what a Go template reads as `.`.
const WHOLE: &str = ".";

/// What one template reads, uses and defines; every list is in source order.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Variables that come from outside, one entry for each place. A Go template that uses all of them
    /// as one value reads `.`.
    pub variables: Vec<VariableUse>,
    /// Functions that are called and that the template does not define itself; in Go the builtin ones
    /// too.
    pub functions: Vec<NameUse>,
    /// Filters of Jinja.
    pub filters: Vec<NameUse>,
    /// Tests of Jinja.
    pub tests: Vec<NameUse>,
    /// Other templates; in Go, those that the source does not define itself.
    pub templates: Vec<TemplateUse>,
    /// Blocks of Jinja.
    pub blocks: Vec<NameUse>,
    /// Macros of Jinja, and templates that a Go source defines by `define` or `block`.
    pub macros: Vec<NameUse>,
    /// Messages that the template starts.
    pub roles: Vec<RoleUse>,
    pub(crate) nodes: Nodes,
}

/// Where in its source something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// A variable that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableUse {
    /// What is read.
    pub path: Path,
    /// What for; [`Usage::Condition`] when only whether it is there or true is asked.
    pub usage: Usage,
    /// Where.
    pub position: Position,
}

/// Something with a name that is used or defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameUse {
    /// Its name.
    pub name: String,
    /// Where.
    pub position: Position,
}

/// Another template that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateUse {
    /// How.
    pub kind: TemplateUseKind,
    /// The names that are written down: one, or several of which the run takes one.
    pub names: Vec<String>,
    /// Whether the name may be another one.
    pub dynamic: bool,
    /// Whether it is no error if the template does not exist.
    pub ignore_missing: bool,
    /// Where.
    pub position: Position,
    /// What the variables of the template are here.
    pub(crate) passes: Passes,
}

/// How a template is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TemplateUseKind {
    /// `extends` of Jinja.
    Extends,
    /// `include` of Jinja.
    Include,
    /// `import` and `from … import` of Jinja.
    Import,
    /// `template` of Go.
    Call,
}

/// What a template that is used sees of the variables of the one that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passes {
    /// Nothing.
    Nothing,
    /// The names in sight at the use with this number in the Jinja analysis.
    Scope(usize),
    /// All variables.
    Everything,
    /// The data at these paths.
    Data(Vec<Path>),
}

/// A message that starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleUse {
    /// The role, if it is written down.
    pub role: Option<String>,
    /// Where.
    pub position: Position,
}

/// The nodes of a template that a record of origins points at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    /// Actions that print: where they start and end.
    pub(crate) prints: BTreeMap<u32, u32>,
    /// Loops over the data at a path, by where they start; those over anything else are not here.
    pub(crate) loops: HashMap<u32, Path>,
}

impl Analysis {
    /// Whether messages can come out of the template: it starts one, or puts in a picture or a resource,
    /// by the names that these functions have.
    #[must_use]
    pub fn has_structure(&self) -> bool {
        !self.roles.is_empty() || self.functions.iter().any(|used| NAMES.contains(&used.name.as_str()))
    }
}

impl Template {
    /// What the template reads, uses and defines. Reads the source again.
    ///
    /// # Errors
    /// When a limit is reached.
    pub fn analyze(&self, limits: &Limits) -> Result<Analysis> {
        Ok(match self.body() {
            Body::Jinja(_) => jinja::analyze(self, limits)?.0,
            Body::Go(set) => go::analyze(self, set),
        })
    }
}
