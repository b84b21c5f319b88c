//! The daemon over real HTTP on loopback, with a real store and a provider that can fail.

mod access;
mod agents;
mod chat;
mod events;
mod legacy;
mod limits;
mod lists;
mod mcp;
mod packs;
mod prompts;
mod stopping;
mod store;
mod support;
