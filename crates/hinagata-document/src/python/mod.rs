//! Python as far as it is data: the logical lines of a file, and literals.

pub mod literal;
mod strings;
pub mod tokens;
