//! Tests of the runner of recorded cases, and of the documentation.

mod architecture;
mod command;
mod documents;
mod originals;
mod runner;
mod source_map;
