//! wip
#![allow(dead_code, missing_docs)]
pub mod analysis;
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
