//! Files by path: in a directory, compiled in, or none.
//!
//! A source root accesses its files through this trait only. Other kinds of files, such as those of a pack that are
//! checked against approved hashes, implement it.

use std::{any::Any, fmt, sync::Arc};

use hinagata_document::{Digest, Result};
use hinagata_workspace::{Directory, DirectoryEntry, LinkTarget, Stamp, layout::PARTIALS, secret};

use super::builtin;
use crate::PromptId;

/// Names of directories, and names of links that cannot be followed.
pub type DirectoryNames = (Vec<String>, Vec<(String, LinkTarget)>);

/// Files by path.
pub trait FileTree: Any + fmt::Debug + Send + Sync {
    /// The text of the file at `path`, and its stamp if it can change.
    fn read_text(&self, path: &str, largest: u64) -> Result<Option<(Arc<str>, Option<Stamp>)>>;

    /// The bytes of the file at `path`.
    fn read_bytes(&self, path: &str, largest: u64) -> Result<Option<Vec<u8>>>;

    /// `Some` if there is a regular file at `path`, with its stamp if it can change.
    fn file_stamp(&self, path: &str) -> Option<Option<Stamp>>;

    /// Sets `present` for each of `files` that exists in the directory called `name`.
    fn mark_present(&self, name: &str, files: &[&str], present: &mut [bool]);

    /// The id of the directory called `name`; `None` when the name is not a valid id.
    fn prompt_id(&self, name: &str) -> Option<PromptId> {
        PromptId::from_directory_name(name)
    }

    /// The names of the directories, and the names of links that cannot be followed.
    fn list_directories(&self) -> Result<DirectoryNames>;

    /// The paths of the partials.
    fn list_partials(&self) -> Vec<String>;

    /// The sorted paths of the files beneath `directory`, at most `most`. Hidden files are left out.
    fn list_files(&self, directory: &str, most: usize) -> Vec<String>;

    /// Whether both trees read the same files in the same way.
    fn is_same(&self, other: &dyn FileTree) -> bool;

    /// Refuses a file of the workspace whose name indicates secrets, unless it is missing.
    fn refuse_secret(&self, _path: &str) -> Result<()> {
        Ok(())
    }

    /// The SHA-256 over all approved files; `None` if they need no approval.
    fn approved_content(&self) -> Option<Digest> {
        None
    }

    /// Whether the files are part of the program.
    fn is_compiled(&self) -> bool {
        false
    }
}

/// The files of `directory`; no files without one.
pub(crate) fn open_tree(directory: Option<Directory>) -> Box<dyn FileTree> {
    match directory {
        Some(directory) => Box::new(directory),
        None => Box::new(NoFiles),
    }
}

/// `tree` as a `T`, if it is one.
pub(crate) fn tree_as<T: FileTree>(tree: &dyn FileTree) -> Option<&T> {
    (tree as &dyn Any).downcast_ref()
}

/// The names of the directories in `directory`, and the names of links that cannot be followed.
pub(crate) fn list_directories(directory: &Directory) -> Result<DirectoryNames> {
    let (mut names, mut left_out) = (Vec::new(), Vec::new());
    for DirectoryEntry { name, link, .. } in directory.list()?.into_iter().filter(|listed| listed.directory) {
        match if link { directory.link_is_directory(&name) } else { Ok(true) } {
            Ok(true) => names.push(name),
            Ok(false) => {}
            Err(leads) => left_out.push((name, leads)),
        }
    }
    Ok((names, left_out))
}

/// The paths of the partials in `directory`.
pub(crate) fn list_partials(directory: &Directory) -> Vec<String> {
    let listed = directory.directory(PARTIALS).ok().flatten().and_then(|found| found.list().ok());
    let files = listed.unwrap_or_default().into_iter().filter(|listed| !listed.directory);
    files.map(|listed| format!("{PARTIALS}/{}", listed.name)).collect()
}

/// How deep directories of a prompt are searched for files.
const DEEPEST: usize = 8;

