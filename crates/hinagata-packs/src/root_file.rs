//! The lock of the files in the workspace root that say which packs are wanted and locked.

use std::path::Path;

use hinagata_document::Result;
use hinagata_workspace::{
    layout::PACKS,
    write::{Readers, Writer, directory_beneath},
};

/// The lock of everything that changes which packs a workspace wants and has locked. It is among the packs, so that no
/// lock file lies in the workspace root.
const SYNC_LOCK: &str = ".syncing.lock";

/// Waits until no other process changes what is wanted and locked.
pub(crate) fn lock_wanted(root: &Path) -> Result<Writer> {
    Writer::lock(&directory_beneath(root, PACKS)?, SYNC_LOCK, Readers::AsUsual)
}
