//! What is different from what was approved.

use std::collections::BTreeMap;

use hinagata_document::Digest;
use hinagata_workspace::{Directory, Stamp};

use super::{
    files::{PackLimits, Refused, walk_everything, walk_pack},
    record::Record,
};

/// What is different from what was approved, by path from the pack, each list in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that were not there.
    pub added: Vec<String>,
    /// Files that are gone.
    pub removed: Vec<String>,
    /// Files with another content.
    pub changed: Vec<String>,
    /// What no pack can hold: links, devices and the like.
    pub refused: Vec<Refused>,
}

impl Changes {
    /// Whether nothing is different.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { added, removed, changed, refused } = self;
        added.is_empty() && removed.is_empty() && changed.is_empty() && refused.is_empty()
    }
}

/// Which files of a directory are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    /// Those that are part of a pack.
    Pack,
    /// All of them: in a copy of ours nothing is left out.
    Everything,
}

/// Compares the files beneath `directory` with `record`. A file whose stamp is in `known` was compared before; others
/// are hashed. Also gives the stamps of all files that are as they were approved.
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

/// The state of a file before it was read, when it has the approved content.
fn approved_stamp(directory: &Directory, path: &str, approved: &Digest) -> Option<Stamp> {
    let (bytes, stamp) = directory.read_with_stamp(path, PackLimits::DEFAULT.file).ok()??;
    (Digest::sha256(&bytes) == *approved).then_some(stamp)
}
