//! The user's decisions about one pack of one workspace, in the state directory.
//!
//! ```text
//! packs/<SHA-256 of its name>/approval.json      a SHA-256 for every file
//!                             stamps.json        stamps of files that were compared with it
//!                             decisions.json     a rejection; declined replacements
//! copies/<SHA-256 of its name>-<SHA-256>/        the approved files
//! ```
//!
//! Copies are separate because Python sees the copy of its pack and nothing else of the state.
//!
//! `approval.json` is written once and never changed, so that only the user's decision creates an approval. A rejection
//! takes precedence: after a crash between two writes the pack is unused rather than used.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use hinagata_document::{Code, Digest, Error, Hint, Reason, Result};
use hinagata_workspace::{
    Directory, Stamp, format_utc,
    layout::STAMPS_FILE,
    state::{self, WorkspaceState},
    write::{Readers, Writer, io_error},
};
use serde::{Deserialize, Serialize};

use super::{
    changes::{Walk, compare},
    copy::{PackCopy, put_copy},
};
use crate::PackId;

const APPROVAL: &str = "approval.json";
const DECISIONS: &str = "decisions.json";
const LOCK: &str = ".lock";
const NEW_COPY: &str = ".copy.new";
const COPIES: &str = "copies";

/// Largest of these files, in bytes: one line for every file of a pack.
const LARGEST: u64 = 64 << 20;

/// Stamps of files that changed more recently are not stored: file systems have coarse clocks, so such a file could
/// change again with the same modification time.
const SETTLED: Duration = Duration::from_secs(2);

/// An approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The workspace, for information.
    workspace: String,
    pack_id: String,
    /// The version that was approved.
    pub version: String,
    /// When it was approved, in UTC.
    pub approved_at: String,
    /// The SHA-256 over all files.
    pub(crate) content: Digest,
    /// The SHA-256 of every file by its path from the pack.
    pub files: BTreeMap<String, Digest>,
}

/// Stamps of files that had the approved content.
#[derive(Debug, Serialize, Deserialize)]
struct Stamps {
    /// The content of the approval that they belong to.
    content: Digest,
    files: BTreeMap<String, Stamp>,
}

/// The user's decisions about a pack besides its approval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// The workspace, for information.
    #[serde(default)]
    workspace: String,
    #[serde(default)]
    pack_id: String,
    #[serde(default)]
    pub(crate) rejected: Option<Rejection>,
    /// Prompts whose replacement was declined, by version of the pack.
    #[serde(default)]
    pub declined: BTreeMap<String, BTreeSet<String>>,
}

/// A rejection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rejection {
    pub(crate) version: String,
    pub(crate) rejected_at: String,
}

/// The stored decisions about a pack.
#[derive(Clone, Debug)]
pub struct PackState {
    workspace: WorkspaceState,
    pack: PackId,
    directory: PathBuf,
}

impl PackState {
    /// The stored decisions about `pack` in a workspace.
    pub fn new(workspace: &WorkspaceState, pack: &PackId) -> Self {
        let directory = workspace.directory.join("packs").join(state::hash_key(pack.as_str().as_bytes()));
        Self { workspace: workspace.clone(), pack: pack.clone(), directory }
    }

    pub(crate) fn pack(&self) -> &PackId {
        &self.pack
    }

    /// The stamp of the approval's file; `None` without an approval.
    pub(super) fn approval_stamp(&self) -> Option<Stamp> {
        let path = self.directory.join(APPROVAL);
        // A dangling link exists but cannot be read.
        let metadata = fs::metadata(&path).or_else(|_| fs::symlink_metadata(&path));
        metadata.ok().map(|metadata| Stamp::from_metadata(&metadata))
    }

    /// The approval, if any.
    pub fn record(&self) -> Result<Option<Record>> {
        state::read_json(&self.directory.join(APPROVAL), LARGEST)
    }

    /// The user's decisions besides the approval.
    ///
    /// # Errors
    /// Code `store` when it cannot be read.
    pub fn decisions(&self) -> Result<Decisions> {
        Ok(state::read_json(&self.directory.join(DECISIONS), LARGEST)?.unwrap_or_default())
    }

    /// Stamps of files that had the content of `record` when they were compared.
    pub(super) fn stamps(&self, record: &Record) -> BTreeMap<String, Stamp> {
        // Stamps are an optimization: on any error the files are hashed instead.
        let read = state::read_json::<Stamps>(&self.directory.join(STAMPS_FILE), LARGEST).ok().flatten();
        read.filter(|stamps| stamps.content == record.content).map(|stamps| stamps.files).unwrap_or_default()
    }

