//! The order of files: focus first, then priority, then the order of the walk.

use globset::Candidate;

use crate::{
    error::Result,
    glob::{Globs, expand_braces},
    options::ContextOptions,
    report::{Entry, Notice, summarize_paths},
    walk::FoundFile,
};

/// The criteria of the order.
#[derive(Debug)]
pub(crate) struct Order {
    focus: Vec<(String, Marks)>,
    priorities: Vec<(Marks, f64)>,
}

impl Order {
    pub(crate) fn new(options: &ContextOptions) -> Result<Self> {
        let priority = |(pattern, priority): &(String, f64)| Ok((Marks::new([pattern])?, *priority));
        let focus = |pattern: &String| Ok((pattern.clone(), Marks::new([pattern])?));
        Ok(Self {
            focus: options.focus.iter().map(focus).collect::<Result<_>>()?,
            priorities: options.priorities.iter().map(priority).collect::<Result<_>>()?,
        })
    }

    /// Sorts `files`.
    pub(crate) fn sort_files(&self, files: &mut [FoundFile]) {
        if self.focus.is_empty() && self.priorities.is_empty() {
            return;
        }
        files.sort_by_cached_key(|file| {
            let priority = self.priorities.iter().find(|(marks, _)| marks.has(&file.path));
            let priority = priority.map_or(0.0, |(_, priority)| *priority);
            (!self.has_focus(&file.path), Descending(priority))
        });
    }

    fn has_focus(&self, path: &str) -> bool {
        self.focus.iter().any(|(_, marks)| marks.has(path))
    }

    /// Notices about files in focus that are not packed.
    pub(crate) fn focus_notices(&self, entries: &[Entry]) -> Vec<Notice> {
        let missed = |(pattern, marks): &(String, Marks)| {
            let found: Vec<&Entry> =
                entries.iter().filter(|entry| marks.has(entry.path.trim_end_matches('/'))).collect();
            if found.is_empty() {
                return Some(Notice::new(pattern, None, format!("no file matches the focus `{pattern}`")));
            }
            let left: Vec<String> = found
                .iter()
                .filter_map(|entry| Some(format!("{} ({})", entry.path, entry.reason?.as_str())))
                .collect();
            let message =
                format!("some files of the focus `{pattern}` are not packed: {}", summarize_paths(&left));
            (!left.is_empty()).then(|| Notice::new(pattern, None, message))
        };
        self.focus.iter().filter_map(missed).collect()
    }
}

/// A number that sorts in descending order.
#[derive(PartialEq)]
struct Descending(f64);

impl Eq for Descending {}

impl Ord for Descending {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0)
    }
}

impl PartialOrd for Descending {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Matches files by path, by name or by a parent directory.
#[derive(Debug)]
struct Marks {
    names: Globs,
    paths: Globs,
}

impl Marks {
    fn new<'p>(patterns: impl IntoIterator<Item = &'p String>) -> Result<Self> {
        let (mut names, mut paths) = (Vec::new(), Vec::new());
        for pattern in patterns {
            for pattern in expand_braces(pattern)? {
                let pattern = pattern.trim_start_matches("./").trim_end_matches('/').to_owned();
                if pattern.contains('/') {
                    paths.push(format!("{pattern}/**"));
                    paths.push(pattern);
                } else if !pattern.is_empty() {
                    paths.push(format!("**/{pattern}/**"));
                    names.push(pattern);
                }
            }
        }
        Ok(Self { names: Globs::new(&names)?, paths: Globs::new(&paths)? })
    }

    fn has(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        self.names.is_match(name)
            || !self.paths.is_empty() && self.paths.is_match_candidate(&Candidate::new(path), path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arranged(focus: &[&str], priorities: &[(&str, f64)], paths: &[&str]) -> Vec<String> {
        let options = ContextOptions {
            focus: focus.iter().map(|&pattern| pattern.to_owned()).collect(),
            priorities: priorities
                .iter()
                .map(|(pattern, priority)| ((*pattern).to_owned(), *priority))
                .collect(),
            ..ContextOptions::new("")
        };
        let mut files: Vec<FoundFile> = paths
            .iter()
            .map(|&path| FoundFile { path: path.to_owned(), real: None, linked: false })
            .collect();
        Order::new(&options).expect("reads").sort_files(&mut files);
        files.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn focus_comes_before_priority_and_both_before_the_order_of_the_walk() {
        let paths = ["a.md", "b.rs", "docs/c.md", "src/d.rs", "src/auth/e.rs"];
        assert_eq!(
            arranged(&["src/auth"], &[("*.rs", 2.0), ("docs/**", 5.0)], &paths),
            ["src/auth/e.rs", "docs/c.md", "b.rs", "src/d.rs", "a.md"]
        );
        assert_eq!(arranged(&[], &[("*.md", -1.0)], &paths)[0], "b.rs");
        assert_eq!(arranged(&["auth"], &[], &paths)[0], "src/auth/e.rs");
        assert_eq!(arranged(&[], &[], &paths), paths);
    }
}
