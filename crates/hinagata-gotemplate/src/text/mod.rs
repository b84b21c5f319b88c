//! Characters, numbers and quoted strings as Go defines them.

pub(crate) mod float;
pub(crate) mod number;
pub(crate) mod quote;
mod tables;
pub(crate) mod unicode;
pub(crate) mod utf8;
