//! What was deleted, kept for a while in the user's state directory.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use hinagata_document::{Code, Digest, Error, Result};
use hinagata_workspace::{
    StateDir,
    state::read_json,
    write::{Readers, Writer, io_error, make_directory},
};
use serde::{Deserialize, Serialize};

use super::EditError;
use crate::PromptId;

/// How long what was deleted can be restored.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The file with what is known about an entry.
const ABOUT: &str = "entry.json";

/// The file or directory that was deleted.
const CONTENT: &str = "content";

const LOCK: &str = ".lock";

/// How deep a deleted directory may be.
const DEEPEST: usize = 32;

/// The trash of one workspace.
#[derive(Clone, Debug)]
pub struct Trash {
    directory: PathBuf,
}

/// What an entry of the trash is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrashKind {
    /// The directory of a prompt.
    Prompt,
    /// A file.
    File,
}

/// Something that was deleted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrashEntry {
    /// Its name in the trash.
    pub entry: String,
    /// What it is.
    pub kind: TrashKind,
    /// Where it was: the path from the workspace root.
    pub path: String,
    /// The prompt that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prompt_id: Option<String>,
    /// When it was deleted, in seconds since 1970.
    pub deleted: u64,
    /// The bytes of its files.
    pub size: u64,
    /// The number of its files.
    pub files: usize,
    /// Whether Python may run one of its files.
    #[serde(default)]
    pub has_code: bool,
}

impl TrashEntry {
    /// When it was deleted.
    #[must_use]
    pub fn deleted_at(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.deleted)
    }

    /// When it can no longer be restored.
    #[must_use]
    pub fn expires_at(&self) -> SystemTime {
        self.deleted_at() + KEPT
    }
}

impl Trash {
    /// The trash of the workspace at `root`.
    #[must_use]
    pub fn new(state: &StateDir, root: &Path) -> Self {
        Self { directory: state.workspace(root).directory.join("trash") }
    }

