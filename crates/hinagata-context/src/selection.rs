//! Compiles include and exclude lists: plain paths, walks with patterns, and exclusions.

use std::sync::atomic::{AtomicBool, Ordering};

use globset::Candidate;

use crate::{
    Result, builtin,
    glob::{Globs, expand_braces, is_dynamic, leading_directory},
};

/// A compiled include list, in the order of its files.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Plain paths, as written.
    pub(crate) paths: Vec<String>,
    /// Walks, in order.
    pub(crate) walks: Vec<Walk>,
    /// Patterns that `!pattern` excludes.
    pub(crate) negated: Vec<String>,
}

/// A walk through one directory.
#[derive(Debug)]
pub(crate) struct Walk {
    /// The directory, from the base; empty for the base itself.
    pub(crate) directory: String,
    /// The files to find.
    pub(crate) wanted: WantedFiles,
    /// The deepest directory level that the patterns can match, below `directory`; `None` without a limit.
    pub(crate) depth: Option<usize>,
}

/// The files that a walk finds.
#[derive(Debug)]
pub(crate) enum WantedFiles {
    /// The usual text files.
    Usual,
    /// Files that match a pattern.
    Patterns { patterns: Vec<String>, globs: Globs, matched: Vec<AtomicBool> },
}

impl Selection {
    /// Compiles `include`; an empty list means the usual text files.
    pub(crate) fn new(include: &[String]) -> Result<Self> {
        let mut selection = Self { paths: Vec::new(), walks: Vec::new(), negated: Vec::new() };
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for pattern in include {
            if let Some(negated) = pattern.strip_prefix('!').filter(|rest| !rest.starts_with('(')) {
                selection.negated.push(negated.to_owned());
                continue;
            }
            for pattern in expand_braces(pattern)? {
                let pattern = without_dot(&pattern);
                match pattern {
                    "" => {}
                    _ if !is_dynamic(pattern) => selection.paths.push(pattern.to_owned()),
                    _ if pattern.starts_with("../") => outside.push(pattern.to_owned()),
                    _ => inside.push(pattern.to_owned()),
                }
            }
        }
        if include.iter().all(|pattern| pattern.starts_with('!')) {
            selection.walks.push(Walk { directory: String::new(), wanted: WantedFiles::Usual, depth: None });
        }
        selection.walks.extend(by_directory(outside)?);
        selection.walks.extend(match inside.iter().any(|pattern| leading_directory(pattern).is_empty()) {
            true => vec![Walk::new(String::new(), inside)?],
            false => by_directory(inside)?,
        });
        Ok(selection)
    }

    /// Patterns that matched no file.
    pub(crate) fn unmatched(&self) -> impl Iterator<Item = &str> {
        self.walks.iter().flat_map(|walk| match &walk.wanted {
            WantedFiles::Usual => Vec::new(),
            WantedFiles::Patterns { patterns, matched, .. } => {
                let none = |(_, matched): &(_, &AtomicBool)| !matched.load(Ordering::Relaxed);
                patterns.iter().zip(matched).filter(none).map(|(pattern, _)| pattern.as_str()).collect()
            }
        })
    }
}

fn without_dot(pattern: &str) -> &str {
    pattern.strip_prefix("./").map_or(pattern, |rest| rest.trim_start_matches('/'))
}

/// One walk for each leading directory, in the order of the list.
fn by_directory(patterns: Vec<String>) -> Result<Vec<Walk>> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for pattern in patterns {
        let directory = leading_directory(&pattern).to_owned();
        match groups.iter_mut().find(|(known, _)| *known == directory) {
            Some((_, patterns)) => patterns.push(pattern),
            None => groups.push((directory, vec![pattern])),
        }
    }
    groups.into_iter().map(|(directory, patterns)| Walk::new(directory, patterns)).collect()
}

impl Walk {
    fn new(directory: String, patterns: Vec<String>) -> Result<Self> {
        let own = directory.matches('/').count() + usize::from(!directory.is_empty());
        let depth = |pattern: &String| match pattern.contains("**") || pattern.contains('(') {
            true => None,
            false => Some(pattern.matches('/').count().saturating_sub(own)),
        };
        let depth =
            patterns.iter().map(depth).collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max());
        let globs = Globs::new(&patterns)?;
        let matched = patterns.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Self { directory, wanted: WantedFiles::Patterns { patterns, globs, matched }, depth })
    }
}

