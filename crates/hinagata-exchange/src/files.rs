//! The files of an import, as texts by their relative paths.

use std::collections::{BTreeMap, BTreeSet};

/// Largest file, in bytes.
pub(crate) const LARGEST_FILE: usize = 10 << 20;

/// The files that an import may read. Nothing else exists for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFiles {
    texts: BTreeMap<String, String>,
    unread: BTreeSet<String>,
}

impl SourceFiles {
    /// The text of a file.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Adds a file.
    pub fn insert(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.texts.insert(path.into(), text.into());
    }

    /// Adds a file that exists and is not text.
    pub fn insert_unread(&mut self, path: impl Into<String>) {
        self.unread.insert(path.into());
    }

    /// The paths of the files that exist and are not text.
    pub(crate) fn unread_paths(&self) -> impl Iterator<Item = &str> {
        self.unread.iter().map(String::as_str)
    }

    /// The paths in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }

    /// The file called `name` in the directory of `path`; `None` if the name leads out of it.
    pub(crate) fn beside(&self, path: &str, name: &str) -> Option<&str> {
        let is_plain = !name.starts_with('/')
            && !name.contains('\\')
            && name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        let directory = path.rsplit_once('/').map(|(directory, _)| directory);
        is_plain.then(|| match directory {
            Some(directory) => self.get(&format!("{directory}/{name}")),
            None => self.get(name),
        })?
    }
}

impl<P: Into<String>, T: Into<String>> FromIterator<(P, T)> for SourceFiles {
    fn from_iter<I: IntoIterator<Item = (P, T)>>(files: I) -> Self {
        let texts = files.into_iter().map(|(path, text)| (path.into(), text.into())).collect();
        Self { texts, unread: BTreeSet::new() }
    }
}
