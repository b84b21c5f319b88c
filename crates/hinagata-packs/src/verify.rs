//! The changes of a pack since its approval, with diffs.

use hinagata_catalog::{
    Approval, PackId,
    pack::{Changes, Pack, PackState, Record, Refused},
};
use hinagata_document::{Digest, Reason, Result};
use hinagata_workspace::Directory;
use serde::Serialize;
use similar::TextDiff;

use super::view::View;

/// Largest file whose diff is shown, in bytes and in lines.
const LARGEST: u64 = 256 << 10;
const LINES: usize = 5_000;

/// Most bytes of all diffs together.
const MOST: usize = 1 << 20;

/// Context lines of a diff.
const AROUND: usize = 3;

/// The state of a pack, and its changes since the approval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// The pack.
    pub pack_id: PackId,
    /// The state of its approval.
    pub state: Approval,
    /// The current version.
    pub version: String,
    /// The version that was approved.
    pub approved_version: Option<String>,
    /// When it was approved, in UTC.
    pub approved_at: Option<String>,
    /// The changed files, by path.
    pub files: Vec<FileDiff>,
    /// Entries that no pack may contain, such as links and devices.
    pub refused: Vec<Refused>,
}

/// A file that changed since the approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// The file, as a path from the pack.
    pub path: String,
    /// The kind of change.
    pub change: FileChange,
    /// The diff in the unified format; `None` if it cannot be shown.
    pub diff: Option<String>,
    /// Why the diff cannot be shown.
    pub note: Option<&'static str>,
}

/// The kind of change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    /// The file is new.
    Added,
    /// The file is removed.
    Removed,
    /// The content differs.
    Changed,
}

impl Verification {
    pub(super) fn for_pack(pack: &std::sync::Arc<Pack>, state: &PackState) -> Result<Self> {
        let record = state.record()?;
        let changes = pack.seal().changes(pack.directory()).unwrap_or_default();
        let files =
            record.as_ref().map(|record| file_diffs(pack, state, record, &changes)).unwrap_or_default();
        Ok(Self {
            pack_id: pack.id.clone(),
            state: pack.approval(),
            version: View::from_pack(pack).version(),
            approved_version: record.as_ref().map(|record| record.version.clone()),
            approved_at: record.map(|record| record.approved_at),
            files,
            refused: changes.refused,
        })
    }
}

fn file_diffs(pack: &Pack, state: &PackState, record: &Record, changes: &Changes) -> Vec<FileDiff> {
    let copy = state.copy(record);
    let mut room = MOST;
    let mut all: Vec<(&String, FileChange)> = Vec::new();
    all.extend(changes.added.iter().map(|path| (path, FileChange::Added)));
    all.extend(changes.removed.iter().map(|path| (path, FileChange::Removed)));
    all.extend(changes.changed.iter().map(|path| (path, FileChange::Changed)));
    all.sort_by_key(|(path, _)| *path);
    let diff = |(path, change): (&String, FileChange)| {
        let shown = render_diff(path, change, (copy.as_ref(), record), pack.directory(), &mut room);
        FileDiff { path: path.clone(), change, note: shown.as_ref().err().copied(), diff: shown.ok() }
    };
    all.into_iter().map(diff).collect()
}

fn render_diff(
    path: &str,
    change: FileChange,
    approved: (Option<&Directory>, &Record),
    now: &Directory,
    room: &mut usize,
) -> Result<String, &'static str> {
    let (old, new) = match change {
        FileChange::Added => (String::new(), read_text(now, path)?),
        FileChange::Removed => (approved_text(approved, path)?, String::new()),
        FileChange::Changed => (approved_text(approved, path)?, read_text(now, path)?),
    };
    let diff = TextDiff::from_lines(&old, &new)
        .unified_diff()
        .context_radius(AROUND)
        .header(&format!("approved/{path}"), &format!("now/{path}"))
        .to_string();
    *room = room.checked_sub(diff.len()).ok_or("there are too many changes to show")?;
    Ok(diff)
}

/// The approved text of a file; the copy is checked against the approved hash.
fn approved_text((copy, record): (Option<&Directory>, &Record), path: &str) -> Result<String, &'static str> {
    let text = read_text(copy.ok_or("the approved copy is missing")?, path)?;
    match record.files.get(path) {
        Some(approved) if *approved == Digest::sha256(text.as_bytes()) => Ok(text),
        _ => Err("the approved copy has changed"),
    }
}

fn read_text(directory: &Directory, path: &str) -> Result<String, &'static str> {
    match directory.read(path, LARGEST) {
        Ok(Some(file)) if file.text.lines().count() > LINES => Err("it has too many lines to show"),
        Ok(Some(file)) if file.text.contains('\0') => Err("it is not a text file"),
        Ok(Some(file)) => Ok(file.text.to_string()),
        Ok(None) => Err("it cannot be read"),
        Err(error) => Err(match error.reason() {
            Some(Reason::Encoding) => "it is not a text file",
            Some(Reason::Size) => "it is too large to show",
            _ => "it cannot be read",
        }),
    }
}
