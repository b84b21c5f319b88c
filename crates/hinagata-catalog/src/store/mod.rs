//! The documents of the store that many machines share: extensions, templates, environs and tools.
//!
//! An implementation of the port `Store` decides where they are stored. The engine gets a [`StoreSnapshot`], an
//! immutable state of all documents. This module interprets the documents.

mod change;
mod environs;
mod extension;
mod health;
mod prompts;
mod range;
mod schemas;
mod snapshot;

pub use change::{StoreChange, check_change};
pub use environs::environ_tree;
pub use health::{Freshness, StoreHealth};
pub(crate) use prompts::HIDDEN_PROMPTS;
pub use prompts::{StorePrompt, StorePrompts};
pub use schemas::{EXTENSION_SCHEMA, TOOL_SCHEMA, check_shape};
pub use snapshot::{StoreKind, StoreSnapshot, Stored, StoredMap};
