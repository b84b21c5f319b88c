//! The daemon over real HTTP on loopback, with a real store and a provider that can fail.

mod access;
mod agents;
mod cases;
mod chat;
mod diagnostics;
mod docs_page;
mod edit;
mod events;
mod exchange;
mod files;
mod legacy;
mod limits;
mod lists;
mod load;
mod mcp;
mod operation;
mod packs;
mod prompts;
mod reload;
mod stopping;
mod store;
mod support;
mod tools;
mod v1;
