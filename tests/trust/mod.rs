//! Attacks on what a user approved or trusts, and calls that must not end well in silence: `hina` itself, in
//! workspaces made for it. Each test is one attack, or one variant of it, named after what must hold.
#![cfg(unix)]

mod approvals;
mod consent;
mod context;
mod daemon;
mod http;
mod keys;
mod long_templates;
mod mcp;
mod packs;
mod profile_doors;
mod profiles;
mod protocol;
mod python;
mod race;
mod redaction;
mod secrets;
mod settings;
mod slips;
mod spoiled;
pub(crate) mod support;
mod unreadable;
mod unreadable_doors;
mod unreadable_packs;
mod workers;
