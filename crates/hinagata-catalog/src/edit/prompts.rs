//! New, copied, renamed, deleted and restored prompts.

use std::{fs, path::Path, time::SystemTime};

use hinagata_document::{Code, Error};
use hinagata_workspace::{
    layout::SHARED_PROMPTS,
    write::{Readers, Writer, directory_beneath, io_error, sync_directory},
};

use super::{
    EditError, LOCK, NewFile, Reference, Trash, TrashEntry, TrashKind, create_directory,
    held::{is_code, own_base},
    trash::unknown_entry,
    write::has_link,
};
use crate::{
    Catalog, PromptId,
    source::{Entry, RootKind},
};

/// The most files, and the most bytes of one file, that are copied.
const MOST_FILES: usize = 2_000;
const LARGEST_FILE: u64 = 16 << 20;

/// What renaming a prompt does, or would do.
#[derive(Clone, Debug)]
pub struct RenamedPrompt {
    /// The directory before.
    pub source: String,
    /// The directory after.
    pub new_source: String,
    /// Whatever names the prompt, which stays as it is.
    pub references: Vec<Reference>,
}

impl Catalog {
    /// Creates the prompt `id` with `files` in the user's own directory `place`, and returns its source.
    ///
    /// # Errors
    /// [`EditError::Taken`] if the directory exists, [`EditError::ReadOnly`] if `place` is not the user's own.
    pub fn create_prompt(&self, id: &PromptId, place: &str, files: &[NewFile]) -> Result<String, EditError> {
        let place = place.trim_end_matches('/');
        let is_own = |kind: &RootKind| matches!(kind, RootKind::Shared | RootKind::Path(_));
        if !self.roots().iter().any(|index| is_own(&index.root.kind) && index.root.prefix == place) {
            return Err(EditError::ReadOnly { path: place.to_owned() });
        }
        let source = format!("{place}/{}", directory_name(id)?);
        let base = own_base(self.root(), place)?;
        let _writer = Writer::lock(&base, LOCK, Readers::AsUsual)?;
        let created = create_directory(&base.join(directory_name(id)?), files);
        created.map(|()| source.clone()).map_err(|error| with_path(error, &source))
    }

    /// Copies a prompt to the user's own prompts as `to`, and returns its source. Of a pack, the approved files are
    /// copied.
    ///
    /// # Errors
    /// As [`Catalog::create_prompt`]; code `validation` for a prompt of the store.
    pub fn copy_prompt(&self, entry: &Entry, to: &PromptId) -> Result<(String, Vec<NewFile>), EditError> {
        let files = self.prompt_files(entry)?;
        let source = self.create_prompt(to, SHARED_PROMPTS, &files)?;
        Ok((source, files))
    }

    /// All files of a prompt, with their paths beneath its directory.
    ///
    /// # Errors
    /// Code `validation` for a prompt of the store or with too many files; those of reading.
    pub fn prompt_files(&self, entry: &Entry) -> Result<Vec<NewFile>, EditError> {
        if entry.store_prompt().is_some() {
            return Err(store_error(entry).into());
        }
        let paths = entry.list_files(MOST_FILES + 1);
        if paths.len() > MOST_FILES {
            let message = format!("`{}` has more than {MOST_FILES} files", entry.source());
            return Err(Error::new(Code::Validation, message).into());
        }
        let read = |path: String| {
            let content = entry.bytes(&path, LARGEST_FILE)?.unwrap_or_default();
            Ok(NewFile { path, content })
        };
        paths.into_iter().map(read).collect()
    }

    /// Gives one of the user's own prompts another id; with `is_trial`, only reports what would happen.
    ///
    /// # Errors
    /// [`EditError::ReadOnly`] for a prompt that is not the user's own, [`EditError::Taken`] if the new directory
    /// exists.
    pub fn rename_prompt(
        &self,
        entry: &Entry,
        to: &PromptId,
        is_trial: bool,
    ) -> Result<RenamedPrompt, EditError> {
        let (prefix, base) = self.own_home(entry)?;
        let name = directory_name(to)?;
        let new_source = format!("{prefix}/{name}");
        let _writer = Writer::lock(&base, LOCK, Readers::AsUsual)?;
        let (from, target) = (base.join(entry.name()), base.join(&name));
        // The same directory in another spelling is renamed; any other one is in the way.
        let is_same = from.canonicalize().ok().is_some_and(|from| target.canonicalize().ok() == Some(from));
        if target.symlink_metadata().is_ok() && (!is_same || entry.name() == name) {
            return Err(EditError::Taken { path: new_source });
        }
        if has_link(&base, entry.name()) {
            return Err(EditError::ReadOnly { path: entry.source().to_owned() });
        }
        let references = self.prompt_references(entry);
        if !is_trial {
            fs::rename(&from, &target)
                .and_then(|()| sync_directory(&base))
                .map_err(|error| io_error("renamed", &from, error))?;
        }
        Ok(RenamedPrompt { source: entry.source().to_owned(), new_source, references })
    }

