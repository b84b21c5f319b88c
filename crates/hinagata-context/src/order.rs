//! Which files are chosen first, and in which order files are printed.
//!
//! Both orders are apart: the choice follows what matters, the text follows the paths, so that another focus changes as
//! little of the text as possible. The reasons are in `docs/design/packing-order.md`.

use std::{cmp::Ordering, fs::Metadata, path::Path};

use globset::Candidate;

use crate::{
    error::Result,
    facts::RepositoryFacts,
    glob::{Globs, expand_braces},
    kinds::{FileKind, KindRule, KindRules, describes_project, is_source},
    options::{ContextOptions, TextForm},
    place::{is_in_hidden, serves_program},
    report::{Entry, Notice, summarize_paths},
    walk::FoundFile,
};

/// The part of the budget that a manifest or a README may have to be chosen before programs.
const DESCRIPTION_SHARE: u64 = 20;

/// The usual length of a token, in bytes.
const USUAL_TOKEN: u64 = 4;

/// A file with what decides on its place.
#[derive(Clone, Debug)]
pub(crate) struct RankedFile {
    pub(crate) file: FoundFile,
    /// Whether it is in the focus.
    pub(crate) focused: bool,
    /// Whether it differs from the commit that is checked out.
    pub(crate) changed: bool,
    /// Its kind by its name.
    pub(crate) kind: Option<FileKind>,
}

impl RankedFile {
    /// Whether the kind of a file does not matter, because it was asked for.
    pub(crate) fn is_requested(&self) -> bool {
        self.file.named || self.focused
    }

    /// The rule for the kind of the file.
    pub(crate) fn kind_rule(&self, rules: &KindRules) -> KindRule {
        match self.kind {
            Some(kind) if !self.is_requested() => rules.rule(kind),
            _ => KindRule::Take,
        }
    }
}

/// The criteria of the order.
#[derive(Debug)]
pub(crate) struct Order<'o> {
    focus: Vec<(String, Marks)>,
    priorities: Vec<(Marks, f64)>,
    options: &'o ContextOptions,
}

impl<'o> Order<'o> {
    pub(crate) fn new(options: &'o ContextOptions) -> Result<Self> {
        let priority = |(pattern, priority): &(String, f64)| Ok((Marks::new([pattern])?, *priority));
        let focus = |pattern: &String| Ok((pattern.clone(), Marks::new([pattern])?));
        Ok(Self {
            focus: options.focus.iter().map(focus).collect::<Result<_>>()?,
            priorities: options.priorities.iter().map(priority).collect::<Result<_>>()?,
            options,
        })
    }

    /// Ranks `files`: those that are chosen first come first.
    pub(crate) fn rank_files(
        &self,
        files: Vec<FoundFile>,
        base: &Path,
        facts: &RepositoryFacts,
    ) -> Vec<RankedFile> {
        let mut ranked: Vec<(Rank, RankedFile)> =
            files.into_iter().map(|file| self.rank_file(file, base, facts)).collect();
        match self.options.compat {
            true => ranked.sort_by(|one, other| one.0.wishes.cmp(&other.0.wishes)),
            // No path occurs twice; a stable sort would need room for a copy.
            false => ranked.sort_unstable_by(|(one, first), (other, second)| {
                one.cmp(other).then_with(|| compare_paths(&first.file.path, &second.file.path))
            }),
        }
        let mut files: Vec<RankedFile> = ranked.into_iter().map(|(_, file)| file).collect();
        files.shrink_to_fit();
        files
    }

