//! Tests the server with the official client, in both eras of the protocol.

mod changes;
mod hostile;
mod hosts;
mod input;
mod prompts;
mod resources;
mod support;
mod tools;
