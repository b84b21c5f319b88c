//! What the user's state directory remembers about one pack of one workspace.
//!
//! ```text
//! packs/<SHA-256 of its name>/approval.json      a SHA-256 for every file
//!                             stamps.json        states of files that were compared with it
//!                             decisions.json     a rejection; replacements that were declined
//! copies/<SHA-256 of its name>-<SHA-256>/        the files as they were approved
//! ```
//!
//! Copies are apart from the rest because Python sees its own, and nothing else of all this.
//!
//! `approval.json` is written once and never changed, so that nothing but the user's word makes an approval. A rejection
//! beats it: a crash between two files leaves a pack out rather than in.

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

/// Largest of these files, in bytes: a line for every file that a pack can have.
const LARGEST: u64 = 64 << 20;

/// A file that changed less than this before it was read could change again without another time of change: clocks of
/// file systems have steps.
const SETTLED: Duration = Duration::from_secs(2);

/// An approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The workspace, for people.
    workspace: String,
    pack_id: String,
    /// The version that was approved.
    pub version: String,
    /// When it was approved, in UTC.
    pub approved_at: String,
    /// The SHA-256 of all files together.
    pub(crate) content: Digest,
    /// The SHA-256 of every file by its path from the pack.
    pub files: BTreeMap<String, Digest>,
}

/// States of files that had the approved content.
#[derive(Debug, Serialize, Deserialize)]
struct Stamps {
    /// The approval that they belong to.
    content: Digest,
    files: BTreeMap<String, Stamp>,
}

/// What the user said about a pack besides approving it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// The workspace, for people.
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

/// The place of what is remembered about a pack.
#[derive(Clone, Debug)]
pub struct PackState {
    workspace: WorkspaceState,
    pack: PackId,
    directory: PathBuf,
}

impl PackState {
    /// What is remembered of `pack` in a workspace.
    pub fn new(workspace: &WorkspaceState, pack: &PackId) -> Self {
        let directory = workspace.directory.join("packs").join(state::hash_key(pack.as_str().as_bytes()));
        Self { workspace: workspace.clone(), pack: pack.clone(), directory }
    }

    pub(crate) fn pack(&self) -> &PackId {
        &self.pack
    }

    /// The state of the file with the approval; `None` when there is no approval.
    pub(super) fn approval_stamp(&self) -> Option<Stamp> {
        let path = self.directory.join(APPROVAL);
        // A link that leads nowhere is there, and cannot be read.
        let metadata = fs::metadata(&path).or_else(|_| fs::symlink_metadata(&path));
        metadata.ok().map(|metadata| Stamp::from_metadata(&metadata))
    }

    /// The approval, if there is one.
    pub fn record(&self) -> Result<Option<Record>> {
        state::read_json(&self.directory.join(APPROVAL), LARGEST)
    }

    /// What the user decided beside the approval.
    ///
    /// # Errors
    /// Code `store` when it cannot be read.
    pub fn decisions(&self) -> Result<Decisions> {
        Ok(state::read_json(&self.directory.join(DECISIONS), LARGEST)?.unwrap_or_default())
    }

    /// States of files that had the content of `record` when they were looked at.
    pub(super) fn stamps(&self, record: &Record) -> BTreeMap<String, Stamp> {
        // They only save work: whatever is wrong with them, the files are hashed instead.
        let read = state::read_json::<Stamps>(&self.directory.join(STAMPS_FILE), LARGEST).ok().flatten();
        read.filter(|stamps| stamps.content == record.content).map(|stamps| stamps.files).unwrap_or_default()
    }

    /// Remembers states of files, if nobody is writing and there is anything new. Nothing depends on it.
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

    /// Approves the pack as it is in `directory` now; with `expected`, only if that is its content.
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

    /// Remembers that the pack may not be used.
    pub fn reject(&self, version: &str, now: SystemTime) -> Result<()> {
        let writer = self.lock()?;
        let rejected = Some(Rejection { version: version.to_owned(), rejected_at: format_utc(now) });
        self.change_decisions(&writer, |decisions| decisions.rejected = rejected)?;
        self.forget_approval(&writer)
    }

    /// Takes a rejection back: what was rejected is not there any more.
    pub fn clear_rejection(&self) -> Result<()> {
        if self.decisions()?.rejected.is_none() {
            return Ok(());
        }
        self.change_decisions(&self.lock()?, |decisions| decisions.rejected = None)
    }

    /// Remembers whether replacing `prompt` by this version of the pack was declined.
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

    /// Forgets everything about the pack.
    pub fn forget(&self) -> Result<()> {
        // What was never decided about leaves no directory behind.
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

    /// How the names of its copies start.
    fn copy_prefix(&self) -> String {
        format!("{}-", state::hash_key(self.pack.as_str().as_bytes()))
    }

    fn copy_of(&self, record: &Record) -> PathBuf {
        self.copies().join(format!("{}{}", self.copy_prefix(), record.content))
    }

    /// The files as they were approved; `None` when they are gone.
    pub fn copy(&self, record: &Record) -> Option<Directory> {
        Directory::open(&self.copy_of(record)).ok().flatten()
    }

    /// Removes copies that no approval needs. What cannot be removed is tried again at the next approval.
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

/// Whether a copy holds exactly the files of `record`.
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

    /// A pack of two files, and where decisions about it are kept.
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
        // Were it hashed, it would be found to be something else.
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
        assert_eq!(state.stamps(&record), stamps, "another approval stands there");
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
