//! `hina` as its users run it.
//!
//! The tests run the program with its default features.
#![cfg(feature = "default")]

mod agent_chat;
mod chat;
mod chat_tls;
mod check;
mod cli;
mod common;
mod context;
mod deploy;
mod docs;
mod exchange;
mod explain;
mod mcp_doctor;
mod mcp_install;
mod mcp_log;
mod migrate;
mod process;
mod process_kill;
mod project;
mod prompt_tests;
mod render_file;
mod revisions;
mod serve;
mod shell;
mod store;
mod tools;
mod tutorial;
mod watch;

// The attacks that have to fail, beside the other suites of the whole product.
#[path = "../../../../tests/trust/mod.rs"]
mod trust;

// Packs from other places, with the real programs.
#[path = "../../../../tests/packs/mod.rs"]
mod packs;
