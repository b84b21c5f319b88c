//! Adapters of the product's engines, one for each kind of cases.

mod context;
mod exchange;
mod gotemplate;
mod jinja;
mod module;
mod rumi;
mod workflow;

pub use context::Context;
pub use exchange::Exchange;
pub use gotemplate::{GoTemplate, go_options};
pub use jinja::{Jinja, jinja_options};
pub use module::Module;
pub use rumi::Rumi;
