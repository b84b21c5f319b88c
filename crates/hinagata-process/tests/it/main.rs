//! Processes of several model calls.

mod models;
mod processes;
