//! Tests the server with the official client, in both eras of the protocol.

mod changes;
mod hostile;
mod input;
mod project;
mod prompts;
mod resources;
mod support;
mod tools;
