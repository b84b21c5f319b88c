//! The documented way to embed Hinagata: from a directory with settings to a running engine.
//!
//! The engine itself asks for ports: a store, Python, tools, models. This crate opens a workspace and gives its engine
//! the implementation of each port that the settings name.
//!
//! Every workspace has the built-in prompts, so an empty directory is enough for a first render:
//!
//! ```
//! use hinagata::Request;
//! use hinagata_host::{Environment, OpenOptions, OpenWorkspace};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let directory = tempfile::tempdir()?;
//! let options = OpenOptions {
//!     root: Some(directory.path().to_owned()),
//!     // Read no settings of the user and no keys of models.
//!     environment: Environment::without_variables(),
//!     ..OpenOptions::default()
//! };
//! let workspace = OpenWorkspace::open(&options, directory.path())?;
//! let engine = workspace.open_engine()?;
//!
//! let variables = json!({"task": "Paint the tower"});
//! let request = Request::new("planning_task_decomposition").with_variables(&variables);
//! let rendered = engine.render_blocking(&request)?;
//! assert!(rendered.text().contains("Paint the tower"));
//! # Ok(())
//! # }
//! ```
//!
//! A process that stays opens its workspace as [`ProcessKind::Daemon`]. `hinagata-server` serves such a workspace over
//! HTTP.

#[cfg(feature = "audit")]
mod audit;
#[cfg(feature = "audit")]
mod audit_file;
#[cfg(feature = "check")]
mod check;
mod environment;
mod lock_guard;
#[cfg(feature = "tools")]
mod locked_tools;
mod store;
mod workspace;

#[cfg(feature = "audit")]
pub use audit::{Audit, AuditEntry};
pub use environment::Environment;
pub use hinagata_packs as packs;
pub use store::{mask_password, store_location};
pub use workspace::{OpenOptions, OpenWorkspace, ProcessKind};
