//! Checks recorded templates and the examples of the table.

#![expect(clippy::print_stdout, reason = "figures and findings are to be read")]

mod examples;
mod mutants;
mod page;
mod real;
mod signatures;
mod vectors;
