//! Selects the files that paths and patterns name, in order.

use std::{
    collections::{HashMap, HashSet},
    fs::Metadata,
    io,
    path::{Path, PathBuf},
};

use crate::{
    error::{Result, system_cause},
    facts::RepositoryFacts,
    guard::Guard,
    options::Rules,
    report::{Entry, LeftOutReason, Notice},
    selection::{Excluded, Selection, Unasked, Walk},
    shown_path::ShownPath,
    walk::{FoundFile, Walker, leads_out, leads_outside, outside_entry},
};

/// What to select.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'w> {
    /// Files and directories, as they are called.
    pub(crate) paths: &'w [String],
    /// Patterns.
    pub(crate) include: &'w [String],
    pub(crate) exclude: &'w [String],
    pub(crate) rules: Rules,
    /// Selects as the program that defined the plain format.
    pub(crate) compat: bool,
}

/// The files that paths and patterns name, and entries that the search left out.
#[derive(Debug, Default)]
pub(crate) struct SelectedFiles {
    pub(crate) files: Vec<FoundFile>,
    pub(crate) left_out: Vec<Entry>,
    pub(crate) unmatched: Vec<String>,
    /// Paths without wildcards.
    pub(crate) named: Vec<String>,
    pub(crate) notices: Vec<Notice>,
}

/// The compiled form of [`Wanted`], which also decides about paths that no longer exist.
#[derive(Debug)]
pub(crate) struct Selector<'s> {
    base: &'s Path,
    wanted: Wanted<'s>,
    selection: Selection,
    excluded: Excluded,
    facts: &'s RepositoryFacts,
}

impl<'s> Selector<'s> {
    /// Compiles what to select below `base`, a path without links.
    ///
    /// # Errors
    /// An invalid pattern.
    pub(crate) fn new(base: &'s Path, wanted: Wanted<'s>, facts: &'s RepositoryFacts) -> Result<Self> {
        let unasked = match wanted.compat {
            true => Some(Unasked::KnownNames),
            false => wanted.paths.is_empty().then_some(Unasked::Everything),
        };
        let mut selection = Selection::new(wanted.include, unasked)?;
        let excluded = Excluded::new(wanted.exclude.iter().chain(&selection.negated), wanted.rules.builtin)?;
        let paths = wanted.paths.iter().map(|path| plain_name(path));
        selection.paths.splice(0..0, paths);
        let mut selector = Self { base, wanted, selection, excluded, facts };
        if !wanted.compat {
            selector.walk_named_directories();
        }
        Ok(selector)
    }

    /// Makes walks of the paths that are directories.
    fn walk_named_directories(&mut self) {
        let paths = std::mem::take(&mut self.selection.paths);
        let is_directory = |path: &String| self.base.join(path).is_dir();
        let (directories, files): (Vec<String>, Vec<String>) = paths.into_iter().partition(is_directory);
        let mut shown: HashSet<String> = HashSet::new();
        for directory in directories {
            let name = self.root_name(&directory, &mut shown);
            let directory = if directory == "." { String::new() } else { directory };
            self.selection.walks.push(Walk::through(directory, name));
        }
        self.selection.paths = files;
    }

    /// The name that stands before the paths of a directory: as written, or its last part if it is outside of the base.
    fn root_name(&self, directory: &str, shown: &mut HashSet<String>) -> String {
        if !leads_out(directory) {
            let name = if directory == "." { "" } else { directory };
            shown.insert(name.to_owned());
            return name.to_owned();
        }
        let real = self.base.join(directory).canonicalize().unwrap_or_else(|_| PathBuf::from(directory));
        let last = real.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
        let numbered = (2..).map(|number| format!("{last}-{number}"));
        let mut names = std::iter::once(last.clone()).chain(numbered);
        let free = names.find(|name| !shown.contains(name) && !self.base.join(name).exists());
        let name = free.unwrap_or(last);
        shown.insert(name.clone());
        name
    }

    /// Selects the files.
    pub(crate) fn select_files(&self, threads: usize, progress: &(dyn Fn(usize) + Sync)) -> SelectedFiles {
        let mut selected = SelectedFiles { named: self.selection.paths.clone(), ..SelectedFiles::default() };
        let guard = Guard::new(self.wanted.rules, self.base);
        for path in &self.selection.paths {
            self.add_named(path, &guard, &mut selected);
        }
        let walker = self.walker(threads, progress);
        for walk in &self.selection.walks {
            if self.is_start_excluded(walk) {
                let path = format!("{}/", walk.shown);
                selected.left_out.push(Entry::left_out(path, LeftOutReason::Excluded, None));
                continue;
            }
            let walked = walker.find_files(walk);
            selected.files.extend(walked.files);
            selected.left_out.extend(walked.left_out);
        }
        selected.unmatched.extend(self.selection.unmatched().map(str::to_owned));
        // A single walk finds no path twice.
        if self.selection.paths.len() + self.selection.walks.len() > 1 {
            remove_duplicates(&mut selected);
        }
        if !self.wanted.compat {
            leave_out_links(&mut selected, self.base);
        }
        selected
    }

