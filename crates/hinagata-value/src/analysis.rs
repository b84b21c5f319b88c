//! What a template reads, uses and defines, found without running it.
//!
//! Both template languages fill an [`Analysis`]; callers that fetch values, complete names or check
//! prompts read it without knowing the language. If an analysis cannot be exact, it lists too much rather
//! than too little.

mod path;
mod scope;

pub use path::{PathPart, VariablePath};
pub use scope::{Binding, DataShape, Meaning, ScopeLog, add_shapes};

use std::collections::BTreeMap;

use crate::{Budget, Result};

/// What one template reads, uses and defines. Every list is in source order.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Variables that come from outside the template, one entry for each place. A Go template that uses
    /// all variables as one value reads [`VariablePath::WHOLE`].
    pub variables: Vec<VariableUse>,
    /// Called functions that the template does not define itself. In Go this includes the builtin
    /// functions.
    pub functions: Vec<NameUse>,
    /// Jinja filters, including those that an argument names: `map('upper')`.
    pub filters: Vec<NameUse>,
    /// Jinja tests, including those that an argument names: `select('odd')`.
    pub tests: Vec<NameUse>,
    /// Other templates. In Go, those that the source does not define itself.
    pub templates: Vec<TemplateUse>,
    /// Jinja blocks that the template defines.
    pub blocks: Vec<BlockDefinition>,
    /// Jinja macros, and templates that a Go source defines with `define` or `block`.
    pub macros: Vec<MacroDefinition>,
    /// Messages that the template starts.
    pub roles: Vec<RoleUse>,
    /// Actions that print: the byte where each starts, and the byte after its end.
    pub prints: BTreeMap<u32, u32>,
    /// What was bound where another template is used.
    pub scopes: ScopeLog,
}

/// Where a node is in its source.
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

/// What a variable is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Usage {
    /// The template needs its value.
    Value,
    /// It may be missing: it has a `default`, or is the left side of an `or`.
    Default,
    /// The template only asks whether it is defined or true: in `if`, `not`, `is defined`.
    Condition,
}

/// A variable that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableUse {
    /// The variable, and the part of it that is read.
    pub path: VariablePath,
    /// What it is read for.
    pub usage: Usage,
    /// The expression, from its name to the last part of the path.
    pub position: Position,
}

/// A name that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameUse {
    /// The name.
    pub name: String,
    /// Where it is used.
    pub position: Position,
}

/// Another template that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateUse {
    /// How it is used.
    pub kind: TemplateUseKind,
    /// The literal names: one, or several of which the run takes one.
    pub names: Vec<String>,
    /// Whether the run may compute another name.
    pub dynamic: bool,
    /// Whether a missing template is not an error.
    pub ignore_missing: bool,
    /// Where it is used.
    pub position: Position,
    /// What the template sees of the variables of this one.
    pub passes: PassedVariables,
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

/// What a used template sees of the variables of the template that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassedVariables {
    /// No variable.
    Nothing,
    /// The names in scope at this place of [`Analysis::scopes`].
    Scope(Option<u32>),
    /// All variables.
    Everything,
    /// The data at these paths.
    Data(Vec<VariablePath>),
}

/// A Jinja block that is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDefinition {
    /// Its name.
    pub name: String,
    /// Whether it sees the local names around it.
    pub scoped: bool,
    /// Whether a child must replace it.
    pub required: bool,
    /// Where it is defined.
    pub position: Position,
}

/// A Jinja macro or a named Go template that is defined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MacroDefinition {
    /// Its name.
    pub name: String,
    /// Its parameters. A Go template has none.
    pub parameters: Vec<MacroParameter>,
    /// Whether it reads `varargs`, and thus takes further arguments by position.
    pub varargs: bool,
    /// Whether it reads `kwargs`, and thus takes further arguments by name.
    pub kwargs: bool,
    /// Whether it reads `caller`, and thus can be used with `call`.
    pub caller: bool,
    /// Where it is defined.
    pub position: Position,
}

/// A parameter of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroParameter {
    /// Its name.
    pub name: String,
    /// Whether it has a default.
    pub optional: bool,
}

/// A message that starts: `role("user")` or `{% message "user" %}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleUse {
    /// The role, if it is a literal.
    pub role: Option<String>,
    /// Where the message starts.
    pub position: Position,
}

impl Analysis {
    /// The paths in this template of the variable `path` of a template used by `used`: several if only the run
    /// decides, none if it is not data of this template.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn paths_seen_by(
        &self,
        used: &TemplateUse,
        path: &VariablePath,
        budget: &Budget,
    ) -> Result<Vec<VariablePath>> {
        Ok(match &used.passes {
            PassedVariables::Nothing => Vec::new(),
            PassedVariables::Everything => vec![path.clone()],
            PassedVariables::Data(data) => data.iter().map(|data| data.join(path)).collect(),
            PassedVariables::Scope(place) => self.scopes.paths_of(*place, path, budget)?,
        })
    }
}
