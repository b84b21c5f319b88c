//! Opens a workspace for whoever runs the engine: the `hina` command, the daemon.
//!
//! The engine knows ports; this crate knows which implementation of each the settings ask for.

mod store;
mod workspace;

pub use store::{mask_password, store_location};
pub use workspace::{OpenOptions, OpenWorkspace, ProcessKind};