    fn rank_file(&self, file: FoundFile, base: &Path, facts: &RepositoryFacts) -> (Rank, RankedFile) {
        let focused = self.has_focus(&file.path);
        let priority = self.priorities.iter().find(|(marks, _)| marks.has(&file.path));
        let wishes = (!focused, Descending(priority.map_or(0.0, |(_, priority)| *priority)));
        let mut rank = Rank { wishes, ..Rank::default() };
        let mut ranked = RankedFile { file, focused, changed: false, kind: None };
        if self.options.compat {
            return (rank, ranked);
        }
        rank.wishes.0 = !ranked.is_requested();
        let full = ranked.file.full_path(base);
        let metadata = || full.metadata().ok();
        let size = || metadata().map_or(0, |metadata| metadata.len());
        ranked.kind = FileKind::from_path(&ranked.file.path, ranked.file.marks, size);
        ranked.changed = facts.is_changed(&full);
        let describes = describes_project(&ranked.file.path) && self.is_short(size());
        rank.is_last = ranked.kind_rule(&self.options.kinds) == KindRule::Last;
        rank.is_unchanged = !ranked.changed;
        let is_program = || metadata().is_some_and(|metadata| is_executable(&metadata));
        rank.part = match describes || is_source(&ranked.file.path, is_program) {
            true if is_in_hidden(&ranked.file.path) => ProjectPart::HiddenProgram,
            true => ProjectPart::Program,
            false => ProjectPart::Other,
        };
        rank.commits = std::cmp::Reverse(facts.commits(&full));
        rank.is_detail = !describes;
        rank.is_serving = rank.part != ProjectPart::Other && serves_program(&ranked.file.path);
        (rank, ranked)
    }

    /// Whether a file of this size takes a small part of the budget, as far as its size tells.
    fn is_short(&self, size: u64) -> bool {
        let limit = self.options.tokens.max.map(|most| most as u64 / DESCRIPTION_SHARE * USUAL_TOKEN);
        limit.is_none_or(|limit| size <= limit)
    }

    fn has_focus(&self, path: &str) -> bool {
        self.focus.iter().any(|(_, marks)| marks.has(path))
    }

    /// Notices about files in focus that are not packed whole.
    pub(crate) fn focus_notices(&self, entries: &[Entry], form: TextForm) -> Vec<Notice> {
        let missed = |(pattern, marks): &(String, Marks)| {
            let found: Vec<&Entry> =
                entries.iter().filter(|entry| marks.has(entry.path.trim_end_matches('/'))).collect();
            if found.is_empty() {
                return Some(Notice::new(pattern, None, format!("no file matches the focus `{pattern}`")));
            }
            let left: Vec<String> = found
                .iter()
                .filter(|entry| !entry.is_in_form(form))
                .map(|entry| format!("{} ({})", entry.path, entry.state.as_str()))
                .collect();
            let message =
                format!("some files of the focus `{pattern}` are not whole: {}", summarize_paths(&left));
            (!left.is_empty()).then(|| Notice::new(pattern, None, message))
        };
        self.focus.iter().filter_map(missed).collect()
    }
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}

/// The place of a file; smaller ones are chosen first. The fields are compared in this order.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Whether nobody asked for it, then its priority.
    wishes: (bool, Descending),
    is_last: bool,
    is_unchanged: bool,
    part: ProjectPart,
    commits: std::cmp::Reverse<u32>,
    is_detail: bool,
    /// Whether it is a program that tests or shows the others.
    is_serving: bool,
}

/// What a file is to its project; smaller ones are chosen first.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum ProjectPart {
    /// A program, or what describes the project.
    #[default]
    Program,
    /// A program beneath a hidden directory.
    HiddenProgram,
    /// Documents, settings and other text.
    Other,
}

/// A number that sorts in descending order.
#[derive(Default, PartialEq)]
struct Descending(f64);

impl Eq for Descending {}

impl Ord for Descending {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0)
    }
}

