//! Checks recorded templates and the examples of the table.

#![expect(clippy::print_stdout, reason = "figures and findings are to be read")]

mod behind;
mod examples;
mod go_signatures;
mod mutants;
mod page;
mod real;
mod same_renders;
mod signatures;
mod vectors;
