//! The copy of a pack as it was approved: what is read of the pack comes from here.
//!
//! The copy is the user's own: it lies in the state directory, and whoever writes the directory of the pack cannot
//! reach it. It is not believed either. A file that the engine reads is hashed as it is read. Before Python is shown
//! the copy, all of it is looked at: each file was hashed by this process in the state that it has now, and nothing
//! else is there, no bytecode and no link. What this does not stop is somebody who writes the state directory in the
//! moment between that look and Python's own reading; who can do that can write approvals as well.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use hinagata_document::{Code, Digest, Error, Hint, Reason, Result};
use hinagata_workspace::{Directory, Stamp};

use super::{
    changes::{Walk, compare},
    record::{PackState, Record},
};
use crate::PackId;

/// The approved copy of one pack.
#[derive(Debug)]
pub(super) struct ApprovedCopy {
    pack: PackId,
    record: Arc<Record>,
    directory: Directory,
    /// States in which files had the approved content.
    known: Mutex<BTreeMap<String, Stamp>>,
}

impl ApprovedCopy {
    /// The copy that belongs to `record`.
    pub(super) fn open(state: &PackState, record: Arc<Record>) -> Result<Self> {
        let pack = state.pack().clone();
        let directory = state.copy(&record).ok_or_else(|| copy_error(&pack, "is missing"))?;
        Ok(Self { pack, record, directory, known: Mutex::default() })
    }

    /// The bytes of the approved file at `path`, compared with their hash, and the state of the file.
    pub(super) fn read(&self, path: &str, approved: &Digest, largest: u64) -> Result<(Vec<u8>, Stamp)> {
        let read = self.directory.read_with_stamp(path, largest).map_err(|error| match error.reason() {
            // It was approved as large as it is.
            Some(Reason::Size) => error,
            _ => self.unreadable_error(path).with_source(error),
        });
        let (bytes, stamp) = read?.ok_or_else(|| self.missing_error(path))?;
        if Digest::sha256(&bytes) == *approved { Ok((bytes, stamp)) } else { Err(self.changed_error(path)) }
    }

    pub(super) fn stamp(&self, path: &str) -> Option<Stamp> {
        self.directory.stamp(path)
    }

    /// The directory of the copy, after a look at all of it.
    pub(super) fn checked_directory(&self) -> Result<&Path> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (changes, stamps) = compare(&self.directory, &self.record, &known, Walk::Everything);
        *known = stamps;
        let added = changes.added.first().or(changes.refused.first().map(|refused| &refused.path));
        if let Some(path) = changes.changed.first() {
            return Err(self.changed_error(path));
        }
        if let Some(path) = changes.removed.first() {
            return Err(self.missing_error(path));
        }
        match added {
            Some(path) => Err(copy_error(&self.pack, &format!("contains `{path}`, which was not approved"))),
            None => Ok(self.directory.path()),
        }
    }

    fn changed_error(&self, path: &str) -> Error {
        copy_error(&self.pack, &format!("contains a `{path}` that differs from the approved file"))
            .with("file", path)
    }

    fn unreadable_error(&self, path: &str) -> Error {
        copy_error(&self.pack, &format!("contains a `{path}` that cannot be read")).with("file", path)
    }

    fn missing_error(&self, path: &str) -> Error {
        copy_error(&self.pack, &format!("lacks `{path}`")).with("file", path)
    }
}

fn copy_error(pack: &PackId, what: &str) -> Error {
    Error::new(Code::Approval, format!("the approved copy of the pack `{pack}` {what}"))
        .with_reason(Reason::Copy)
        .with("pack_id", pack.as_str())
        .with_hint(Hint::ApprovePack { pack: pack.to_string() })
}
