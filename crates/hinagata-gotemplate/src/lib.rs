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
//! | [`Context`], [`Data`], [`Templates`] | what an execution uses of the render it belongs to |
//! | [`Set::analyze_template`] | what a template reads, uses and defines, without running it |
//! | [`sprint`], [`sprintf`], [`type_name`], [`is_nil`] | values as Go sees them, for functions of the host |
//! | [`go_limits`] | limits under which only Go's own ones are reached |
//!
//! Output, error texts, and what was written before an error are those of Go 1.27. Data is JSON-shaped:
//! maps are `map[string]interface {}`, lists `[]interface {}`, and numbers `float64` unless
//! [`Integers::Exact`] is asked for. Functions of the host declare Go types for their parameters and are
//! checked as Go checks them.
//!
//! Templates may come from strangers: every run and every parse is charged to a
//! [`Budget`](hinagata_value::Budget), nothing recurses by length, and nothing panics. What differs from
//! Go is what Go itself does not fix: addresses of functions and containers that a template prints
//! (`printf "%p"`) are made up, and error texts are UTF-8.
//!
//! # Layout
//!
//! Source text goes through `parse` (tokens, trees) into `tree` (flat lists of nodes), which `exec`
//! walks. `value` says what Go makes of a value, `fmt` prints it, `text` knows Go's numbers, quotes and
//! character classes.

mod analysis;
mod error;
mod escape;
mod exec;
mod fmt;
mod limits;
mod parse;
mod set;
mod text;
mod tree;
mod value;

pub use exec::{Context, Data, Templates};
pub use limits::go_limits;
pub use set::{MissingKey, Options, Set};
pub use value::{
    host::{is_nil, sprint, sprintf, type_name},
    view::Integers,
};

/// Whether `name` means something to Go templates themselves, so that no function should have it.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    matches!(name, "true" | "false") || parse::is_keyword(name) || tree::Builtin::from_name(name).is_some()
}

/// The names of the functions that every template has.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    tree::Builtin::ALL.into_iter().map(tree::Builtin::name)
}
