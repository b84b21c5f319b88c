//! Walks a directory: breadth first, names in byte order, the files of a directory before its subdirectories.
//!
//! All threads list the directories of one level, and the results are sorted afterwards, so the order is the same on
//! every machine. A walk returns paths; it opens no file.
//!
//! The reasons are in `docs/design/packing-order.md`.

use std::{
    ffi::OsString,
    fs::{self, DirEntry},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use globset::Candidate;

use crate::{
    error::system_cause,
    guard::existing_path,
    ignored::Ignored,
    report::{Entry, LeftOutReason},
    selection::{Excluded, Walk},
};

/// Most directories that a walk enters through links: links to links could repeat the same files without end.
const MOST_LINKED: usize = 20_000;

/// Directories of one level for each thread; fewer are not worth another thread.
const FEW: usize = 8;

/// A file that a walk found.
#[derive(Clone, Debug)]
pub(crate) struct FoundFile {
    /// The path from the base, as displayed.
    pub(crate) path: String,
    /// The path to open, if it is not `path` below the base.
    pub(crate) real: Option<PathBuf>,
    /// Whether a link led to it, so that its real name can differ.
    pub(crate) linked: bool,
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
    /// Whether ignore files apply.
    pub(crate) ignore_files: bool,
    /// Whether ignore files also apply to the targets of links.
    pub(crate) strict: bool,
    /// Whether links that lead out of the base directory are left out.
    pub(crate) confined: bool,
    pub(crate) threads: usize,
    /// Called with the number of files after each level.
    pub(crate) progress: &'w (dyn Fn(usize) + Sync),
}

/// A directory to list.
#[derive(Debug)]
struct Directory {
    /// The path from the base, as displayed.
    shown: String,
    real: PathBuf,
    ignored: Option<Arc<Ignored>>,
    trail: Option<Arc<Trail>>,
}

/// The links that led to a directory.
#[derive(Debug)]
struct Trail {
    /// The directory that contains the link, with its own links resolved.
    from: PathBuf,
    before: Option<Arc<Self>>,
}

#[derive(Debug, Default)]
struct Listing {
    files: Vec<FoundFile>,
    directories: Vec<Directory>,
    left_out: Vec<Entry>,
}

/// A name in a directory.
struct NamedEntry {
    name: OsString,
    entry: DirEntry,
}

impl Walker<'_> {
    /// Finds the files of `walk`.
    pub(crate) fn find_files(&self, walk: &Walk) -> WalkResult {
        let mut walked = WalkResult::default();
        let real = self.base.join(&walk.directory);
        let real = match existing_path(&real) {
            Ok(Some(real)) => real,
            // The report lists patterns without a match.
            Ok(None) => return walked,
            Err(error) => {
                let path = format!("{}/", walk.directory);
                walked.left_out.push(Entry::left_out(path, LeftOutReason::Unreadable, system_cause(&error)));
                return walked;
            }
        };
        let within = self.within(walk, &real);
        if within.is_some_and(|within| !real.starts_with(within)) {
            walked.left_out.push(outside_entry(format!("{}/", walk.directory)));
            return walked;
        }
        let mut unread = Vec::new();
        let ignored =
            self.ignore_files.then(|| Ignored::from_parents(self.base, &real, &mut unread)).flatten();
        walked.left_out.extend(unread.into_iter().map(|unread| self.unread_entry(unread)));
        let within = within.map(Path::to_owned);
        let mut level = vec![Directory { shown: walk.directory.clone(), real, ignored, trail: None }];
        let linked = AtomicUsize::new(0);
        let mut depth = 0;
        while !level.is_empty() {
            let enter = walk.depth.is_none_or(|most| depth < most);
            let listings = self.list_level(&level, |directory| {
                self.list_directory(directory, walk, enter, &linked, within.as_deref())
            });
            level = Vec::new();
            for listing in listings {
                walked.files.extend(listing.files);
                walked.left_out.extend(listing.left_out);
                level.extend(listing.directories);
            }
            (self.progress)(walked.files.len());
            depth += 1;
        }
        walked
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
    fn within<'p>(&'p self, walk: &Walk, real: &'p Path) -> Option<&'p Path> {
        // A pattern can name a directory outside of the base explicitly.
        let base = if leads_out(&walk.directory) { real } else { self.base };
        self.confined.then_some(base)
    }

    fn list_directory(
        &self,
        directory: &Directory,
        walk: &Walk,
        enter: bool,
        linked: &AtomicUsize,
        within: Option<&Path>,
    ) -> Listing {
        let mut listing = Listing::default();
        let names = match directory_entries(&directory.real) {
            Ok(names) => names,
            Err(error) => {
                let path = format!("{}/", directory.shown);
                listing.left_out.push(Entry::left_out(path, LeftOutReason::Unreadable, system_cause(&error)));
                return listing;
            }
        };
        let ignored = self.ignore_rules(directory, &names, &mut listing);
        for NamedEntry { name, entry } in names {
            let text = name.to_string_lossy();
            let shown = match directory.shown.as_str() {
                "" => text.clone().into_owned(),
                parent if parent.ends_with('/') => format!("{parent}{text}"),
                parent => format!("{parent}/{text}"),
            };
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) => {
                    listing.left_out.push(Entry::left_out(
                        shown,
                        LeftOutReason::Unreadable,
                        system_cause(&error),
                    ));
                    continue;
                }
            };
            let is_ignored = |is_directory: bool| {
                ignored
                    .as_ref()
                    .is_some_and(|ignored| ignored.is_match(&directory.real.join(&name), is_directory))
            };
            // Only links need another system call for their targets.
            let (is_directory, is_file) = match kind.is_symlink() {
                true => match fs::metadata(entry.path()) {
                    Ok(metadata) => (metadata.is_dir(), metadata.is_file()),
                    Err(error) => {
                        self.report_broken_link(&shown, &text, walk, &error, &mut listing);
                        continue;
                    }
                },
                false => (kind.is_dir(), kind.is_file()),
            };
            let is_outside =
                || kind.is_symlink() && within.is_some_and(|within| leads_outside(&entry.path(), within));
            if is_directory && enter {
                let reason = if self.excluded.is_directory_excluded(&shown, &text) {
                    Some(LeftOutReason::Excluded)
                } else {
                    is_ignored(true).then_some(LeftOutReason::Ignored)
                };
                if let Some(reason) = reason {
                    listing.left_out.push(Entry::left_out(format!("{shown}/"), reason, None));
                    continue;
                }
                if is_outside() {
                    listing.left_out.push(outside_entry(format!("{shown}/")));
                    continue;
                }
                let trail = match kind.is_symlink() {
                    true => follow_link(directory, &entry.path(), linked),
                    false => Ok(directory.trail.clone()),
                };
                match trail {
                    Ok(trail) => listing.directories.push(Directory {
                        shown,
                        real: entry.path(),
                        ignored: ignored.clone(),
                        trail,
                    }),
                    Err(detail) => {
                        let detail = detail.to_owned();
                        listing.left_out.push(Entry::left_out(
                            format!("{shown}/"),
                            LeftOutReason::Unreadable,
                            detail,
                        ));
                    }
                }
            } else if is_file {
                let candidate = Candidate::new(&shown);
                if !walk.wanted.is_match(&candidate, &shown, &text) {
                    continue;
                }
                if self.excluded.is_file_excluded(&candidate, &shown, &text) {
                    listing.left_out.push(Entry::left_out(shown, LeftOutReason::Excluded, None));
                } else if is_ignored(false) {
                    listing.left_out.push(Entry::left_out(shown, LeftOutReason::Ignored, None));
                } else if is_outside() {
                    listing.left_out.push(outside_entry(shown));
                } else {
                    let linked = kind.is_symlink() || directory.trail.is_some();
                    if linked && self.leads_to_ignored(&entry.path()) {
                        let detail = "a link leads to an ignored file".to_owned();
                        listing.left_out.push(Entry::left_out(shown, LeftOutReason::Ignored, detail));
                        continue;
                    }
                    // The displayed form of a name that is not UTF-8 cannot be opened.
                    let real = name.to_str().is_none().then(|| entry.path());
                    listing.files.push(FoundFile { path: shown, real, linked });
                }
            }
        }
        listing
    }

    /// The ignore files that apply in `directory`.
    fn ignore_rules(
        &self,
        directory: &Directory,
        names: &[NamedEntry],
        listing: &mut Listing,
    ) -> Option<Arc<Ignored>> {
        if !self.ignore_files {
            return None;
        }
        let text = |named: &NamedEntry| {
            named.name.to_str().filter(|name| Ignored::is_ignore_file(name)).map(str::to_owned)
        };
        let own: Vec<String> = names.iter().filter_map(text).collect();
        let mut unread = Vec::new();
        let ignored =
            Ignored::enter_directory(&directory.real, &own, directory.ignored.as_ref(), &mut unread);
        listing.left_out.extend(unread.into_iter().map(|unread| self.unread_entry(unread)));
        ignored
    }

    /// The entry of an unreadable ignore file.
    fn unread_entry(&self, (path, why): crate::ignored::UnreadIgnoreFile) -> Entry {
        let shown = path.strip_prefix(self.base).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        Entry::left_out(shown, LeftOutReason::Unreadable, format!("its rules are not applied: {why}"))
    }

    fn leads_to_ignored(&self, path: &Path) -> bool {
        self.strict
            && self.ignore_files
            && path.canonicalize().is_ok_and(|real| Ignored::is_path_ignored(self.base, &real))
    }

    /// Reports a broken link if its name matches the patterns.
    fn report_broken_link(
        &self,
        shown: &str,
        name: &str,
        walk: &Walk,
        error: &std::io::Error,
        listing: &mut Listing,
    ) {
        let candidate = Candidate::new(shown);
        if walk.wanted.is_match(&candidate, shown, name)
            && !self.excluded.is_file_excluded(&candidate, shown, name)
        {
            let detail = format!("a broken link: {}", system_cause(error));
            listing.left_out.push(Entry::left_out(shown, LeftOutReason::Unreadable, detail));
        }
    }
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

/// The entries of a directory, by name in byte order.
fn directory_entries(directory: &Path) -> std::io::Result<Vec<NamedEntry>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        names.push(NamedEntry { name: entry.file_name(), entry });
    }
    names.sort_unstable_by(|left, right| left.name.as_encoded_bytes().cmp(right.name.as_encoded_bytes()));
    Ok(names)
}

/// The trail after following the link at `path` in `directory`, or why it is not followed.
fn follow_link(
    directory: &Directory,
    path: &Path,
    linked: &AtomicUsize,
) -> Result<Option<Arc<Trail>>, &'static str> {
    let (Ok(from), Ok(to)) = (directory.real.canonicalize(), path.canonicalize()) else {
        return Err("a broken link");
    };
    let mut before = directory.trail.as_deref();
    let mut circle = from.starts_with(&to);
    while let Some(trail) = before.filter(|_| !circle) {
        circle = trail.from.starts_with(&to);
        before = trail.before.as_deref();
    }
    if circle {
        return Err("a circular link");
    }
    if linked.fetch_add(1, Ordering::Relaxed) >= MOST_LINKED {
        return Err("too many directories reached through links");
    }
    Ok(Some(Arc::new(Trail { from, before: directory.trail.clone() })))
}