    /// Moves one of the user's own prompts to `trash`.
    ///
    /// # Errors
    /// [`EditError::ReadOnly`] for a prompt that is not the user's own.
    pub fn delete_prompt(
        &self,
        entry: &Entry,
        (trash, now): (&Trash, SystemTime),
    ) -> Result<TrashEntry, EditError> {
        let (_, base) = self.own_home(entry)?;
        let _writer = Writer::lock(&base, LOCK, Readers::AsUsual)?;
        if has_link(&base, entry.name()) {
            return Err(EditError::ReadOnly { path: entry.source().to_owned() });
        }
        let place = base.join(entry.name());
        let kept = trash.add_copy((TrashKind::Prompt, entry.source(), Some(entry.id())), &place, now)?;
        // It disappears at once; what remains of it has no name that a prompt can have.
        let beside = base.join(format!(".{}.deleted", entry.name()));
        let remove = || {
            let _ = fs::remove_dir_all(&beside);
            fs::rename(&place, &beside)?;
            fs::remove_dir_all(&beside)?;
            sync_directory(&base)
        };
        remove().map_err(|error| io_error("removed", &place, error))?;
        Ok(kept)
    }

    /// Puts an entry of the trash back to where it was.
    ///
    /// # Errors
    /// [`EditError::Taken`] if there is something at its place; code `not_found` for an unknown entry.
    pub fn restore_deleted(
        &self,
        name: &str,
        (trash, now): (&Trash, SystemTime),
    ) -> Result<TrashEntry, EditError> {
        let entry = trash.find_entry(name, now)?.ok_or_else(|| unknown_entry(name))?;
        let read_only = || EditError::ReadOnly { path: entry.path.clone() };
        // A file that the catalog would hold is beneath a place of the user's own.
        let probe = match entry.kind {
            TrashKind::File => entry.path.clone(),
            TrashKind::Prompt => format!("{}/template.md", entry.path),
        };
        let held = self.held_file(&probe).filter(super::HeldFile::is_own).ok_or_else(read_only)?;
        let base = held.own_directory(self.root())?;
        let _writer = Writer::lock(&base, LOCK, Readers::AsUsual)?;
        let inner = match entry.kind {
            TrashKind::File => held.inner.as_str(),
            TrashKind::Prompt => held.inner.rsplit_once('/').map_or("", |(directory, _)| directory),
        };
        if has_link(&base, inner) {
            return Err(read_only());
        }
        if let Some((parent, _)) = inner.rsplit_once('/') {
            directory_beneath(&base, parent)?;
        }
        trash.put_back(&entry, &base.join(inner))?;
        Ok(entry)
    }

    /// The prefix and the directory of the user's own place that has this prompt.
    fn own_home(&self, entry: &Entry) -> Result<(String, std::path::PathBuf), EditError> {
        if entry.store_prompt().is_some() {
            return Err(store_error(entry).into());
        }
        let prefix = entry.source().strip_suffix(entry.name()).unwrap_or_default().trim_end_matches('/');
        match entry.root() {
            RootKind::Shared | RootKind::Path(_) => Ok((prefix.to_owned(), own_base(self.root(), prefix)?)),
            _ => Err(EditError::ReadOnly { path: entry.source().to_owned() }),
        }
    }
}

impl Entry {
    /// Whether Python may run one of its files.
    #[must_use]
    pub fn has_code(&self) -> bool {
        self.list_files(MOST_FILES).iter().any(|path| is_code(path))
    }
}

fn with_path(error: EditError, path: &str) -> EditError {
    match error {
        EditError::Taken { .. } => EditError::Taken { path: path.to_owned() },
        other => other,
    }
}

/// The name of the directory of a prompt with this id.
fn directory_name(id: &PromptId) -> Result<String, EditError> {
    if id.as_str().contains('.') || Path::new(id.as_str()).components().count() != 1 {
        let error = Error::new(Code::Id, format!("a directory cannot be called `{id}`"))
            .with("prompt_id", id.as_str())
            .with_hint("leave the `.` out");
        return Err(error.into());
    }
    Ok(id.as_str().to_owned())
}

fn store_error(entry: &Entry) -> Error {
    Error::new(Code::Validation, format!("`{}` is a prompt of the store, not a directory", entry.id()))
        .with("prompt_id", entry.id().as_str())
        .with_hint("change the document of the store: `/api/templates` or `/api/extensions`")
}
