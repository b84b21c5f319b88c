//! The seal of a pack: checks the user's approval and the approved hashes before any use.

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

/// The seal of one pack in one snapshot.
///
/// Whether the pack has an approval with hashes is fixed when the seal is created. If it has one, every file of the
/// pack is read from the approved copy and checked, whatever happens to files and approvals later.
#[derive(Debug)]
pub struct Seal {
    pack: PackId,
    kind: Kind,
    /// Computed once, so that the state does not change within a snapshot.
    approval: OnceLock<Approval>,
    copy: OnceLock<Result<ApprovedCopy>>,
}

#[derive(Debug)]
enum Kind {
    /// The host decided; there are no hashes.
    Host(Approval),
    /// The user decided or will decide.
    Recorded {
        state: PackState,
        /// The stamp of the approval's file when the seal was created; `None`: not approved.
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

    /// Whether reads under both seals have the same results.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let sealed = |seal: &Self| match &seal.kind {
            Kind::Host(_) => None,
            Kind::Recorded { stamp, .. } => *stamp,
        };
        self.pack == other.pack && sealed(self) == sealed(other)
    }

    /// The approval of the pack in `directory`.
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

    /// Notes that the pack was approved just now, when all its files were hashed. Nothing is hashed again for this snapshot.
    pub fn note_approved(&self) {
        let _ = self.approval.set(Approval::Approved);
    }

    fn is_rejected(&self) -> bool {
        let Kind::Recorded { state, .. } = &self.kind else { return false };
        // Unreadable decisions may contain a rejection.
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

    /// The approval to compare with; `None` if there was none when the seal was created.
    fn record(&self) -> Option<Result<(&PackState, Arc<Record>)>> {
        let Kind::Recorded { state, stamp: Some(_), record } = &self.kind else { return None };
        let read = || state.record()?.map(Arc::new).ok_or_else(|| self.pending_error());
        Some(record.get_or_init(read).clone().map(|record| (state, record)))
    }

    /// The error that the decisions cannot be read; the pack is then not used.
    pub(crate) fn decision_error(&self) -> Option<Error> {
        let Kind::Recorded { state, .. } = &self.kind else { return None };
        state.decisions().err().or_else(|| self.record()?.err())
    }

    /// The error of the stored decisions or of the approved copy.
    pub(crate) fn problem(&self) -> Option<Error> {
        let copy =
            || self.is_sealed().then(|| self.copy().and_then(ApprovedCopy::checked_directory).err())?;
        self.decision_error().or_else(copy)
    }

    /// The differences from the approval; `None` without an approval.
    pub fn changes(&self, directory: &Directory) -> Option<Changes> {
        let (state, record) = self.record()?.ok()?;
        Some(compare(directory, &record, &state.stamps(&record), Walk::Pack).0)
    }

    /// Whether there are approved hashes and a copy.
    pub(crate) fn is_sealed(&self) -> bool {
        matches!(self.kind, Kind::Recorded { stamp: Some(_), .. })
    }

    /// The bytes and the stamp of the approved file at `path` beneath `live`, which is the directory `base` of the
    /// pack, independent of the current content of `live`. `None` when it is missing.
    ///
    /// # Errors
    /// Code `approval`, reason `modified`, for a file that was not approved; reason `copy` when the approved copy has
    /// changed; those of reading.
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
            // The file is read only to report an error; its content is not used.
            None => match live.read_with_stamp(path, largest)? {
                Some(_) => Err(self.modified_error(&inner)),
                None => Ok(None),
            },
        }
    }

    /// The stamp of the file that [`Seal::read`] reads.
    pub(crate) fn stamp(&self, live: &Directory, base: &str, path: &str) -> Option<Stamp> {
        match join(base, path) {
            inner if self.has_approved(&inner) => self.copy().ok()?.stamp(&inner),
            _ => live.stamp(path),
        }
    }

    /// Whether the file with this path from the pack was approved.
    pub(crate) fn has_approved(&self, path: &str) -> bool {
        matches!(self.record(), Some(Ok((_, record))) if record.files.contains_key(path))
    }

    /// The names of the approved files in `directory`, a path from the pack, in order.
    pub(crate) fn approved_names(&self, directory: &str) -> Vec<String> {
        let Some(Ok((_, record))) = self.record() else { return Vec::new() };
        let name = |path: &String| path.strip_prefix(directory)?.strip_prefix('/').map(str::to_owned);
        record.files.keys().filter_map(name).filter(|name| !name.contains('/')).collect()
    }

    /// The paths of the approved files beneath `directory` of `base`, a directory of the pack, from `base`, in order.
    pub(crate) fn approved_beneath(&self, base: &str, directory: &str) -> Vec<String> {
        let Some(Ok((_, record))) = self.record() else { return Vec::new() };
        let inner = |path: &String| {
            let inner = path.strip_prefix(base)?.strip_prefix('/')?;
            inner.strip_prefix(directory)?.starts_with('/').then(|| inner.to_owned())
        };
        record.files.keys().filter_map(inner).collect()
    }

    /// The bytes of the approved file with this path from the pack; `None` without an approval, or if it was not
    /// approved.
    ///
    /// # Errors
    /// Code `approval`, reason `copy`, when the approved copy has changed; those of reading.
    pub fn approved_bytes(&self, path: &str, largest: u64) -> Result<Option<Vec<u8>>> {
        let Some(record) = self.record() else { return Ok(None) };
        match record?.1.files.get(path) {
            Some(approved) => Ok(Some(self.copy()?.read(path, approved, largest)?.0)),
            None => Ok(None),
        }
    }

    /// Whether the pack has files in `directory`, a path from the pack.
    pub(crate) fn has_directory(&self, live: &Directory, directory: &str) -> bool {
        match self.record() {
            Some(Ok((_, record))) => record
                .files
                .keys()
                .any(|path| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))),
            _ => live.path().join(directory).is_dir(),
        }
    }

    /// The SHA-256 over all approved files; `None` without approved hashes.
    pub(crate) fn content(&self) -> Option<Digest> {
        Some(self.record()?.ok()?.1.content)
    }

    /// The directory that the pack's Python may read: the approved copy, after a check of all files. Without a copy,
    /// because a host decided for itself, it is the pack's own directory.
    ///
    /// # Errors
    /// Code `approval` when the copy differs from what was approved.
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

/// The path from the pack without empty and `.` segments, so that one file has one path.
fn join(base: &str, path: &str) -> String {
    let path = Path::new(base).join(path);
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    parts.join("/")
}
