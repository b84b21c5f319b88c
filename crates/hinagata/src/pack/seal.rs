//! What stands between a pack and its use: the user's word, and the hashes it was given for.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use super::{
    Approval, PackId,
    changes::{Changes, compare},
    record::{PackState, Record},
};
use crate::{
    Code, Error, Result,
    digest::Digest,
    source::{Directory, Stamp},
};

/// The guard of one pack in one snapshot.
///
/// Whether the pack has an approval with hashes is settled when it is made. If it has one, everything that is read
/// of the pack is compared with it, whatever happens to files and approvals later.
#[derive(Debug)]
pub(crate) struct Seal {
    pack: PackId,
    kind: Kind,
    /// Asked for once, so that one snapshot gives one answer.
    approval: OnceLock<Approval>,
}

#[derive(Debug)]
enum Kind {
    /// The host decided; there is nothing to compare with.
    Said(Approval),
    /// The user decided, or did not decide yet.
    Remembered {
        state: PackState,
        /// The state of the approval's file when the seal was made; `None`: not approved.
        stamp: Option<Stamp>,
        record: OnceLock<Result<Arc<Record>>>,
    },
}

impl Seal {
    pub(super) fn said(pack: &PackId, approval: Approval) -> Self {
        Self { pack: pack.clone(), kind: Kind::Said(approval), approval: OnceLock::new() }
    }

    pub(super) fn remembered(state: PackState) -> Self {
        let (pack, stamp) = (state.pack().clone(), state.approval_stamp());
        let kind = Kind::Remembered { state, stamp, record: OnceLock::new() };
        Self { pack, kind, approval: OnceLock::new() }
    }

    /// Whether what was read under one seal is what would have been read under the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let sealed = |seal: &Self| match &seal.kind {
            Kind::Said(_) => None,
            Kind::Remembered { stamp, .. } => *stamp,
        };
        self.pack == other.pack && sealed(self) == sealed(other)
    }

    /// The state of the pack in `directory`.
    pub(crate) fn approval(&self, directory: &Directory) -> Approval {
        *self.approval.get_or_init(|| match &self.kind {
            Kind::Said(said) => *said,
            Kind::Remembered { stamp, .. } => match self.is_rejected() {
                true => Approval::Rejected,
                false if stamp.is_none() => Approval::Pending,
                false => self.compared(directory),
            },
        })
    }

    fn is_rejected(&self) -> bool {
        let Kind::Remembered { state, .. } = &self.kind else { return false };
        // What cannot be read may be a rejection.
        state.decisions().map_or(true, |decisions| decisions.rejected.is_some())
    }

    fn compared(&self, directory: &Directory) -> Approval {
        let Some(Ok((state, record))) = self.record() else { return Approval::Pending };
        let known = state.stamps(&record);
        let (changes, stamps) = compare(directory, &record, &known);
        if !changes.is_empty() {
            return Approval::Modified;
        }
        state.keep_stamps(&record, &known, stamps, SystemTime::now());
        Approval::Approved
    }

    /// The approval to compare with; `None` when there was none when the seal was made.
    fn record(&self) -> Option<Result<(&PackState, Arc<Record>)>> {
        let Kind::Remembered { state, stamp: Some(_), record } = &self.kind else { return None };
        let gone = || {
            Error::new(Code::Approval, format!("the approval of the pack `{}` was taken back", self.pack))
                .with("reason", "pending")
                .with("pack_id", self.pack.as_str())
                .with_hint(format!("`hina pack approve {}` approves it again", self.pack))
        };
        let read = || state.record()?.map(Arc::new).ok_or_else(gone);
        Some(record.get_or_init(read).clone().map(|record| (state, record)))
    }

    /// What is wrong with the files that tell what was decided.
    pub(crate) fn problem(&self) -> Option<Error> {
        let Kind::Remembered { state, .. } = &self.kind else { return None };
        state.decisions().err().or_else(|| self.record()?.err())
    }

    /// What is different from the approval; `None` when there is none.
    pub(crate) fn changes(&self, directory: &Directory) -> Option<Changes> {
        let (state, record) = self.record()?.ok()?;
        Some(compare(directory, &record, &state.stamps(&record)).0)
    }

    /// Compares what was read at `path`, a path from the pack, with what was approved.
    ///
    /// # Errors
    /// Code `approval`, reason `modified`, when it is something else.
    pub(crate) fn check(&self, path: &str, read: Option<&[u8]>) -> Result<()> {
        let Some(record) = self.record() else { return Ok(()) };
        let (_, record) = record?;
        let approved = record.files.get(normal(path).as_str());
        match (approved, read) {
            (None, None) => Ok(()),
            (Some(approved), Some(bytes)) if Digest::of(bytes) == *approved => Ok(()),
            _ => Err(self.modified(path)),
        }
    }

    fn modified(&self, path: &str) -> Error {
        let pack = &self.pack;
        Error::new(Code::Approval, format!("`{path}` of the pack `{pack}` is not what was approved"))
            .with("reason", "modified")
            .with("pack_id", pack.as_str())
            .with("file", path)
            .with_hint(format!("see what changed with `hina pack verify {pack}`, then approve it again"))
    }
}

/// The path without empty and `.` segments, which lead to the same file.
fn normal(path: &str) -> String {
    let parts: Vec<_> = Path::new(path).iter().filter_map(|part| part.to_str()).collect();
    parts.join("/")
}