impl PartialOrd for Descending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of paths: part by part, in byte order.
pub(crate) fn compare_paths(one: &str, other: &str) -> Ordering {
    let different = one.bytes().zip(other.bytes()).find(|(one, other)| one != other);
    match different {
        Some((b'/', _)) => Ordering::Less,
        Some((_, b'/')) => Ordering::Greater,
        Some((one, other)) => one.cmp(&other),
        None => one.len().cmp(&other.len()),
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
    use proptest::prelude::*;

    use super::*;
    use crate::kinds::LinguistMarks;

    fn ranked(options: &ContextOptions, paths: &[&str]) -> Vec<String> {
        let found = |path: &&str| FoundFile {
            path: (*path).into(),
            real: None,
            linked: false,
            named: false,
            marks: LinguistMarks::default(),
        };
        let files = paths.iter().map(found).collect();
        let order = Order::new(options).expect("reads");
        let ranked = order.rank_files(files, Path::new("/none"), &RepositoryFacts::default());
        ranked.into_iter().map(|ranked| ranked.file.path.into()).collect()
    }

    fn options(focus: &[&str], priorities: &[(&str, f64)]) -> ContextOptions {
        ContextOptions {
            focus: focus.iter().map(|&pattern| pattern.to_owned()).collect(),
            priorities: priorities
                .iter()
                .map(|(pattern, priority)| ((*pattern).to_owned(), *priority))
                .collect(),
            ..ContextOptions::new("")
        }
    }

    #[test]
    fn focus_comes_before_priority_and_both_before_everything_else() {
        let paths = ["a.md", "b.rs", "docs/c.md", "src/d.rs", "src/auth/e.rs"];
        let wishes = options(&["src/auth"], &[("*.rs", 2.0), ("docs/**", 5.0)]);
        assert_eq!(ranked(&wishes, &paths), ["src/auth/e.rs", "docs/c.md", "b.rs", "src/d.rs", "a.md"]);
        assert_eq!(ranked(&options(&[], &[("*.md", -1.0)]), &paths)[0], "b.rs");
        assert_eq!(ranked(&options(&["auth"], &[]), &paths)[0], "src/auth/e.rs");
    }

    #[test]
    fn programs_and_what_describes_the_project_come_before_other_text_and_vendored_files_last() {
        let paths = [
            "CHANGELOG.md",
            "README.md",
            "docs/a.md",
            "src/b.rs",
            "vendor/c.rs",
            "a/Cargo.toml",
            "Cargo.toml",
        ];
        let expected = [
            "Cargo.toml",
            "README.md",
            "src/b.rs",
            "CHANGELOG.md",
            "a/Cargo.toml",
            "docs/a.md",
            "vendor/c.rs",
        ];
        assert_eq!(ranked(&options(&[], &[]), &paths), expected);
    }

    #[test]
    fn programs_beneath_hidden_directories_come_after_other_programs_and_before_other_text() {
        let paths = [".devops/cpu.Dockerfile", ".github/run.py", "docs/a.md", "src/b.rs", "tests/c.rs"];
        let expected = ["src/b.rs", "tests/c.rs", ".github/run.py", ".devops/cpu.Dockerfile", "docs/a.md"];
        assert_eq!(ranked(&options(&[], &[]), &paths), expected);
        assert_eq!(ranked(&options(&[".github"], &[]), &paths)[0], ".github/run.py");
    }

    #[test]
    fn the_program_itself_comes_before_its_tests_and_examples() {
        let paths = ["README.md", "a_test.go", "benches/a.rs", "ci/run.sh", "docs/a.md", "src/b.rs", "z.md"];
        let expected =
            ["README.md", "src/b.rs", "a_test.go", "benches/a.rs", "ci/run.sh", "docs/a.md", "z.md"];
        assert_eq!(ranked(&options(&[], &[]), &paths), expected);
    }

    #[test]
    fn the_profile_keeps_the_order_of_the_walk() {
        let paths = ["z.md", "README.md", "a/b.rs"];
        let wishes = ContextOptions { compat: true, ..options(&["a"], &[]) };
        assert_eq!(ranked(&wishes, &paths), ["a/b.rs", "z.md", "README.md"]);
    }

    #[test]
    fn paths_are_compared_part_by_part() {
        let mut paths = ["a-b/x", "a/x", "a.rs", "a/b/c"];
        paths.sort_by(|one, other| compare_paths(one, other));
        assert_eq!(paths, ["a/b/c", "a/x", "a-b/x", "a.rs"]);
    }

    proptest! {
        #[test]
        fn paths_are_compared_as_their_parts_are(one in "[a/.\0é]{0,6}", other in "[a/.\0é]{0,6}") {
            prop_assert_eq!(compare_paths(&one, &other), one.split('/').cmp(other.split('/')));
        }
    }
}
