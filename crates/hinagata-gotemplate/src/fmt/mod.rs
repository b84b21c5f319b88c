//! Go's `fmt`: `print`, `println` and `printf` for every value of a template.

pub(crate) mod print;
pub(crate) mod printf;
pub(crate) mod sink;
mod spec;
