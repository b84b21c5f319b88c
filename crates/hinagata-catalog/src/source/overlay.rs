//! A source root with unsaved texts in the place of some files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use hinagata_document::{Digest, Result};
use hinagata_workspace::{Stamp, layout::PARTIALS};

use super::{DirectoryNames, FileTree, Root};

/// Unsaved texts by path beneath a source root; `None` for a file that shall not exist.
pub type UnsavedTexts = BTreeMap<String, Option<Arc<str>>>;

/// The files of a source root, some of them replaced by unsaved texts.
pub struct OverlayTree {
    base: Arc<Root>,
    texts: UnsavedTexts,
}

impl fmt::Debug for OverlayTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OverlayTree").field("base", &self.base.prefix).field("texts", &self.texts).finish()
    }
}

impl OverlayTree {
    /// `base` with `texts` in the place of its files.
    #[must_use]
    pub fn new(base: Arc<Root>, texts: UnsavedTexts) -> Self {
        Self { base, texts }
    }

    /// The paths beneath `directory` that have an unsaved text, each with whether it exists.
    fn texts_in<'t>(&'t self, directory: &'t str) -> impl Iterator<Item = (&'t str, bool)> {
        let inner = move |path: &'t str| path.strip_prefix(directory)?.strip_prefix('/').map(|_| path);
        self.texts.iter().filter_map(move |(path, text)| Some((inner(path)?, text.is_some())))
    }
}

impl FileTree for OverlayTree {
    fn read_text(&self, path: &str, largest: u64) -> Result<Option<(Arc<str>, Option<Stamp>)>> {
        match self.texts.get(path) {
            Some(text) => Ok(text.as_ref().map(|text| (Arc::clone(text), None))),
            None => self.base.tree.read_text(path, largest),
        }
    }

    fn read_bytes(&self, path: &str, largest: u64) -> Result<Option<Vec<u8>>> {
        match self.texts.get(path) {
            Some(text) => Ok(text.as_ref().map(|text| text.as_bytes().to_vec())),
            None => self.base.tree.read_bytes(path, largest),
        }
    }

    fn file_stamp(&self, path: &str) -> Option<Option<Stamp>> {
        match self.texts.get(path) {
            Some(text) => text.as_ref().map(|_| None),
            None => self.base.tree.file_stamp(path),
        }
    }

    fn mark_present(&self, name: &str, files: &[&str], present: &mut [bool]) {
        self.base.tree.mark_present(name, files, present);
        for (file, present) in files.iter().zip(present) {
            if let Some(text) = self.texts.get(&format!("{name}/{file}")) {
                *present = text.is_some();
            }
        }
    }

    fn list_directories(&self) -> Result<DirectoryNames> {
        let (names, links) = self.base.tree.list_directories()?;
        let added = self.texts.iter().filter(|(_, text)| text.is_some());
        let added = added.filter_map(|(path, _)| Some(path.split_once('/')?.0.to_owned()));
        let all: BTreeSet<String> = names.into_iter().chain(added).collect();
        Ok((all.into_iter().collect(), links))
    }

    fn list_partials(&self) -> Vec<String> {
        let mut all: BTreeSet<String> = self.base.tree.list_partials().into_iter().collect();
        for (path, exists) in self.texts_in(PARTIALS) {
            if exists {
                all.insert(path.to_owned())
            } else {
                all.remove(path)
            };
        }
        all.into_iter().collect()
    }

    fn list_files(&self, directory: &str, most: usize) -> Vec<String> {
        let mut all: BTreeSet<String> = self.base.tree.list_files(directory, most).into_iter().collect();
        for (path, exists) in self.texts_in(directory) {
            if exists {
                all.insert(path.to_owned())
            } else {
                all.remove(path)
            };
        }
        all.into_iter().take(most).collect()
    }

    fn is_same(&self, _other: &dyn FileTree) -> bool {
        false
    }

    fn refuse_secret(&self, path: &str) -> Result<()> {
        self.base.tree.refuse_secret(path)
    }

    fn approved_content(&self) -> Option<Digest> {
        self.base.tree.approved_content()
    }
}
