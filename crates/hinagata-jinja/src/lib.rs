//! Jinja2 templates: the language prompt authors know from Python, run under a budget.
//!
//! A source is parsed to a tree ([`ast`]), compiled to code whose names are slots, and run on the
//! values of `hinagata-value`. Its tokens, its precedence, its scopes and the lines of its errors are
//! those of Jinja2 3.1.6. The crate does no IO: other templates come from a [`Loader`], the outside
//! from host functions.

mod analysis;
pub mod ast;
mod check;
mod code;
mod compile;
mod context;
mod lexer;
mod library;
mod options;
mod parser;
mod run;
mod source;
mod template;

pub use analysis::analyze_template;
pub use check::{NameKind, UnknownName, check_names};
pub use context::{Moment, Settings, UndefinedMode};
pub use options::{ParseOptions, Syntax};
pub use parser::parse;
pub use run::{Data, Outside, Printed, Render, Rendered, Run, is_reserved};
pub use source::Source;
pub use template::{Loader, NoTemplates, Sources, Template};

/// Every name that the language brings along, and what it is the name of: `filter`, `test`, `global`, or the
/// type whose method it is.
pub fn builtin_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let filters = library::filters::filter_names().map(|name| ("filter", name));
    let tests = library::tests::test_names().map(|name| ("test", name));
    let globals = run::global_names().map(|name| ("global", name));
    filters.chain(tests).chain(globals).chain(library::methods::method_names())
}
