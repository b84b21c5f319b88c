//! Tests the server with the official client, in both eras of the protocol.

mod changes;
mod hostile;
mod input;
mod prompts;
mod resources;
mod skills;
mod support;
mod tools;
