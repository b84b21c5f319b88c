//! Knows one workspace on disk: where its root is, what its settings say, whether the user trusts it, what was decided
//! about it, and how its files are read and written safely.
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
//! Files come from strangers: they are opened beneath a [`Directory`] only, with a bound for their size. Decisions of the
//! user are kept in a [`StateDir`] outside of every workspace, so that nothing that is cloned brings its own approval.

mod directory;
pub mod layout;
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
pub use root::{ROOT_VARIABLE, RootFound, WorkspaceRoot};
pub use settings::Settings;
pub use state::StateDir;
pub use time::format_utc;
pub use trust::{Distrust, Trust, TrustState, TrustedWorkspace, permissions_needing_trust};
