//! The tree of files at the start of a text.
//!
//! It depends on the names of files alone, so that edits of files leave the start of the text as it was. A tree that
//! does not fit shows some directories with the number of their files.

use std::collections::{BTreeMap, VecDeque};

use crate::frame::one_line;

/// A directory of the tree.
#[derive(Debug, Default)]
struct Directory<'p> {
    directories: BTreeMap<&'p str, Self>,
    files: Vec<&'p str>,
    /// Files here and below.
    count: usize,
    /// Whether its entries are shown.
    is_open: bool,
}

/// The tree of files.
#[derive(Debug)]
pub(crate) struct FileTree<'p> {
    root: Directory<'p>,
}

impl<'p> FileTree<'p> {
    /// The tree of `paths`, all of it.
    pub(crate) fn new(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut root = Directory { is_open: true, ..Directory::default() };
        for path in paths {
            root.add_file(path);
        }
        root.sort_files();
        Self { root }
    }

    /// Closes directories until `cost`, asked for the lines of one directory, sums up to at most `limit`. Directories
    /// near the root stay open first. Returns whether that is possible.
    pub(crate) fn fit(&mut self, limit: usize, cost: &dyn Fn(&str) -> usize) -> bool {
        if cost(&self.to_text()) <= limit {
            return true;
        }
        self.root.close_below();
        let Some(mut left) = limit.checked_sub(cost(&self.to_text())) else { return false };
        let mut queue = VecDeque::from([(&mut self.root, 0)]);
        while let Some((directory, depth)) = queue.pop_front() {
            if depth > 0 {
                let mut lines = String::new();
                directory.write_entries(&mut lines, depth);
                let Some(rest) = left.checked_sub(cost(&lines)) else { continue };
                left = rest;
                directory.is_open = true;
            }
            queue.extend(directory.directories.values_mut().map(|below| (below, depth + 1)));
        }
        true
    }

    /// Whether the tree has a line for the file at `path`.
    pub(crate) fn shows(&self, path: &str) -> bool {
        let mut here = &self.root;
        let mut rest = path;
        while let Some((name, below)) = rest.split_once('/') {
            match here.directories.get(name).filter(|_| here.is_open) {
                Some(directory) => (here, rest) = (directory, below),
                None => return false,
            }
        }
        here.is_open && here.files.binary_search(&rest).is_ok()
    }

    /// The lines of the tree.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        self.root.write_entries(&mut text, 0);
        text.truncate(text.trim_end().len());
        text
    }
}

impl<'p> Directory<'p> {
    fn add_file(&mut self, path: &'p str) {
        self.count += 1;
        match path.split_once('/') {
            None => self.files.push(path),
            Some((name, rest)) => {
                let below =
                    self.directories.entry(name).or_insert_with(|| Self { is_open: true, ..Self::default() });
                below.add_file(rest);
            }
        }
    }

    fn sort_files(&mut self) {
        self.files.sort_unstable();
        self.directories.values_mut().for_each(Self::sort_files);
    }

    /// Closes all directories below this one.
    fn close_below(&mut self) {
        for directory in self.directories.values_mut() {
            directory.is_open = false;
            directory.close_below();
        }
    }

    /// Writes directories and files by name; directories come first.
    fn write_entries(&self, text: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        for (name, directory) in &self.directories {
            text.push_str(&indent);
            text.push_str(&one_line(name));
            if directory.is_open {
                text.push_str("/\n");
                directory.write_entries(text, depth + 1);
            } else {
                let plural = if directory.count == 1 { "" } else { "s" };
                text.push_str(&format!("/ ({} file{plural})\n", directory.count));
            }
        }
        for file in &self.files {
            text.push_str(&indent);
            text.push_str(&one_line(file));
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 6] =
        ["README.md", "src/a.rs", "src/b/c.rs", "src/b/d.rs", "docs/x\ny.md", "a/deep/er/z"];

    #[test]
    fn directories_come_before_files_and_names_stay_on_their_line() {
        let tree = FileTree::new(PATHS);
        let expected = "a/\n  deep/\n    er/\n      z\ndocs/\n  x y.md\nsrc/\n  b/\n    c.rs\n    d.rs\n  a.rs\nREADME.md";
        assert_eq!(tree.to_text(), expected);
        assert!(PATHS.iter().all(|path| tree.shows(path)));
        assert!(!tree.shows("src") && !tree.shows("none") && !tree.shows("src/b"));
    }

    #[test]
    fn a_tree_that_does_not_fit_counts_the_files_of_deep_directories() {
        let mut tree = FileTree::new(PATHS);
        assert!(tree.fit(8, &|lines| lines.lines().count()));
        assert_eq!(
            tree.to_text(),
            "a/\n  deep/ (1 file)\ndocs/\n  x y.md\nsrc/\n  b/ (2 files)\n  a.rs\nREADME.md"
        );
        assert!(tree.shows("src/a.rs") && !tree.shows("src/b/c.rs") && !tree.shows("a/deep/er/z"));
        assert!(!tree.fit(3, &|lines| lines.lines().count()));
    }
}
