//! Differences between a pack and its approval.

use std::collections::BTreeMap;

use hinagata_document::Digest;
use hinagata_workspace::{Directory, Stamp};

use super::{
    files::{PackLimits, Refused, walk_everything, walk_pack},
    record::Record,
};

/// The differences between a pack and its approval, as sorted lists of paths from the pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New files.
    pub added: Vec<String>,
    /// Missing files.
    pub removed: Vec<String>,
    /// Files with different content.
    pub changed: Vec<String>,
    /// Entries that a pack cannot contain, such as links and devices.
    pub refused: Vec<Refused>,
}

impl Changes {
    /// Whether there are no differences.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { added, removed, changed, refused } = self;
        added.is_empty() && removed.is_empty() && changed.is_empty() && refused.is_empty()
    }
}

/// Which files of a directory are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    /// The files of the pack.
    Pack,
    /// All files, for an approved copy.
    Everything,
}

/// Compares the files beneath `directory` with `record`. A file whose stamp is in `known` was compared before; others
/// are hashed. Also returns the stamps of all files with the approved content.
pub(super) fn compare(
    directory: &Directory,
    record: &Record,
    known: &BTreeMap<String, Stamp>,
    which: Walk,
) -> (Changes, BTreeMap<String, Stamp>) {
    let walked = match which {
        Walk::Pack => walk_pack(directory.path(), &PackLimits::DEFAULT),
        Walk::Everything => walk_everything(directory.path(), &PackLimits::DEFAULT),
    };
    let mut changes = Changes { refused: walked.refused, ..Changes::default() };
    let mut same = BTreeMap::new();
    for (path, stamp) in walked.files {
        let Some(approved) = record.files.get(&path) else {
            changes.added.push(path);
            continue;
        };
        let known = known.get(&path).filter(|known| **known == stamp).copied();
        match known.or_else(|| approved_stamp(directory, &path, approved)) {
            Some(stamp) => drop(same.insert(path, stamp)),
            None => changes.changed.push(path),
        }
    }
    let gone = |path: &&String| !same.contains_key(*path) && changes.changed.binary_search(path).is_err();
    changes.removed = record.files.keys().filter(gone).cloned().collect();
    (changes, same)
}

/// The stamp of a file from before it was read, if it has the approved content.
fn approved_stamp(directory: &Directory, path: &str, approved: &Digest) -> Option<Stamp> {
    let (bytes, stamp) = directory.read_with_stamp(path, PackLimits::DEFAULT.file).ok()??;
    (Digest::sha256(&bytes) == *approved).then_some(stamp)
}
