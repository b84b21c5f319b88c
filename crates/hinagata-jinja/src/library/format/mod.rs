//! Formatting: `%`, `str.format`, and what both have in common.
//!
//! Widths and precisions come from the template, so each is charged before anything is made of it.

mod float;
mod layout;
pub(crate) mod percent;
mod spec;
pub(crate) mod template;

pub(crate) use float::format_fixed;
