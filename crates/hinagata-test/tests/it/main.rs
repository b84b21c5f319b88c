//! Tests of the crate: every check passes and fails, and every problem of a file is found.

mod checks;
mod files;
mod runs;
mod support;