    /// The entries that can be restored, the newest first. Older ones are removed for good.
    ///
    /// # Errors
    /// Code `store` if the trash cannot be read.
    pub fn list_entries(&self, now: SystemTime) -> Result<Vec<TrashEntry>> {
        let names = match fs::read_dir(&self.directory) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error("read", &self.directory, error)),
        };
        let names = names.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut entries: Vec<TrashEntry> =
            names.filter(|name| is_entry(name)).filter_map(|name| self.read_entry(&name)).collect();
        entries.retain(|entry| {
            let is_kept = entry.expires_at() > now;
            if !is_kept {
                // One that cannot be removed now is removed the next time.
                let _ = fs::remove_dir_all(self.directory.join(&entry.entry));
            }
            is_kept
        });
        entries.sort_by(|one, other| (other.deleted, &other.entry).cmp(&(one.deleted, &one.entry)));
        Ok(entries)
    }

    fn read_entry(&self, name: &str) -> Option<TrashEntry> {
        let directory = self.directory.join(name);
        let entry: TrashEntry = read_json(&directory.join(ABOUT), 64 << 10).ok()??;
        (entry.entry == name && directory.join(CONTENT).symlink_metadata().is_ok()).then_some(entry)
    }

    /// The entry `name`; `None` if it does not exist any more.
    ///
    /// # Errors
    /// As [`Trash::list_entries`].
    pub fn find_entry(&self, name: &str, now: SystemTime) -> Result<Option<TrashEntry>> {
        Ok(self.list_entries(now)?.into_iter().find(|entry| entry.entry == name))
    }

    /// Copies what is at `place` into the trash; the caller removes it there.
    pub(super) fn add_copy(
        &self,
        (kind, path, prompt): (TrashKind, &str, Option<&PromptId>),
        place: &Path,
        now: SystemTime,
    ) -> Result<TrashEntry> {
        let _lock = Writer::lock(&self.directory, LOCK, Readers::Owner)?;
        let _ = self.list_entries(now)?;
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = self.free_name(path, since);
        let directory = self.directory.join(&name);
        let mut entry = TrashEntry {
            entry: name,
            kind,
            path: path.to_owned(),
            prompt_id: prompt.map(ToString::to_string),
            deleted: since.as_secs(),
            size: 0,
            files: 0,
            has_code: false,
        };
        let copied = make_directory(&directory, Readers::Owner)
            .and_then(|()| copy_into(place, &directory.join(CONTENT), &mut entry, 0));
        let written = copied.map_err(|error| io_error("written", &directory, error)).and_then(|()| {
            // Written last: an entry without it does not exist.
            Writer::lock(&directory, LOCK, Readers::Owner)?.replace_json(ABOUT, &entry)
        });
        if written.is_err() {
            let _ = fs::remove_dir_all(&directory);
        }
        written.map(|()| entry)
    }

    fn free_name(&self, path: &str, since: Duration) -> String {
        let mut salt = 0_u32;
        loop {
            let key = format!("{path}\n{}\n{salt}", since.as_nanos());
            let name = format!("{}-{}", since.as_secs(), &Digest::sha256(key.as_bytes()).to_string()[..12]);
            if self.directory.join(&name).symlink_metadata().is_err() {
                return name;
            }
            salt += 1;
        }
    }

    /// Puts an entry back at `place`, and takes it out of the trash.
    ///
    /// # Errors
    /// [`EditError::Taken`] if there is something at its place.
    pub(super) fn put_back(&self, entry: &TrashEntry, place: &Path) -> Result<(), EditError> {
        let _lock = Writer::lock(&self.directory, LOCK, Readers::Owner)?;
        if place.symlink_metadata().is_ok() {
            return Err(EditError::Taken { path: entry.path.clone() });
        }
        let kept = self.directory.join(&entry.entry);
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let beside = place.with_file_name(format!(".{name}.restored"));
        let restore = || {
            let _ = fs::remove_dir_all(&beside);
            let _ = fs::remove_file(&beside);
            copy_into(&kept.join(CONTENT), &beside, &mut entry.clone(), 0)?;
            fs::rename(&beside, place)
        };
        restore().map_err(|error| {
            let _ = fs::remove_dir_all(&beside);
            let _ = fs::remove_file(&beside);
            io_error("written", place, error)
        })?;
        // It is restored; an entry that stays in the trash can only be restored elsewhere.
        let _ = fs::remove_dir_all(&kept);
        Ok(())
    }
}

/// Whether `name` is one that the trash gives: digits, a dash, hexadecimal digits.
fn is_entry(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.split_once('-').is_some_and(|(seconds, hash)| is_part(seconds) && is_part(hash))
}

/// Copies a file, a directory or a link, and counts what it copies.
fn copy_into(from: &Path, to: &Path, entry: &mut TrashEntry, depth: usize) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    if metadata.is_dir() {
        if depth == DEEPEST {
            return Err(io::Error::other(format!("{} is nested too deeply", from.display())));
        }
        fs::create_dir(to)?;
        for inner in fs::read_dir(from)? {
            let inner = inner?;
            copy_into(&inner.path(), &to.join(inner.file_name()), entry, depth + 1)?;
        }
        return Ok(());
    }
    if metadata.is_symlink() {
        return copy_link(from, to);
    }
    if !metadata.is_file() {
        return Err(io::Error::other(format!("{} is neither a file nor a directory", from.display())));
    }
    entry.size += fs::copy(from, to)?;
    entry.files += 1;
    entry.has_code |= super::held::is_code(&from.to_string_lossy());
    fs::File::open(to)?.sync_all()
}

#[cfg(unix)]
fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(fs::read_link(from)?, to)
}

#[cfg(not(unix))]
fn copy_link(from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::Error::other(format!("{} is a link", from.display())))
}

/// The error for an entry that the trash does not have.
pub(super) fn unknown_entry(name: &str) -> Error {
    let short: String = name.chars().take(80).collect();
    Error::new(Code::NotFound, format!("`{short}` is not in the trash"))
        .with_hint("what was deleted is kept for 30 days")
}
