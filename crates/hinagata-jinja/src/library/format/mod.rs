//! Formatting: `%`, `str.format`, and their common parts.
//!
//! Widths and precisions come from the template, so they are charged before any output is created.

mod float;
mod layout;
pub(crate) mod percent;
mod spec;
pub(crate) mod template;

pub(crate) use float::format_fixed;
