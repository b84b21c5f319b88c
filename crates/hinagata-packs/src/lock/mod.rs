//! `hinagata.lock`: what the packs and choices of a workspace are, exactly.
//!
//! The settings say which packs are wanted, the lock which files they have. It contains no times, no paths of this
//! machine and no credentials, and has the same bytes on every system.
//!
//! The reasons are in `docs/design/pack-lock.md`.

mod compare;
mod drift;
mod format;
mod merge;
mod state;

use std::{collections::BTreeMap, path::Path};

use hinagata_document::{Code, Digest, Error, Hint, Result};
use hinagata_workspace::write::{Writer, read_text};

pub use compare::LockCheck;
pub(crate) use compare::{lock_error, messages, wanted_differences};
pub use drift::{LockDrift, find_drifts};
pub use merge::MergedLock;
pub use state::{LockOptions, schema_digest};

use crate::{location::PackLocation, root_file::lock_wanted};

/// The name of the file, beneath the workspace root.
pub const LOCK_FILE: &str = "hinagata.lock";

/// Largest lock, in bytes.
const LARGEST: u64 = 16 << 20;

/// The number of the semantics of the engine. It grows when the same prompts and variables can give other bytes.
pub const SEMANTICS: u32 = 1;

/// The content of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The semantics of the engine that wrote it.
    pub semantics: u32,
    /// The packs by id.
    pub packs: BTreeMap<String, LockedPack>,
    /// The choices between candidates by prompt, and by tool as `tool:ID`.
    pub resolutions: BTreeMap<String, LockedChoice>,
    /// The SHA-256 of the definition of each tool by id.
    pub tools: BTreeMap<String, Digest>,
    /// The SHA-256 of the schemas that the servers of tools state, by id, if they are locked.
    pub tool_schemas: BTreeMap<String, Digest>,
    /// The SHA-256 of the tokenizer file of each model by name.
    pub tokenizers: BTreeMap<String, Digest>,
    /// The SHA-256 of all files of each prompt by id, if prompts are locked.
    pub prompts: Option<BTreeMap<String, String>>,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            semantics: SEMANTICS,
            packs: BTreeMap::new(),
            resolutions: BTreeMap::new(),
            tools: BTreeMap::new(),
            tool_schemas: BTreeMap::new(),
            tokenizers: BTreeMap::new(),
            prompts: None,
        }
    }
}

/// A locked pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedPack {
    /// The version in its `pack.json`.
    pub version: String,
    /// Where it comes from; `None` for a pack that was installed by hand.
    pub location: Option<PackLocation>,
    /// The commit, if it comes from a git repository.
    pub commit: Option<String>,
    /// The SHA-256 over all files.
    pub tree: Digest,
    /// The packs that it requires, with ranges of versions.
    pub requires: BTreeMap<String, String>,
    /// The key that signed it.
    pub key: Option<String>,
}

/// A locked choice between candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedChoice {
    /// The directory or file that was chosen, as a path from the workspace root.
    pub source: String,
    /// The pack whose proposal to replace was accepted, if any.
    pub replaces: Option<String>,
}

impl Lock {
    /// Reads the lock of the workspace at `root`; `None` if it has none.
    ///
    /// # Errors
    /// Code `lock` if it is invalid or has conflict markers; code `store` if it cannot be read.
    pub fn read(root: &Path) -> Result<Option<Self>> {
        let Some(text) = read_lock_text(root)? else { return Ok(None) };
        if merge::has_conflict(&text) {
            return Err(Error::new(Code::Lock, format!("{LOCK_FILE} contains conflict markers of a merge"))
                .with("path", LOCK_FILE)
                .with_hint(Hint::LockWorkspace.then("that merges both sides")));
        }
        Self::parse(&text).map(Some)
    }

    /// As [`Lock::read`], with both sides of a conflict merged.
    ///
    /// # Errors
    /// Code `lock` if a side is invalid.
    pub fn read_merged(root: &Path) -> Result<Option<MergedLock>> {
        let Some(text) = read_lock_text(root)? else { return Ok(None) };
        MergedLock::parse(&text).map(Some)
    }

    /// Writes the lock of the workspace at `root` in one step, unless it has this content already. Whether it changed.
    ///
    /// # Errors
    /// Code `store` if it cannot be written.
    pub fn write(&self, root: &Path) -> Result<bool> {
        self.write_under(&lock_wanted(root)?, root)
    }

    /// As [`Lock::write`], for who holds the lock already.
    pub(crate) fn write_under(&self, lock: &Writer, root: &Path) -> Result<bool> {
        let text = self.to_string();
        if read_lock_text(root)?.is_some_and(|before| before == text) {
            return Ok(false);
        }
        lock.replace_in(root, LOCK_FILE, text.as_bytes())?;
        Ok(true)
    }
}

fn read_lock_text(root: &Path) -> Result<Option<String>> {
    read_text(&root.join(LOCK_FILE), LARGEST)
}
