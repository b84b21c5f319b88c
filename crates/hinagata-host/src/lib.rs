//! Opens a workspace for whoever runs the engine: the `hina` command, the daemon.
//!
//! The engine knows ports; this crate knows which implementation of each the settings ask for.

mod store;
mod workspace;

pub use store::{masked, store_place};
pub use workspace::{Opening, Patience, Workspace};
