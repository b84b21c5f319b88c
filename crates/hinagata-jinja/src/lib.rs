//! Jinja2 templates for Rust, compatible with Jinja2 3.1.6 and bounded in time and memory.
//!
//! ```
//! use hinagata_jinja::{ParseOptions, Render, Template};
//! use hinagata_value::Limits;
//! use serde_json::json;
//!
//! let source = "{% for tool in tools %}- {{ tool.name|title }}\n{% else %}no tools{% endfor %}";
//! let template = Template::compile("tools.md", source, &ParseOptions::default(), &Limits::default())?;
//!
//! let data = json!({"tools": [{"name": "read file"}, {"name": "search"}]});
//! assert_eq!(Render::new().render_text(&template, &data)?, "- Read File\n- Search\n");
//! # Ok::<(), hinagata_value::Error>(())
//! ```
//!
//! A source is parsed into a tree ([`ast`]), compiled into code whose names are slots, and run on the
//! values of `hinagata-value`. Tokens, precedence, scopes and the lines of errors follow Jinja2;
//! `docs/reference/jinja.md` lists the differences. The crate performs no I/O: other templates come from a
//! [`Loader`], everything else from host functions.

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
pub use lexer::highlight_source;
pub use options::{ParseOptions, Syntax};
pub use parser::parse;
pub use run::{Data, Outside, Printed, Render, Rendered, Run, is_reserved};
pub use source::Source;
pub use template::{Loader, NoTemplates, Sources, Template};

/// Returns every builtin name with its kind: `filter`, `test`, `global`, or the type that has the method.
/// The kind comes first.
pub fn builtin_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let filters = library::filters::filter_names().map(|name| ("filter", name));
    let tests = library::tests::test_names().map(|name| ("test", name));
    let globals = run::global_names().map(|name| ("global", name));
    filters.chain(tests).chain(globals).chain(library::methods::method_names())
}
