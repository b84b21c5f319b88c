//! Handlebars, as dotprompt and Semantic Kernel use it.

mod emit;
mod expression;
mod parse;
mod scan;

pub(crate) use emit::{Dialect, translate};