impl WantedFiles {
    /// Whether the file at `path`, whose last component is `name`, is wanted.
    pub(crate) fn is_match(&self, candidate: &Candidate<'_>, path: &str, name: &str) -> bool {
        let Self::Patterns { globs, matched, .. } = self else { return builtin::is_text_file(name) };
        // Once all patterns have matched, it is cheaper not to ask which one did.
        if matched.iter().all(|matched| matched.load(Ordering::Relaxed)) {
            return globs.is_match_candidate(candidate, path);
        }
        let mut places = Vec::new();
        globs.matches_into(candidate, path, &mut places);
        places.iter().for_each(|place| matched[*place].store(true, Ordering::Relaxed));
        !places.is_empty()
    }
}

/// Exclude patterns and the built-in list.
#[derive(Debug)]
pub(crate) struct Excluded {
    names: Globs,
    paths: Globs,
    directories: Globs,
    builtin: bool,
}

impl Excluded {
    /// Compiles `patterns`; `builtin` adds the built-in list.
    pub(crate) fn new<'p>(patterns: impl IntoIterator<Item = &'p String>, builtin: bool) -> Result<Self> {
        let (mut names, mut paths, mut directories) = (Vec::new(), Vec::new(), Vec::new());
        for pattern in patterns {
            for pattern in expand_braces(pattern)? {
                let pattern = without_dot(&pattern);
                match pattern.contains('/') {
                    true => paths.push(pattern.to_owned()),
                    false => names.push(pattern.to_owned()),
                }
                // A walk does not enter a directory whose files are all excluded.
                directories.extend(pattern.strip_suffix("/**").map(str::to_owned));
            }
        }
        Ok(Self {
            names: Globs::new(&names)?,
            paths: Globs::new(&paths)?,
            directories: Globs::new(&directories)?,
            builtin,
        })
    }

    /// Whether a file is excluded; does not check its directories.
    pub(crate) fn is_file_excluded(&self, candidate: &Candidate<'_>, path: &str, name: &str) -> bool {
        self.names.is_match(name) || !self.paths.is_empty() && self.paths.is_match_candidate(candidate, path)
    }

    /// Whether everything in a directory is excluded.
    pub(crate) fn is_directory_excluded(&self, path: &str, name: &str) -> bool {
        self.builtin && builtin::is_excluded_directory(name) || self.directories.is_match(path)
    }

    /// Whether a directory or one of its parents is excluded.
    pub(crate) fn is_below_excluded(&self, directory: &str) -> bool {
        self.is_path_excluded(&format!("{directory}/"))
    }

    /// Whether a plain path or one of its directories is excluded.
    pub(crate) fn is_path_excluded(&self, path: &str) -> bool {
        let parts = path.match_indices('/').map(|(at, _)| &path[..at]);
        let mut parents = parts.filter(|parent| !parent.is_empty());
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        parents.any(|parent| self.is_directory_excluded(parent, &name(parent)))
            || self.is_file_excluded(&Candidate::new(path), path, &name(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(include: &[&str]) -> Selection {
        Selection::new(&include.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>()).expect("reads")
    }

    fn directories(selection: &Selection) -> Vec<&str> {
        selection.walks.iter().map(|walk| walk.directory.as_str()).collect()
    }

    #[test]
    fn plain_paths_come_first_then_what_leads_out_then_the_rest() {
        let found = selection(&["**/*.md", "z.md", "{m,n}/x.md", "../a/*.md", "!sub/**"]);
        assert_eq!(found.paths, ["z.md", "m/x.md", "n/x.md"]);
        assert_eq!(directories(&found), ["../a", ""]);
        assert_eq!(found.negated, ["sub/**"]);
    }

    #[test]
    fn patterns_are_walked_by_directory_unless_one_starts_at_the_root() {
        assert_eq!(directories(&selection(&["src/**/*.ts", "docs/*.md", "src/*.rs"])), ["src", "docs"]);
        assert_eq!(directories(&selection(&["src/**/*.ts", "*.md"])), [""]);
        assert_eq!(directories(&selection(&[])), [""]);
    }

    #[test]
    fn walks_go_as_deep_as_their_patterns() {
        let depth = |pattern: &str| selection(&[pattern]).walks[0].depth;
        assert_eq!(depth("*.md"), Some(0));
        assert_eq!(depth("a/b/*/c.*"), Some(1));
        assert_eq!(depth("a/**/c"), None);
    }

    #[test]
    fn a_bare_name_leaves_out_files_and_not_directories() {
        let patterns = ["*.test.ts".to_owned(), "old".to_owned(), "src/gen/**".to_owned()];
        let excluded = Excluded::new(&patterns, true).expect("reads");
        for (path, expected) in [
            ("src/a.test.ts", true),
            ("src/old/a.ts", false),
            ("old", true),
            ("src/gen/x.ts", true),
            ("dist/app.js", true),
            ("x/node_modules/y/z.js", true),
            ("src/a.ts", false),
        ] {
            assert_eq!(excluded.is_path_excluded(path), expected, "{path}");
        }
    }
}
