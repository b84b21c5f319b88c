//! The approved copy of a pack: all reads of the pack come from it.
//!
//! The copy is in the user's state directory, out of reach for a writer of the pack's directory. It is not trusted
//! either: every file is hashed when the engine reads it. Before Python sees the copy, all of it is checked: this
//! process has hashed each file in its current state, and there is nothing else, no bytecode and no link. This does
//! not stop somebody who writes the state directory between that check and the read by Python; but whoever can do
//! that can write approvals as well.

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
    /// Stamps of files that had the approved content.
    known: Mutex<BTreeMap<String, Stamp>>,
}

impl ApprovedCopy {
    /// The copy that belongs to `record`.
    pub(super) fn open(state: &PackState, record: Arc<Record>) -> Result<Self> {
        let pack = state.pack().clone();
        let directory = state.copy(&record).ok_or_else(|| copy_error(&pack, "is missing"))?;
        Ok(Self { pack, record, directory, known: Mutex::default() })
    }

    /// The bytes of the approved file at `path`, checked against their hash, and the stamp of the file.
    pub(super) fn read(&self, path: &str, approved: &Digest, largest: u64) -> Result<(Vec<u8>, Stamp)> {
        let read = self.directory.read_with_stamp(path, largest).map_err(|error| match error.reason() {
            // The approved file itself is larger than the caller allows.
            Some(Reason::Size) => error,
            _ => self.unreadable_error(path).with_source(error),
        });
        let (bytes, stamp) = read?.ok_or_else(|| self.missing_error(path))?;
        if Digest::sha256(&bytes) == *approved { Ok((bytes, stamp)) } else { Err(self.changed_error(path)) }
    }

    pub(super) fn stamp(&self, path: &str) -> Option<Stamp> {
        self.directory.stamp(path)
    }

    /// The directory of the copy, after a check of all files.
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
