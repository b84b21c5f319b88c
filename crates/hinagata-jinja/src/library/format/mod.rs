//! Formatting: `%`, `str.format`, and what both have in common.

pub(crate) mod percent;
