//! Tests the server with the official client, in both eras of the protocol.

mod changes;
mod endless;
mod exposure;
mod hostile;
mod hosts;
mod http;
mod input;
mod project;
mod prompts;
mod resources;
mod stdio;
mod support;
mod tools;
