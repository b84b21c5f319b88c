//! What many machines share: extensions, templates, environs and tools, as the engine sees them.
//!
//! Where they are kept is the business of whoever implements the port `Store`. The engine gets a
//! [`StoreSnapshot`]: one state of everything, which does not change. What the documents in it mean is told here.

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
pub use prompts::{StorePrompt, StorePrompts};
pub use schemas::{EXTENSION_SCHEMA, TOOL_SCHEMA, check_shape};
pub use snapshot::{StoreKind, StoreSnapshot, Stored, StoredMap};
