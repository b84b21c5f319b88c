//! Everything about one workspace on disk: its root, its settings, trust, the recorded decisions of the user, and safe
//! access to its files.
//!
//! ```
//! use hinagata_workspace::{Settings, settings::SettingsSources};
//!
//! let sources = SettingsSources {
//!     flags: vec!["render.language=de".to_owned()],
//!     ..SettingsSources::default()
//! };
//! let settings = Settings::resolve(&sources, false)?;
//! assert_eq!(settings.language(), Some("de"));
//! # Ok::<(), hinagata_document::Error>(())
//! ```
//!
//! Files of a workspace are untrusted: they are opened only beneath a [`Directory`], with a limit on their size.
//! Decisions of the user are saved in a [`StateDir`] outside of every workspace, so that a clone cannot bring its own
//! approval.

mod directory;
pub mod layout;
mod places;
mod root;
pub mod secret;
pub mod settings;
pub mod state;
mod time;
mod trust;
#[cfg(feature = "watch")]
pub mod watch;
pub mod write;

pub use directory::{Directory, DirectoryEntry, LinkTarget, ReadFile, Refused, Stamp, decode_text};
pub use places::LocalPlaces;
pub use root::{ROOT_VARIABLE, RootFound, WorkspaceRoot};
pub use settings::Settings;
pub use state::StateDir;
pub use time::format_utc;
pub use trust::{Distrust, Trust, TrustState, TrustedWorkspace, permissions_needing_trust};
