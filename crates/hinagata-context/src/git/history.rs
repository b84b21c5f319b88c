//! What git knows about files: which it tracks, which differ from `HEAD`, which change often.

use std::collections::{HashMap, HashSet};

use super::{LIST_LIMIT, Repository};

/// The number of commits that are looked at.
const COMMITS: &str = "-100";

/// The files that git tracks, as paths from the top directory.
#[derive(Debug, Default)]
pub(crate) struct Tracked(Vec<String>);

impl Tracked {
    /// Whether git tracks the file at `path`.
    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.0.binary_search_by(|known| known.as_str().cmp(path)).is_ok()
    }

    /// Whether git tracks a file below `directory`.
    pub(crate) fn has_below(&self, directory: &str) -> bool {
        let start = format!("{directory}/");
        let place = self.0.partition_point(|known| known.as_str() < start.as_str());
        self.0.get(place).is_some_and(|known| known.starts_with(&start))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What the history of a repository says about files, as paths from the top directory.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Tracked files that differ from `HEAD`.
    changed: HashSet<String>,
    /// The number of the last commits that changed a file.
    commits: HashMap<String, u32>,
    has_commits: bool,
}

impl History {
    /// Whether there is a commit to compare with.
    pub(crate) fn has_commits(&self) -> bool {
        self.has_commits
    }

    /// Whether the tracked file at `path` differs from `HEAD`.
    pub(crate) fn is_changed(&self, path: &str) -> bool {
        self.changed.contains(path)
    }

    /// The number of the last commits that changed the file at `path`.
    pub(crate) fn commits(&self, path: &str) -> u32 {
        self.commits.get(path).copied().unwrap_or_default()
    }
}

impl Repository {
    /// The files that git tracks.
    pub(crate) fn list_tracked(&self) -> Result<Tracked, String> {
        let mut paths = self.list_paths("ls-files", &["-z"])?;
        paths.sort_unstable();
        Ok(Tracked(paths))
    }

    /// What the history says about files; without a commit, it says nothing.
    pub(crate) fn read_history(&self) -> Result<History, String> {
        if self.head.is_none() {
            return Ok(History::default());
        }
        let changed =
            ["-z", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", "HEAD", "--"];
        let recent =
            [COMMITS, "-z", "--name-only", "--no-renames", "--no-ext-diff", "--format=", "HEAD", "--"];
        let changed = self.list_paths("diff", &changed)?.into_iter().collect();
        let mut commits = HashMap::new();
        for path in self.list_paths("log", &recent)? {
            *commits.entry(path).or_default() += 1;
        }
        Ok(History { changed, commits, has_commits: true })
    }

    pub(super) fn list_paths(&self, name: &str, arguments: &[&str]) -> Result<Vec<String>, String> {
        let output = self.command(name, LIST_LIMIT).args(arguments).run()?;
        if output.truncated {
            return Err(format!("`git {name}` failed: its list of files is longer than {LIST_LIMIT} bytes"));
        }
        let paths = output.bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_tracked_by_the_files_below_it() {
        let tracked = Tracked(["a-b/x", "a.rs", "a/x", "ab/x"].map(str::to_owned).to_vec());
        assert!(tracked.0.is_sorted());
        for directory in ["a-b", "a", "ab"] {
            assert!(tracked.has_below(directory), "{directory}");
        }
        assert!(!tracked.has_below("a.rs") && !tracked.has_below("b") && !tracked.has_below("a/x"));
        assert!(tracked.has_file("a.rs") && !tracked.has_file("a"));
    }
}
