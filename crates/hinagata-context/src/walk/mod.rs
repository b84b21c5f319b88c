//! Walks a directory: breadth first, names in byte order, the files of a directory before its subdirectories.
//!
//! All threads list the directories of one level, and the results are sorted afterwards, so the order is the same on
//! every machine. A walk returns paths; it opens no file but ignore files and attributes.
//!
//! The reasons are in `docs/design/packing-order.md`.

mod listing;

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    attributes::Attributes,
    error::system_cause,
    facts::RepositoryFacts,
    guard::existing_path,
    ignored::Ignored,
    kinds::LinguistMarks,
    report::{Entry, LeftOutReason},
    selection::{Excluded, Walk},
    shown_path::ShownPath,
};

use listing::Listing;

/// Directories of one level for each thread; fewer are not worth another thread.
const FEW: usize = 8;

/// Most files that are counted in a directory that is not entered.
const MOST_COUNTED: u64 = 10_000;

/// A file that a walk found.
#[derive(Clone, Debug)]
pub(crate) struct FoundFile {
    /// The path from the base, as displayed.
    pub(crate) path: ShownPath,
    /// The path to open, if it is not `path` below the base.
    pub(crate) real: Option<PathBuf>,
    /// Whether a link led to it, so that its real name can differ.
    pub(crate) linked: bool,
    /// Whether it was named without wildcards.
    pub(crate) named: bool,
    /// What the repository says about it.
    pub(crate) marks: LinguistMarks,
}

impl FoundFile {
    /// A file that was named.
    pub(crate) fn named(path: impl Into<ShownPath>, real: Option<PathBuf>) -> Self {
        Self { path: path.into(), real, linked: true, named: true, marks: LinguistMarks::default() }
    }

    /// The path to open.
    pub(crate) fn full_path(&self, base: &Path) -> PathBuf {
        self.real.clone().unwrap_or_else(|| base.join(&self.path))
    }
}

/// The result of a walk, in order.
#[derive(Debug, Default)]
pub(crate) struct WalkResult {
    pub(crate) files: Vec<FoundFile>,
    pub(crate) left_out: Vec<Entry>,
}

/// The options of walks.
pub(crate) struct Walker<'w> {
    /// The base directory.
    pub(crate) base: &'w Path,
    pub(crate) excluded: &'w Excluded,
    /// The repository and its rules.
    pub(crate) facts: &'w RepositoryFacts,
    /// Whether ignore files apply.
    pub(crate) ignore_files: bool,
    /// Whether ignore files also apply to the targets of links and to tracked files.
    pub(crate) strict: bool,
    /// Whether links that lead out of the base directory are left out.
    pub(crate) confined: bool,
    pub(crate) threads: usize,
    /// Called with the number of files after each level.
    pub(crate) progress: &'w (dyn Fn(usize) + Sync),
}

/// A directory to list.
#[derive(Clone, Debug)]
struct Directory {
    /// The path from the base, as displayed.
    shown: String,
    real: PathBuf,
    ignored: Option<Arc<Ignored>>,
    attributes: Option<Arc<Attributes>>,
    /// Whether git ignores it and still tracks some of its files.
    tracked_only: bool,
    /// Whether `shown` is its path from the base.
    is_plain: bool,
    trail: Option<Arc<Trail>>,
}

/// The links that led to a directory.
#[derive(Debug)]
struct Trail {
    /// The directory that contains the link, with its own links resolved.
    from: PathBuf,
    before: Option<Arc<Self>>,
}

/// One walk, while it goes on.
struct Route<'w> {
    walk: &'w Walk,
    /// Directories entered through links.
    linked: AtomicUsize,
    /// The directory that links may not leave.
    within: Option<PathBuf>,
}

