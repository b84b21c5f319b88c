//! Go's idea of characters, numbers and quoted strings.

pub(crate) mod float;
pub(crate) mod number;
pub(crate) mod quote;
mod tables;
pub(crate) mod unicode;
pub(crate) mod utf8;