    /// The files of `directory`, and its subdirectories with a slash at the end.
    pub(crate) fn list_names(&self, directory: &str) -> Vec<String> {
        let walk = Walk::through(directory, directory);
        let is_kept = |above: &str| self.is_kept(above);
        match !directory.is_empty() && self.excluded.is_below_excluded(directory, &is_kept) {
            true => Vec::new(),
            false => self.walker(1, &|_| {}).list_names(&walk),
        }
    }

    fn walker<'w>(&'w self, threads: usize, progress: &'w (dyn Fn(usize) + Sync)) -> Walker<'w> {
        let rules = self.wanted.rules;
        Walker {
            base: self.base,
            excluded: &self.excluded,
            facts: self.facts,
            ignore_files: rules.ignore_files,
            strict: rules.strict,
            confined: rules.outside,
            threads,
            progress,
        }
    }

    /// Whether the selection covers the file at `path`, whether it exists or not.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let is_named = self.selection.paths.iter().any(|named| named == path);
        (is_named || self.selection.walks.iter().any(|walk| walk.covers(path)))
            && !self.excluded.is_path_excluded(path, &|directory| self.is_kept(directory))
    }

    /// Whether a pattern starts in an excluded directory. A directory that was named is never excluded by its name.
    fn is_start_excluded(&self, walk: &Walk) -> bool {
        let is_named = walk.wanted.is_everything();
        !walk.directory.is_empty()
            && self
                .excluded
                .is_below_excluded(&walk.directory, &|directory| is_named || self.is_kept(directory))
    }

    /// Whether a directory of the built-in list is packed.
    fn is_kept(&self, directory: &str) -> bool {
        self.facts.tracks_below(&self.base.join(directory))
    }

    /// Adds the file at `path`, which is named without wildcards.
    fn add_named(&self, path: &str, guard: &Guard, selected: &mut SelectedFiles) {
        let full = self.base.join(path);
        match full.metadata() {
            Ok(metadata) => match self.leave_out_named(path, &full, &metadata, guard) {
                Some(entry) => selected.left_out.push(entry),
                None if metadata.is_dir() => selected.notices.push(directory_notice(path)),
                None => selected.files.push(FoundFile::named(path, None)),
            },
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                selected.unmatched.push(path.to_owned());
            }
            Err(error) => {
                selected.left_out.push(Entry::left_out(
                    path,
                    LeftOutReason::Unreadable,
                    system_cause(&error),
                ));
            }
        }
    }

    /// The entry of a named path that is not packed.
    fn leave_out_named(&self, path: &str, full: &Path, metadata: &Metadata, guard: &Guard) -> Option<Entry> {
        // Only the profile excludes a file that is named by the name of its directory.
        let is_kept = |_: &str| !self.wanted.compat;
        if metadata.is_dir() {
            return None;
        }
        if !metadata.is_file() {
            return Some(Entry::left_out(path, LeftOutReason::Special, None));
        }
        if self.excluded.is_path_excluded(path, &is_kept) {
            return Some(Entry::left_out(path, LeftOutReason::Excluded, None));
        }
        if self.wanted.rules.outside && !leads_out(path) && leads_outside(full, self.base) {
            return Some(outside_entry(path.to_owned()));
        }
        let refused = guard.refuses_path(full).filter(|(reason, _)| *reason == LeftOutReason::Ignored);
        refused.map(|(reason, _)| Entry::left_out(path, reason, None))
    }
}

/// The profile packs no directory that is named.
fn directory_notice(path: &str) -> Notice {
    let message =
        format!("`{path}` is a directory; use `{}/**` to include its files", path.trim_end_matches('/'));
    Notice::new(path, None, message)
}

/// A path without `./` at its start and `/` at its end.
fn plain_name(path: &str) -> String {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    match path.trim_end_matches('/') {
        "" if path.is_empty() => ".".to_owned(),
        "" => "/".to_owned(),
        path => path.to_owned(),
    }
}

/// Keeps the first occurrence of each path.
fn remove_duplicates(selected: &mut SelectedFiles) {
    let mut seen: HashSet<ShownPath> = HashSet::new();
    selected.files.retain(|file| seen.insert(file.path.clone()));
    let mut reported: HashSet<ShownPath> = HashSet::new();
    selected.left_out.retain(|entry| !seen.contains(&entry.path) && reported.insert(entry.path.clone()));
}

/// Leaves out links to files that are selected: one of several names is enough.
fn leave_out_links(selected: &mut SelectedFiles, base: &Path) {
    let target = |file: &FoundFile| file.full_path(base).canonicalize().ok();
    let targets: HashSet<PathBuf> =
        selected.files.iter().filter(|file| file.linked).filter_map(target).collect();
    if targets.is_empty() {
        return;
    }
    let mut taken: HashMap<PathBuf, ShownPath> = HashMap::new();
    for file in selected.files.iter().filter(|file| !file.linked) {
        let full = file.full_path(base);
        if targets.contains(&full) {
            taken.insert(full, file.path.clone());
        }
    }
    let left_out = &mut selected.left_out;
    selected.files.retain(|file| {
        let Some(real) = file.linked.then(|| target(file)).flatten() else { return true };
        match taken.get(&real) {
            Some(first) => {
                let detail = format!("a link to `{first}`");
                left_out.push(Entry::left_out(&file.path, LeftOutReason::Duplicate, detail));
                false
            }
            None => {
                taken.insert(real, file.path.clone());
                true
            }
        }
    });
}
