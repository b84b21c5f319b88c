//! The parts of Python that are data: the logical lines of a file, and literals.

pub mod literal;
mod strings;
pub mod tokens;
