//! The runner of recorded cases: what it prints, how it ends, what its fixtures may hold.

mod command;
mod documents;
mod runner;
