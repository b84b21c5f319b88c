//! What stands between a pack and its use: the user's word, and the hashes it was given for.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use hinagata_document::{Code, Digest, Error, Hint, Reason, Result};
use hinagata_workspace::{Directory, Stamp};

use super::{
    Approval,
    approved::ApprovedCopy,
    changes::{Changes, Walk, compare},
    record::{PackState, Record},
};
use crate::PackId;

/// The guard of one pack in one snapshot.
///
/// Whether the pack has an approval with hashes is settled when it is made. If it has one, everything that is read
/// of the pack comes from the approved copy and is compared with it, whatever happens to files and approvals later.
#[derive(Debug)]
pub struct Seal {
    pack: PackId,
    kind: Kind,
    /// Asked for once, so that one snapshot gives one answer.
    approval: OnceLock<Approval>,
    copy: OnceLock<Result<ApprovedCopy>>,
}

#[derive(Debug)]
enum Kind {
    /// The host decided; there is nothing to compare with.
    Host(Approval),
    /// The user decided, or did not decide yet.
    Recorded {
        state: PackState,
        /// The state of the approval's file when the seal was made; `None`: not approved.
        stamp: Option<Stamp>,
        record: OnceLock<Result<Arc<Record>>>,
    },
}

impl Seal {
    pub(super) fn from_host(pack: &PackId, approval: Approval) -> Self {
        Self {
            pack: pack.clone(),
            kind: Kind::Host(approval),
            approval: OnceLock::new(),
            copy: OnceLock::new(),
        }
    }

    pub(super) fn from_record(state: PackState) -> Self {
        let (pack, stamp) = (state.pack().clone(), state.approval_stamp());
        let kind = Kind::Recorded { state, stamp, record: OnceLock::new() };
        Self { pack, kind, approval: OnceLock::new(), copy: OnceLock::new() }
    }