/// The sorted paths of the files beneath the directory `name`, at most `most`. Hidden files, compiled Python and linked
/// directories are left out.
pub(crate) fn list_files(directory: &Directory, name: &str, most: usize) -> Vec<String> {
    let mut files = Vec::new();
    let mut left = vec![(name.to_owned(), 0)];
    while let Some((path, depth)) = left.pop() {
        let Ok(Some(found)) = directory.directory(&path) else { continue };
        for DirectoryEntry { name, directory, link } in found.list().unwrap_or_default() {
            if name.starts_with('.') || name == "__pycache__" || name.contains('\u{fffd}') {
                continue;
            }
            let inner = format!("{path}/{name}");
            let is_file = if link { matches!(found.link_is_directory(&name), Ok(false)) } else { !directory };
            match is_file {
                true if files.len() < most => files.push(inner),
                false if !link && depth < DEEPEST && files.len() < most => left.push((inner, depth + 1)),
                _ => {}
            }
        }
    }
    files.sort_unstable();
    files
}

impl FileTree for Directory {
    fn read_text(&self, path: &str, largest: u64) -> Result<Option<(Arc<str>, Option<Stamp>)>> {
        Ok(self.read(path, largest)?.map(|file| (file.text, Some(file.stamp))))
    }

    fn read_bytes(&self, path: &str, largest: u64) -> Result<Option<Vec<u8>>> {
        Self::read_bytes(self, path, largest)
    }

    fn file_stamp(&self, path: &str) -> Option<Option<Stamp>> {
        self.stamp(path).map(Some)
    }

    fn mark_present(&self, name: &str, files: &[&str], present: &mut [bool]) {
        Self::mark_present(self, name, files, present);
    }

    fn list_directories(&self) -> Result<DirectoryNames> {
        list_directories(self)
    }

    fn list_partials(&self) -> Vec<String> {
        list_partials(self)
    }

    fn list_files(&self, directory: &str, most: usize) -> Vec<String> {
        list_files(self, directory, most)
    }

    fn is_same(&self, other: &dyn FileTree) -> bool {
        tree_as(other).is_some_and(|other| Self::is_same(self, other))
    }

    fn refuse_secret(&self, path: &str) -> Result<()> {
        match self.stamp(path) {
            Some(_) => secret::refuse_name(self.path(), path),
            None => Ok(()),
        }
    }
}

/// The files of the built-in prompts, which are compiled in.
#[derive(Clone, Copy, Debug)]
pub struct Compiled;

impl FileTree for Compiled {
    fn read_text(&self, path: &str, _largest: u64) -> Result<Option<(Arc<str>, Option<Stamp>)>> {
        Ok(builtin::file_text(path).map(|text| (Arc::from(text), None)))
    }

    fn read_bytes(&self, path: &str, _largest: u64) -> Result<Option<Vec<u8>>> {
        Ok(builtin::file_text(path).map(|text| text.as_bytes().to_vec()))
    }

    fn file_stamp(&self, path: &str) -> Option<Option<Stamp>> {
        builtin::file_text(path).map(|_| None)
    }

    fn mark_present(&self, name: &str, files: &[&str], present: &mut [bool]) {
        for (file, present) in files.iter().zip(present) {
            *present = builtin::file_text(&format!("{name}/{file}")).is_some();
        }
    }

    fn list_directories(&self) -> Result<DirectoryNames> {
        Ok((builtin::directory_names().into_iter().map(str::to_owned).collect(), Vec::new()))
    }

    fn list_partials(&self) -> Vec<String> {
        builtin::partial_names().into_iter().map(|name| format!("{PARTIALS}/{name}")).collect()
    }

    fn list_files(&self, directory: &str, most: usize) -> Vec<String> {
        builtin::file_names(directory).take(most).map(str::to_owned).collect()
    }

    fn is_same(&self, other: &dyn FileTree) -> bool {
        tree_as::<Self>(other).is_some()
    }

    fn is_compiled(&self) -> bool {
        true
    }
}

/// No files: a directory that does not exist, or the store.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl FileTree for NoFiles {
    fn read_text(&self, _path: &str, _largest: u64) -> Result<Option<(Arc<str>, Option<Stamp>)>> {
        Ok(None)
    }

    fn read_bytes(&self, _path: &str, _largest: u64) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn file_stamp(&self, _path: &str) -> Option<Option<Stamp>> {
        None
    }

    fn mark_present(&self, _name: &str, _files: &[&str], present: &mut [bool]) {
        present.fill(false);
    }

    fn list_directories(&self) -> Result<DirectoryNames> {
        Ok((Vec::new(), Vec::new()))
    }

    fn list_partials(&self) -> Vec<String> {
        Vec::new()
    }

    fn list_files(&self, _directory: &str, _most: usize) -> Vec<String> {
        Vec::new()
    }

    fn is_same(&self, _other: &dyn FileTree) -> bool {
        false
    }
}
