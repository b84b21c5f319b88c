//! What a template needs and offers, without running it.
//!
//! [`analyze`] looks at one template: which variables it reads as dotted paths, which filters, tests,
//! functions and templates it uses, which blocks and macros it defines, which roles it speaks in.
//! Names that the template binds itself are followed to where their value comes from, so that
//! `{% for t in tools %}{{ t.name }}` reads `tools` and `tools[].name`. [`combine()`] puts the templates
//! of a graph together.
//!
//! The answer is meant for those who fetch values, complete names and check prompts: where it cannot
//! be exact it names too much rather than too little. It follows paths through attributes, subscripts,
//! assignments, loops and the filters that pass items on; what a function returns is unknown to it.

mod combine;
mod expression;
mod path;
mod scope;
mod statement;

pub use combine::{Combined, combine};
pub use path::{Path, PathPart};

use crate::ast::{Span, Template};
use scope::ScopeLog;

/// The most values that one name is followed to, when it depends on the run which one it has.
const MAX_ALTERNATIVES: usize = 4;

/// What one template reads, uses and defines; every list is in source order.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Variables that come from outside, one entry for each place.
    pub variables: Vec<VariableUse>,
    /// Filters, those named in `map('upper')` too.
    pub filters: Vec<NameUse>,
    /// Tests, those named in `select('odd')` too.
    pub tests: Vec<NameUse>,
    /// Calls of something that has a name.
    pub functions: Vec<FunctionUse>,
    /// Other templates.
    pub templates: Vec<TemplateUse>,
    /// Blocks that the template defines.
    pub blocks: Vec<BlockInfo>,
    /// Macros that the template defines.
    pub macros: Vec<MacroInfo>,
    /// Messages that the template starts.
    pub roles: Vec<RoleUse>,
    /// What was bound where another template is used.
    scopes: ScopeLog,
}

/// A variable that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableUse {
    /// What is read.
    pub path: Path,
    /// What for.
    pub usage: Usage,
    /// Where: the expression from its name to the last part of the path.
    pub span: Span,
}

/// What a variable is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Usage {
    /// Its value is needed.
    Value,
    /// It may be missing: it has a `default`, or stands before an `or`.
    Default,
    /// Only whether it is there or true is asked: in `if`, `not`, `is defined`.
    Condition,
}

/// A filter or a test that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameUse {
    /// Its name.
    pub name: Box<str>,
    /// Where.
    pub span: Span,
}

/// A function that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUse {
    /// Its name with dots, as it is written: `range`, `tools.search`, `name.upper`.
    ///
    /// What a method is called on is among the variables as well; a plain name is not.
    pub name: Box<str>,
    /// Whether its first part is a name that the template binds: a macro, an import, a loop variable.
    pub local: bool,
    /// Where.
    pub span: Span,
}

/// Another template that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateUse {
    /// How.
    pub kind: TemplateUseKind,
    /// The names that are written down: one, or several of which the run takes one.
    pub names: Vec<Box<str>>,
    /// Whether the name may be another one.
    pub dynamic: bool,
    /// Whether it is no error if the template does not exist.
    pub ignore_missing: bool,
    /// Whether the template sees the variables of this one.
    pub with_context: bool,
    /// Where.
    pub span: Span,
    /// The place in the scope log.
    scope: Option<u32>,
}

/// How a template is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateUseKind {
    /// `extends`
    Extends,
    /// `include`
    Include,
    /// `import`
    Import,
    /// `from … import`
    FromImport,
}

/// A block that is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Its name.
    pub name: Box<str>,
    /// Whether it sees the local names around it.
    pub scoped: bool,
    /// Whether a child must replace it.
    pub required: bool,
    /// Where.
    pub span: Span,
}

/// A macro that is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroInfo {
    /// Its name.
    pub name: Box<str>,
    /// Its parameters.
    pub params: Vec<ParamInfo>,
    /// Whether it reads `varargs`, and thus takes further arguments by position.
    pub varargs: bool,
    /// Whether it reads `kwargs`, and thus takes further arguments by name.
    pub kwargs: bool,
    /// Whether it reads `caller`, and thus can be used with `call`.
    pub caller: bool,
    /// Where.
    pub span: Span,
}

/// A parameter of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name.
    pub name: Box<str>,
    /// Whether it has a default.
    pub optional: bool,
}

/// A message that starts: `role("user")` or `{% message "user" %}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleUse {
    /// The role, if it is written down.
    pub role: Option<Box<str>>,
    /// Whether it is a block with an end.
    pub block: bool,
    /// Where.
    pub span: Span,
}

/// Looks through one template. Takes time and memory in proportion to its size.
#[must_use]
pub fn analyze(template: &Template) -> Analysis {
    let mut walker = statement::Walker::new(&template.body);
    walker.template(&template.body);
    walker.finish()
}
