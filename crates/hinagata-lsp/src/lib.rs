//! The language server of Hinagata: what `hina check` knows, in editors.
//!
//! One thread reads messages in order. It keeps the open documents, puts their unsaved texts in the place of the saved
//! ones, and checks the prompts that an edit touches, those of open documents first. Questions are answered beside it, on
//! snapshots, and can be cancelled. Nothing that is asked runs Python, calls a tool or a model. docs/design/editors.md gives
//! the reasons.

mod actions;
mod documents;
mod features;
mod position;
mod preview;
mod protocol;
mod server;
mod snapshot;
mod values;
mod workers;
mod workspace;

pub use documents::Document;
pub use position::{Encoding, TextLines};
pub use protocol::{Position, Range};
pub use server::{ServerError, ServerOptions, serve_connection, serve_stdio};