impl Walker<'_> {
    /// Finds the files of `walk`.
    pub(crate) fn find_files(&self, walk: &Walk) -> WalkResult {
        let mut walked = WalkResult::default();
        let real = match existing_path(&self.base.join(&walk.directory)) {
            Ok(Some(real)) => real,
            // The report lists patterns without a match.
            Ok(None) => return walked,
            Err(error) => {
                walked.left_out.push(unreadable(format!("{}/", walk.shown), system_cause(&error)));
                return walked;
            }
        };
        let within = self.boundary(walk, &real).map(Path::to_owned);
        if within.as_ref().is_some_and(|within| !real.starts_with(within)) {
            walked.left_out.push(outside_entry(format!("{}/", walk.shown)));
            return walked;
        }
        let route = Route { walk, linked: AtomicUsize::new(0), within };
        let start = self.first_directory(walk, real, &mut walked);
        self.walk_levels(&route, start, &mut walked);
        walked
    }

    /// The files of one directory, and its subdirectories with a slash at the end, in order.
    pub(crate) fn list_names(&self, walk: &Walk) -> Vec<String> {
        let Ok(Some(real)) = existing_path(&self.base.join(&walk.directory)) else { return Vec::new() };
        let within = self.boundary(walk, &real).map(Path::to_owned);
        if within.as_ref().is_some_and(|within| !real.starts_with(within)) {
            return Vec::new();
        }
        let route = Route { walk, linked: AtomicUsize::new(0), within };
        let start = self.first_directory(walk, real, &mut WalkResult::default());
        let listing = self.list_directory(&start, &route, true);
        let directories = listing.directories.into_iter().chain(listing.links);
        let mut names: Vec<String> = directories.map(|directory| format!("{}/", directory.shown)).collect();
        names.extend(listing.files.iter().map(|file| file.path.to_string()));
        names.sort_unstable();
        names
    }

    fn first_directory(&self, walk: &Walk, real: PathBuf, walked: &mut WalkResult) -> Directory {
        let mut unread = Vec::new();
        let ignored =
            self.ignore_files.then(|| self.facts.parent_rules(self.base, &real, &mut unread)).flatten();
        walked.left_out.extend(unread.into_iter().map(|unread| self.unread_entry(unread)));
        let attributes = self.facts.parent_attributes(self.base, &real);
        let is_plain = walk.shown == walk.directory && real == self.base.join(&walk.directory);
        let shown = walk.shown.clone();
        Directory { shown, real, ignored, attributes, tracked_only: false, is_plain, trail: None }
    }

    /// Walks level by level; links to directories come after everything else, unless patterns decide what they lead to.
    fn walk_levels(&self, route: &Route<'_>, start: Directory, walked: &mut WalkResult) {
        let mut seen = HashSet::from([start.real.clone()]);
        let (mut level, mut links) = (vec![start], Vec::new());
        let mut depth = 0;
        loop {
            while !level.is_empty() {
                let enter = route.walk.depth.is_none_or(|most| depth < most);
                let listings =
                    self.list_level(&level, |directory| self.list_directory(directory, route, enter));
                level = Vec::new();
                for listing in listings {
                    walked.files.extend(listing.files);
                    walked.left_out.extend(listing.left_out);
                    level.extend(listing.directories);
                    links.extend(listing.links);
                }
                seen.extend(level.iter().map(|directory| directory.real.clone()));
                (self.progress)(walked.files.len());
                depth += 1;
            }
            if links.is_empty() {
                return;
            }
            for link in links.drain(..) {
                self.enter_link(link, &mut seen, &mut level, walked);
            }
        }
    }

    /// Enters the target of a link to a directory, unless the walk has been there.
    fn enter_link(
        &self,
        link: Directory,
        seen: &mut HashSet<PathBuf>,
        level: &mut Vec<Directory>,
        walked: &mut WalkResult,
    ) {
        let shown = format!("{}/", link.shown);
        match link.real.canonicalize() {
            Ok(real) if seen.contains(&real) => {
                let target =
                    real.strip_prefix(self.base).unwrap_or(&real).to_string_lossy().replace('\\', "/");
                let detail = format!("a link to `{target}/`");
                let entry = Entry::left_out(shown, LeftOutReason::Duplicate, detail);
                walked.left_out.push(entry.with_files(count_files(&real)));
            }
            Ok(real) => {
                seen.insert(real.clone());
                let trail = Some(Arc::new(Trail { from: real.clone(), before: None }));
                level.push(Directory { real, trail, is_plain: false, ..link });
            }
            Err(error) => {
                let detail = format!("a broken link: {}", system_cause(&error));
                walked.left_out.push(unreadable(shown, detail));
            }
        }
    }

    /// Lists all directories of a level; the results keep their order.
    fn list_level(&self, level: &[Directory], list: impl Fn(&Directory) -> Listing + Sync) -> Vec<Listing> {
        let threads = self.threads.min(level.len() / FEW);
        if threads < 2 {
            return level.iter().map(list).collect();
        }
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(level.len()));
        let work = || {
            let mut own = Vec::new();
            while let Some((place, directory)) = {
                let place = next.fetch_add(1, Ordering::Relaxed);
                level.get(place).map(|directory| (place, directory))
            } {
                own.push((place, list(directory)));
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
        };
        thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(place, _)| *place);
        done.into_iter().map(|(_, listing)| listing).collect()
    }

    /// The directory that links of a walk from `real` may not leave; `None` if they may lead anywhere.
    fn boundary<'p>(&'p self, walk: &Walk, real: &'p Path) -> Option<&'p Path> {
        // A pattern can name a directory outside of the base explicitly.
        let base = if leads_out(&walk.directory) { real } else { self.base };
        self.confined.then_some(base)
    }
}

impl Route<'_> {
    fn leads_outside(&self, link: &Path) -> bool {
        self.within.as_ref().is_some_and(|within| leads_outside(link, within))
    }
}

fn unreadable(path: String, detail: String) -> Entry {
    Entry::left_out(path, LeftOutReason::Unreadable, detail)
}

/// The entry of a directory that is not entered.
fn left_out_directory(shown: String, reason: LeftOutReason, real: &Path) -> Entry {
    let files = count_files(real);
    let more = files.is_some_and(|files| files >= MOST_COUNTED);
    let detail = more.then(|| format!("at least {MOST_COUNTED} files"));
    Entry::left_out(shown, reason, detail).with_files(files)
}

/// The number of files below `directory`, as far as it can be read; links are not followed.
fn count_files(directory: &Path) -> Option<u64> {
    let mut count = 0;
    let mut rest = vec![directory.to_owned()];
    while let Some(directory) = rest.pop() {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => rest.push(entry.path()),
                _ => count += 1,
            }
            if count >= MOST_COUNTED {
                return Some(MOST_COUNTED);
            }
        }
    }
    Some(count)
}

/// Whether a path, as written, leads out of the directory that it starts at.
pub(crate) fn leads_out(path: &str) -> bool {
    path == ".." || path.starts_with("../") || path.contains("/../") || Path::new(path).is_absolute()
}

/// Whether links make `path` lead out of `within`, a path without links.
pub(crate) fn leads_outside(path: &Path, within: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| !real.starts_with(within))
}

/// The entry of a link that leads out of the base directory.
pub(crate) fn outside_entry(path: String) -> Entry {
    Entry::left_out(path, LeftOutReason::Outside, "a link that leads out of the base directory".to_owned())
}