    /// Stores stamps of files if they changed and no other process is writing. They are an optimization only.
    pub(super) fn keep_stamps(
        &self,
        record: &Record,
        known: &BTreeMap<String, Stamp>,
        mut stamps: BTreeMap<String, Stamp>,
        now: SystemTime,
    ) {
        let settled = now.checked_sub(SETTLED).map_or(0, nanoseconds);
        stamps.retain(|_, stamp| stamp.last_change().is_some_and(|time| time < settled));
        if stamps == *known {
            return;
        }
        let Some(writer) = Writer::try_lock(&self.directory, LOCK, Readers::Owner) else { return };
        if self.record().is_ok_and(|now| now.is_some_and(|now| now == *record)) {
            let _ = writer.replace_json(STAMPS_FILE, &Stamps { content: record.content, files: stamps });
        }
    }

    fn lock(&self) -> Result<Writer> {
        Writer::lock(&self.directory, LOCK, Readers::Owner)
    }

    /// Approves the current content of `directory`; with `expected`, only if it has that digest.
    pub fn approve(
        &self,
        directory: &Directory,
        expected: Option<&Digest>,
        now: SystemTime,
    ) -> Result<Record> {
        let writer = self.lock()?;
        let copy = PackCopy::create(&self.directory.join(NEW_COPY), directory, &self.pack)?;
        if expected.is_some_and(|expected| *expected != copy.content) {
            return Err(Error::new(
                Code::Approval,
                format!("the pack `{}` has changed since it was reviewed", self.pack),
            )
            .with_reason(Reason::Modified)
            .with("pack_id", self.pack.as_str())
            .with_hint(Hint::ShowPack { pack: self.pack.to_string() }));
        }
        let record = Record {
            workspace: self.workspace.root.to_string_lossy().into_owned(),
            pack_id: self.pack.as_str().to_owned(),
            version: copy.manifest.version.clone(),
            approved_at: format_utc(now),
            content: copy.content,
            files: copy.files,
        };
        let place = self.copy_of(&record);
        let is_intact = || self.copy(&record).is_some_and(|copy| is_copy(&copy, &record));
        put_copy(&self.directory.join(NEW_COPY), &place, is_intact)
            .map_err(|error| io_error("written", &place, error))?;
        writer.replace_json(APPROVAL, &record)?;
        self.change_decisions(&writer, |decisions| decisions.rejected = None)?;
        self.remove_copies(Some(&place));
        Ok(record)
    }

    /// Rejects the pack.
    pub fn reject(&self, version: &str, now: SystemTime) -> Result<()> {
        let writer = self.lock()?;
        let rejected = Some(Rejection { version: version.to_owned(), rejected_at: format_utc(now) });
        self.change_decisions(&writer, |decisions| decisions.rejected = rejected)?;
        self.forget_approval(&writer)
    }

    /// Removes a rejection, because the rejected pack no longer exists.
    pub fn clear_rejection(&self) -> Result<()> {
        if self.decisions()?.rejected.is_none() {
            return Ok(());
        }
        self.change_decisions(&self.lock()?, |decisions| decisions.rejected = None)
    }

    /// Records whether the user declined to replace `prompt` with this version of the pack.
    pub fn set_declined(&self, version: &str, prompt: &str, declined: bool) -> Result<()> {
        self.change_decisions(&self.lock()?, |decisions| {
            let prompts = decisions.declined.entry(version.to_owned()).or_default();
            match declined {
                true => drop(prompts.insert(prompt.to_owned())),
                false => drop(prompts.remove(prompt)),
            }
            decisions.declined.retain(|_, prompts| !prompts.is_empty());
        })
    }

    /// Removes all decisions about the pack.
    pub fn forget(&self) -> Result<()> {
        // Without decisions there is no directory; locking would create one.
        if !self.directory.exists() {
            return Ok(());
        }
        let writer = self.lock()?;
        self.forget_approval(&writer)?;
        writer.remove(DECISIONS)
    }

    fn forget_approval(&self, writer: &Writer) -> Result<()> {
        writer.remove(APPROVAL)?;
        writer.remove(STAMPS_FILE)?;
        self.remove_copies(None);
        Ok(())
    }

    fn change_decisions(&self, writer: &Writer, change: impl FnOnce(&mut Decisions)) -> Result<()> {
        let before = self.decisions()?;
        let mut decisions = before.clone();
        change(&mut decisions);
        if decisions == before {
            return Ok(());
        }
        decisions.workspace = self.workspace.root.to_string_lossy().into_owned();
        decisions.pack_id = self.pack.as_str().to_owned();
        writer.replace_json(DECISIONS, &decisions)
    }

    fn copies(&self) -> PathBuf {
        self.workspace.directory.join(COPIES)
    }

    /// The prefix of the names of its copies.
    fn copy_prefix(&self) -> String {
        format!("{}-", state::hash_key(self.pack.as_str().as_bytes()))
    }

    fn copy_of(&self, record: &Record) -> PathBuf {
        self.copies().join(format!("{}{}", self.copy_prefix(), record.content))
    }

    /// The approved copy; `None` when it is missing.
    pub fn copy(&self, record: &Record) -> Option<Directory> {
        Directory::open(&self.copy_of(record)).ok().flatten()
    }