    /// Whether what was read under one seal is what would have been read under the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let sealed = |seal: &Self| match &seal.kind {
            Kind::Host(_) => None,
            Kind::Recorded { stamp, .. } => *stamp,
        };
        self.pack == other.pack && sealed(self) == sealed(other)
    }

    /// The state of the pack in `directory`.
    pub(crate) fn approval(&self, directory: &Directory) -> Approval {
        *self.approval.get_or_init(|| match &self.kind {
            Kind::Host(said) => *said,
            Kind::Recorded { stamp, .. } => match self.is_rejected() {
                true => Approval::Rejected,
                false if stamp.is_none() => Approval::Pending,
                false => self.compare_with_record(directory),
            },
        })
    }

    fn is_rejected(&self) -> bool {
        let Kind::Recorded { state, .. } = &self.kind else { return false };
        // What cannot be read may be a rejection.
        state.decisions().map_or(true, |decisions| decisions.rejected.is_some())
    }

    fn compare_with_record(&self, directory: &Directory) -> Approval {
        let Some(Ok((state, record))) = self.record() else { return Approval::Pending };
        let known = state.stamps(&record);
        let (changes, stamps) = compare(directory, &record, &known, Walk::Pack);
        if !changes.is_empty() {
            return Approval::Modified;
        }
        state.keep_stamps(&record, &known, stamps, SystemTime::now());
        Approval::Approved
    }

    /// The approval to compare with; `None` when there was none when the seal was made.
    fn record(&self) -> Option<Result<(&PackState, Arc<Record>)>> {
        let Kind::Recorded { state, stamp: Some(_), record } = &self.kind else { return None };
        let read = || state.record()?.map(Arc::new).ok_or_else(|| self.pending_error());
        Some(record.get_or_init(read).clone().map(|record| (state, record)))
    }

    /// Why it is not known what was decided; then nothing of the pack is used.
    pub(crate) fn decision_error(&self) -> Option<Error> {
        let Kind::Recorded { state, .. } = &self.kind else { return None };
        state.decisions().err().or_else(|| self.record()?.err())
    }

    /// What is wrong with the files that tell what was decided.
    pub(crate) fn problem(&self) -> Option<Error> {
        let copy =
            || self.is_sealed().then(|| self.copy().and_then(ApprovedCopy::checked_directory).err())?;
        self.decision_error().or_else(copy)
    }

    /// What is different from the approval; `None` when there is none.
    pub fn changes(&self, directory: &Directory) -> Option<Changes> {
        let (state, record) = self.record()?.ok()?;
        Some(compare(directory, &record, &state.stamps(&record), Walk::Pack).0)
    }

    /// Whether there are hashes to compare with, and a copy to read from.
    pub(crate) fn is_sealed(&self) -> bool {
        matches!(self.kind, Kind::Recorded { stamp: Some(_), .. })
    }

    /// The bytes of the file at `path` beneath `live`, which is the directory `base` of the pack, and its state: of what was
    /// approved, whatever `live` holds by now. `None` when there is no such file.
    ///
    /// # Errors
    /// Code `approval`, reason `modified`, when there is a file that was not approved; reason `copy` when the approved
    /// copy is not what was approved; those of reading.
    pub(crate) fn read(
        &self,
        live: &Directory,
        base: &str,
        path: &str,
        largest: u64,
    ) -> Result<Option<(Vec<u8>, Stamp)>> {
        let Some(record) = self.record() else { return live.read_with_stamp(path, largest) };
        let inner = join(base, path);
        match record?.1.files.get(&inner) {
            Some(approved) => self.copy()?.read(&inner, approved, largest).map(Some),
            // It is read to tell why it cannot be used, and goes no further.
            None => match live.read_with_stamp(path, largest)? {
                Some(_) => Err(self.modified_error(&inner)),
                None => Ok(None),
            },
        }
    }

    /// The state of the file that [`Seal::read`] reads.
    pub(crate) fn stamp(&self, live: &Directory, base: &str, path: &str) -> Option<Stamp> {
        match join(base, path) {
            inner if self.has_approved(&inner) => self.copy().ok()?.stamp(&inner),
            _ => live.stamp(path),
        }
    }

    /// Whether the file at `path`, a path from the pack, was approved.
    pub(crate) fn has_approved(&self, path: &str) -> bool {
        matches!(self.record(), Some(Ok((_, record))) if record.files.contains_key(path))
    }

    /// The names of the approved files in `directory`, a path from the pack, in order.
    pub(crate) fn approved_names(&self, directory: &str) -> Vec<String> {
        let Some(Ok((_, record))) = self.record() else { return Vec::new() };
        let name = |path: &String| path.strip_prefix(directory)?.strip_prefix('/').map(str::to_owned);
        record.files.keys().filter_map(name).filter(|name| !name.contains('/')).collect()
    }

    /// Whether the pack has anything in `directory`, a path from the pack.
    pub(crate) fn has_directory(&self, live: &Directory, directory: &str) -> bool {
        match self.record() {
            Some(Ok((_, record))) => record
                .files
                .keys()
                .any(|path| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))),
            _ => live.path().join(directory).is_dir(),
        }
    }

    /// The SHA-256 of all approved files together; `None` when there are none to compare with.
    pub(crate) fn content(&self) -> Option<Digest> {
        Some(self.record()?.ok()?.1.content)
    }

    /// The directory that the pack's Python may read: the approved copy, after a look at all of it. Where a host decided for
    /// itself there is none, and it is the pack's own.
    ///
    /// # Errors
    /// Code `approval`, when the copy is not what was approved.
    pub fn python_directory(&self, live: &Directory) -> Result<PathBuf> {
        match self.is_sealed() {
            true => self.copy()?.checked_directory().map(Path::to_owned),
            false => Ok(live.path().to_owned()),
        }
    }

    fn copy(&self) -> Result<&ApprovedCopy> {
        let opened = self.copy.get_or_init(|| match self.record() {
            Some(record) => record.and_then(|(state, record)| ApprovedCopy::open(state, record)),
            None => Err(self.pending_error()),
        });
        opened.as_ref().map_err(Clone::clone)
    }

    fn pending_error(&self) -> Error {
        Error::new(Code::Approval, format!("the approval of the pack `{}` was revoked", self.pack))
            .with_reason(Reason::Pending)
            .with("pack_id", self.pack.as_str())
            .with_hint(Hint::ApprovePack { pack: self.pack.to_string() })
    }

    fn modified_error(&self, path: &str) -> Error {
        let pack = &self.pack;
        Error::new(Code::Approval, format!("`{path}` of the pack `{pack}` differs from what was approved"))
            .with_reason(Reason::Modified)
            .with("pack_id", pack.as_str())
            .with("file", path)
            .with_hint(Hint::VerifyPack { pack: pack.to_string() })
    }
}

/// The path from the pack, without empty and `.` segments, which lead to the same file.
fn join(base: &str, path: &str) -> String {
    let path = Path::new(base).join(path);
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    parts.join("/")
}
