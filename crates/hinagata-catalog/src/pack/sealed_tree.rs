//! The prompts of a pack as a tree of approved files.

use std::sync::Arc;

use hinagata_document::{Digest, Result};
use hinagata_workspace::{
    Directory, Stamp, decode_text,
    layout::{PARTIALS, PROMPTS},
};

use super::Seal;
use crate::source::{DirectoryNames, FileTree, list_directories, list_files, list_partials, tree_as};

/// The directory with the prompts of a pack, and its seal.
#[derive(Debug)]
pub(crate) struct SealedTree {
    directory: Directory,
    seal: Arc<Seal>,
}

impl SealedTree {
    pub(super) fn new(directory: Directory, seal: Arc<Seal>) -> Self {
        Self { directory, seal }
    }
}

impl FileTree for SealedTree {
    fn read_text(&self, path: &str, largest: u64) -> Result<Option<(Arc<str>, Option<Stamp>)>> {
        match self.seal.read(&self.directory, PROMPTS, path, largest)? {
            Some((bytes, stamp)) => Ok(Some((decode_text(path, bytes)?, Some(stamp)))),
            None => Ok(None),
        }
    }

    fn read_bytes(&self, path: &str, largest: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.seal.read(&self.directory, PROMPTS, path, largest)?.map(|(bytes, _)| bytes))
    }

    fn file_stamp(&self, path: &str) -> Option<Option<Stamp>> {
        self.seal.stamp(&self.directory, PROMPTS, path).map(Some)
    }

    fn mark_present(&self, name: &str, files: &[&str], present: &mut [bool]) {
        self.directory.mark_present(name, files, present);
        // An approved file is present even if it was deleted from the directory.
        for (file, present) in files.iter().zip(present) {
            *present |= self.seal.has_approved(&format!("{PROMPTS}/{name}/{file}"));
        }
    }

    fn list_directories(&self) -> Result<DirectoryNames> {
        list_directories(&self.directory)
    }

    fn list_partials(&self) -> Vec<String> {
        if !self.seal.is_sealed() {
            return list_partials(&self.directory);
        }
        let files = self.seal.approved_names(&format!("{PROMPTS}/{PARTIALS}"));
        files.into_iter().map(|name| format!("{PARTIALS}/{name}")).collect()
    }

    fn list_files(&self, directory: &str, most: usize) -> Vec<String> {
        match self.seal.is_sealed() {
            true => self.seal.approved_beneath(PROMPTS, directory).into_iter().take(most).collect(),
            false => list_files(&self.directory, directory, most),
        }
    }

    fn is_same(&self, other: &dyn FileTree) -> bool {
        tree_as::<Self>(other)
            .is_some_and(|other| self.directory.is_same(&other.directory) && self.seal.is_same(&other.seal))
    }

    fn approved_content(&self) -> Option<Digest> {
        self.seal.content()
    }
}