    /// Removes copies that no approval needs. The next approval retries on failure.
    fn remove_copies(&self, but: Option<&Path>) {
        let prefix = self.copy_prefix();
        for entry in fs::read_dir(self.copies()).into_iter().flatten().flatten() {
            let is_own = entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix));
            if is_own && Some(entry.path().as_path()) != but {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let _ = fs::remove_dir_all(self.directory.join(NEW_COPY));
    }
}

/// Whether a copy contains exactly the files of `record`.
fn is_copy(copy: &Directory, record: &Record) -> bool {
    compare(copy, record, &BTreeMap::new(), Walk::Everything).0.is_empty()
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hinagata_workspace::StateDir;

    /// A pack of two files, and the decisions about it.
    fn pack() -> (tempfile::TempDir, Directory, PackState) {
        let place = tempfile::tempdir().expect("a temporary directory");
        let root = place.path().join("p");
        fs::create_dir(&root).expect("made");
        fs::write(root.join("pack.json"), r#"{"version": "2"}"#).expect("written");
        fs::write(root.join("a.md"), "a").expect("written");
        let directory = Directory::open(&root).expect("opens").expect("is there");
        let state = StateDir::from_path(place.path().join("state"));
        let state = PackState::new(&state.workspace(place.path()), &PackId::new("p"));
        (place, directory, state)
    }

    #[test]
    fn a_file_is_hashed_only_where_its_state_differs() {
        let (_place, directory, state) = pack();
        let mut record = state.approve(&directory, None, UNIX_EPOCH).expect("approves");
        let (changes, stamps) = compare(&directory, &record, &BTreeMap::new(), Walk::Pack);
        assert!(changes.is_empty() && stamps.len() == 2);
        // Hashing it would show a difference.
        record.files.insert("a.md".into(), Digest::sha256(b"b"));
        assert!(compare(&directory, &record, &stamps, Walk::Pack).0.is_empty());
        fs::write(directory.path().join("a.md"), "c").expect("written");
        assert_eq!(compare(&directory, &record, &stamps, Walk::Pack).0.changed, ["a.md"]);
        record.files.insert("a.md".into(), Digest::sha256(b"c"));
        let (changes, fresh) = compare(&directory, &record, &stamps, Walk::Pack);
        assert!(changes.is_empty());
        assert_ne!(fresh["a.md"], stamps["a.md"]);
        assert_eq!(fresh["pack.json"], stamps["pack.json"]);
    }

    #[test]
    fn only_states_of_files_that_settled_are_kept_and_only_for_their_approval() {
        let (_place, directory, state) = pack();
        let record = state.approve(&directory, None, UNIX_EPOCH).expect("approves");
        let (_, stamps) = compare(&directory, &record, &BTreeMap::new(), Walk::Pack);
        let later = SystemTime::now() + Duration::from_secs(60);
        state.keep_stamps(&record, &BTreeMap::new(), stamps.clone(), SystemTime::now());
        assert!(state.stamps(&record).is_empty(), "they were written just now");
        state.keep_stamps(&record, &BTreeMap::new(), stamps.clone(), later);
        assert_eq!(state.stamps(&record), stamps);
        let other = Record { content: Digest::sha256(b"other"), ..record.clone() };
        assert!(state.stamps(&other).is_empty());
        state.keep_stamps(&other, &BTreeMap::new(), BTreeMap::new(), later);
        assert_eq!(state.stamps(&record), stamps, "there is another approval");
    }

    #[test]
    fn the_copy_is_what_was_approved_and_only_the_last_one_is_kept() {
        let (_place, directory, state) = pack();
        let first = state.approve(&directory, None, UNIX_EPOCH).expect("approves");
        fs::create_dir(state.directory.join(NEW_COPY)).expect("a killed process left it");
        fs::write(directory.path().join("a.md"), "b").expect("written");
        let second = state.approve(&directory, None, UNIX_EPOCH).expect("approves");
        assert_eq!((second.version.as_str(), second.files.len()), ("2", 2));
        assert!(first.content != second.content && state.copy(&first).is_none());
        let copy = state.copy(&second).expect("is there");
        assert_eq!(&*copy.read("a.md", 10).expect("reads").expect("is there").text, "b");
        assert!(!state.directory.join(NEW_COPY).exists());
        state.forget().expect("forgets");
        assert!(state.copy(&second).is_none() && state.record().expect("reads").is_none());
    }

    #[test]
    fn what_is_declined_is_remembered_by_version() {
        let (_place, _directory, state) = pack();
        state.set_declined("1", "a", true).expect("writes");
        state.set_declined("2", "b", true).expect("writes");
        state.set_declined("1", "a", false).expect("writes");
        let declined = state.decisions().expect("reads").declined;
        assert_eq!(declined, BTreeMap::from([("2".to_owned(), BTreeSet::from(["b".to_owned()]))]));
    }
}
