//! Compiles include and exclude lists: plain paths, walks with patterns, and exclusions.

use std::sync::atomic::{AtomicBool, Ordering};

use globset::Candidate;

use crate::{
    Result, builtin,
    glob::{Globs, expand_braces, is_dynamic, leading_directory},
};

/// The files of walks without patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// All files.
    Everything,
    /// Files with known names.
    KnownNames,
}

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
    /// The directory, as displayed.
    pub(crate) shown: String,
    /// The files to find.
    pub(crate) wanted: WantedFiles,
    /// The deepest directory level that the patterns can match, below `directory`; `None` without a limit.
    pub(crate) depth: Option<usize>,
}

/// The files that a walk finds.
#[derive(Debug)]
pub(crate) enum WantedFiles {
    /// All files.
    Everything,
    /// Files with known names.
    KnownNames,
    /// Files that match a pattern.
    Patterns { patterns: Vec<String>, globs: Globs, matched: Vec<AtomicBool> },
}

impl Selection {
    /// Compiles `include`; `unasked` are the files of a list without patterns, `None` packs none.
    pub(crate) fn new(include: &[String], unasked: Option<Unasked>) -> Result<Self> {
        let mut selection = Self { paths: Vec::new(), walks: Vec::new(), negated: Vec::new() };
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for pattern in include {
            if is_negated(pattern) {
                selection.negated.push(pattern[1..].to_owned());
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
        if let Some(unasked) = unasked.filter(|_| include.iter().all(|pattern| is_negated(pattern))) {
            let wanted = match unasked {
                Unasked::Everything => WantedFiles::Everything,
                Unasked::KnownNames => WantedFiles::KnownNames,
            };
            selection.walks.push(Walk {
                directory: String::new(),
                shown: String::new(),
                wanted,
                depth: None,
            });
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
            WantedFiles::Everything | WantedFiles::KnownNames => Vec::new(),
            WantedFiles::Patterns { patterns, matched, .. } => {
                let none = |(_, matched): &(_, &AtomicBool)| !matched.load(Ordering::Relaxed);
                patterns.iter().zip(matched).filter(none).map(|(pattern, _)| pattern.as_str()).collect()
            }
        })
    }
}

/// Whether a pattern excludes files; `!(a)` is a group.
fn is_negated(pattern: &str) -> bool {
    pattern.starts_with('!') && !pattern.starts_with("!(")
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
    /// A walk through all of `directory`.
    pub(crate) fn through(directory: impl Into<String>, shown: impl Into<String>) -> Self {
        let wanted = WantedFiles::Everything;
        Self { directory: directory.into(), shown: shown.into(), wanted, depth: None }
    }

    /// Whether the file at `path`, as displayed, belongs to the walk.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_below = match path.strip_prefix(&self.shown) {
            Some(rest) => self.shown.is_empty() || rest.starts_with('/'),
            None => false,
        };
        is_below && self.wanted.is_match(&Candidate::new(path), path, name)
    }

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
        let shown = directory.clone();
        Ok(Self { directory, shown, wanted: WantedFiles::Patterns { patterns, globs, matched }, depth })
    }
}

impl WantedFiles {
    /// Whether no name decides.
    pub(crate) fn is_everything(&self) -> bool {
        matches!(self, Self::Everything)
    }

    /// Whether the file at `path`, whose last component is `name`, is wanted.
    pub(crate) fn is_match(&self, candidate: &Candidate<'_>, path: &str, name: &str) -> bool {
        let (globs, matched) = match self {
            Self::Everything => return true,
            Self::KnownNames => return builtin::has_known_name(name),
            Self::Patterns { globs, matched, .. } => (globs, matched),
        };
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
                // `./name` is the file at the base alone.
                let is_path = pattern.contains('/');
                let pattern = without_dot(&pattern);
                match is_path {
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

    /// Whether a pattern excludes everything in a directory.
    pub(crate) fn is_directory_matched(&self, path: &str) -> bool {
        self.directories.is_match(path)
    }

    /// Whether the built-in list has a directory of this name.
    pub(crate) fn is_builtin(&self, name: &str) -> bool {
        self.builtin && builtin::is_excluded_directory(name)
    }

    /// Whether a directory or one of its parents is excluded; `is_kept` decides on those of the built-in list.
    pub(crate) fn is_below_excluded(&self, directory: &str, is_kept: &dyn Fn(&str) -> bool) -> bool {
        self.is_path_excluded(&format!("{directory}/"), is_kept)
    }

    /// Whether a plain path or one of its directories is excluded; `is_kept` decides on those of the built-in list.
    pub(crate) fn is_path_excluded(&self, path: &str, is_kept: &dyn Fn(&str) -> bool) -> bool {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let parts = path.match_indices('/').map(|(at, _)| &path[..at]);
        let mut parents = parts.filter(|parent| !parent.is_empty());
        parents.any(|parent| {
            self.is_directory_matched(parent) || self.is_builtin(&name(parent)) && !is_kept(parent)
        }) || self.is_file_excluded(&Candidate::new(path), path, &name(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(include: &[&str]) -> Selection {
        let include: Vec<String> = include.iter().map(|&pattern| pattern.to_owned()).collect();
        Selection::new(&include, Some(Unasked::Everything)).expect("reads")
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
            assert_eq!(excluded.is_path_excluded(path, &|_| false), expected, "{path}");
        }
        assert!(!excluded.is_path_excluded("dist/app.js", &|directory| directory == "dist"));
    }
}
