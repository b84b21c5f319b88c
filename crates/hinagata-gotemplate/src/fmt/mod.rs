//! Go's `fmt`: `print`, `println` and `printf` on every value a template can hold.

pub(crate) mod print;
pub(crate) mod printf;
pub(crate) mod sink;
mod spec;
