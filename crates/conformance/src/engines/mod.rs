//! The engines of the product, each made to answer the cases of one kind.

mod context;
mod gotemplate;
mod jinja;
mod module;
mod rumi;
mod workflow;

pub use context::Context;
pub use gotemplate::GoTemplate;
pub use jinja::Jinja;
pub use module::Module;
pub use rumi::Rumi;
