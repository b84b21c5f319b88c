//! Changes of the user's own prompts and files: what a person edits, others only read.
//!
//! Every change holds a lock of its directory, is written beside the file and renamed, and follows no link. What is
//! deleted goes to the [`Trash`] of the workspace.

mod held;
mod imported;
mod prompts;
mod references;
mod skeleton;
mod trash;
mod write;

use std::fmt;

use hinagata_document::Error;

pub use held::{HeldFile, HeldFiles};
pub use imported::{ImportRecord, PlannedImport};
pub use prompts::RenamedPrompt;
pub use references::Reference;
pub use skeleton::{NewFile, PromptForm, create_directory};
pub use trash::{Trash, TrashEntry, TrashKind};
pub use write::WrittenFile;

/// The largest file that can be edited, in bytes.
pub const LARGEST: u64 = 256 << 10;

/// Why an edit was not made.
#[derive(Debug)]
pub enum EditError {
    /// The file or prompt is not the user's own, or a link.
    ReadOnly {
        /// The path.
        path: String,
    },
    /// There is something at the path already.
    Taken {
        /// The path.
        path: String,
    },
    /// The catalog does not hold the file.
    Missing {
        /// The path.
        path: String,
    },
    /// Anything else.
    Failed(Error),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly { path } => {
                write!(f, "`{path}` cannot be changed: it is not one of your own files")
            }
            Self::Taken { path } => write!(f, "`{path}` already exists"),
            Self::Missing { path } => write!(f, "`{path}` not found"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EditError {}

impl From<Error> for EditError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The lock of a directory whose files are edited.
pub(crate) const LOCK: &str = ".edit.lock";
