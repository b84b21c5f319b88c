//! Go's `text/template` for Rust, compatible byte for byte and bounded in time and memory.
//!
//! ```
//! use hinagata_gotemplate::{Options, Set};
//! use hinagata_value::{Budget, Functions, Limits};
//! use serde_json::json;
//!
//! let functions = Functions::new();
//! let mut set = Set::new(Options::default(), &functions);
//! set.parse("price", r#"{{.item}}: {{printf "%.2f" .price}}"#, &Budget::new(Limits::default()))?;
//!
//! let data = json!({"item": "lamp", "price": 12.5});
//! assert_eq!(set.render("price", &data, &functions, Limits::default())?, "lamp: 12.50");
//! # Ok::<(), hinagata_value::Error>(())
//! ```
//!
//! | part | what it is for |
//! |---|---|
//! | [`Set`], [`Options`] | named templates: parsed, linked, executed |
//! | [`Context`], [`Data`], [`Templates`] | the parts of a render that an execution uses |
//! | [`Set::analyze_template`] | what a template reads, uses and defines, without running it |
//! | [`syntax`] | the actions of a parsed source, for programs that check them |
//! | [`sprint`], [`sprintf`], [`type_name`], [`is_nil`] | values as Go sees them, for host functions |
//! | [`go_limits`] | limits so wide that Go's own limits are reached first |
//!
//! The output, the error texts and the output before an error are those of Go 1.27. Data has the types of
//! JSON: maps are `map[string]interface {}`, lists `[]interface {}`, and numbers `float64` unless
//! [`Integers::Exact`] is set. Host functions declare Go types for their parameters, and their arguments
//! are checked as in Go.
//!
//! Templates may be untrusted: parsing and executing are charged to a [`Budget`](hinagata_value::Budget),
//! recursion does not depend on the length of a source, and nothing panics. Two things differ from Go:
//! printed addresses of functions and containers (`printf "%p"`) are invented, and error texts are UTF-8.
//!
//! # Layout
//!
//! `parse` turns a source into `tree` (flat lists of nodes), which `exec` walks. `value` maps values to Go
//! values, `fmt` prints them, and `text` has Go's numbers, quotes and character classes.

mod analysis;
mod error;
mod escape;
mod exec;
mod fmt;
mod limits;
mod parse;
mod set;
pub mod syntax;
mod text;
mod tree;
mod value;

pub use exec::{Context, Data, Templates};
pub use limits::go_limits;
pub use parse::highlight_source;
pub use set::{MissingKey, Options, Set};
pub use value::{
    host::{is_nil, sprint, sprintf, type_name},
    view::Integers,
};

/// Whether `name` is a keyword or builtin of Go templates, which functions should not use as a name.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    matches!(name, "true" | "false") || parse::is_keyword(name) || tree::Builtin::from_name(name).is_some()
}

/// The names of the builtin functions.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    tree::Builtin::ALL.into_iter().map(tree::Builtin::name)
}
