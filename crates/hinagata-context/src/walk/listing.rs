//! Lists one directory of a walk.

use std::{
    ffi::OsString,
    fs::{self, DirEntry, FileType},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use globset::Candidate;

use super::{Directory, FoundFile, Route, Trail, Walker, left_out_directory, outside_entry, unreadable};
use crate::{
    attributes::{ATTRIBUTES_FILE, Attributes},
    builtin,
    error::system_cause,
    ignored::{Ignored, IgnoredBy},
    report::{Entry, LeftOutReason},
};

/// Most directories that a walk enters through links: links to links could repeat the same files without end.
const MOST_LINKED: usize = 20_000;

/// What a directory has.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) files: Vec<FoundFile>,
    pub(super) directories: Vec<Directory>,
    /// Links to directories that are entered only if nothing else leads there.
    pub(super) links: Vec<Directory>,
    pub(super) left_out: Vec<Entry>,
}

/// A name in a directory.
struct NamedEntry {
    name: OsString,
    entry: DirEntry,
}

/// What a name refers to, behind links.
enum Target {
    Directory,
    File,
    Special,
}

impl Walker<'_> {
    /// Lists `directory`, whose subdirectories are entered or not.
    pub(super) fn list_directory(&self, directory: &Directory, route: &Route<'_>, enter: bool) -> Listing {
        let mut listing = Listing::default();
        let names = match directory_entries(&directory.real) {
            Ok(names) => names,
            Err(error) => {
                listing.left_out.push(unreadable(format!("{}/", directory.shown), system_cause(&error)));
                return listing;
            }
        };
        let directory = Directory {
            ignored: self.ignore_rules(directory, &names, &mut listing),
            attributes: self.attributes(directory, &names, &mut listing),
            ..directory.clone()
        };
        for named in &names {
            let name = named.name.to_string_lossy();
            let shown = match directory.shown.as_str() {
                "" => name.clone().into_owned(),
                parent if parent.ends_with('/') => format!("{parent}{name}"),
                parent => format!("{parent}/{name}"),
            };
            let is_utf8 = named.name.to_str().is_some();
            let item = Item { shown, name: &name, is_utf8, entry: &named.entry };
            match item.entry.file_type() {
                Ok(kind) => self.list_item(&directory, route, enter, item, kind, &mut listing),
                Err(error) => listing.left_out.push(unreadable(item.shown, system_cause(&error))),
            }
        }
        listing
    }

    fn list_item(
        &self,
        directory: &Directory,
        route: &Route<'_>,
        enter: bool,
        item: Item<'_>,
        kind: FileType,
        listing: &mut Listing,
    ) {
        // Only links need another system call for their targets.
        let target = match kind.is_symlink() {
            true => match fs::metadata(item.entry.path()) {
                Ok(metadata) => Target::from_type(metadata.file_type()),
                Err(error) => {
                    if self.wants(route, &item) {
                        let detail = format!("a broken link: {}", system_cause(&error));
                        listing.left_out.push(unreadable(item.shown, detail));
                    }
                    return;
                }
            },
            false => Target::from_type(kind),
        };
        match target {
            Target::Directory if enter => self.list_subdirectory(directory, route, item, kind, listing),
            Target::Directory => {}
            Target::File => self.list_file(directory, route, item, kind, listing),
            Target::Special => {
                if self.wants(route, &item) {
                    listing.left_out.push(Entry::left_out(item.shown, LeftOutReason::Special, None));
                }
            }
        }
    }

    fn list_subdirectory(
        &self,
        directory: &Directory,
        route: &Route<'_>,
        item: Item<'_>,
        kind: FileType,
        listing: &mut Listing,
    ) {
        // The directory of a repository is none of its files.
        if self.excluded.is_builtin(item.name) && builtin::is_repository_directory(item.name) {
            return;
        }
        let real = item.entry.path();
        let shown = format!("{}/", item.shown);
        if self.is_directory_excluded(&item, &real) {
            listing.left_out.push(left_out_directory(shown, LeftOutReason::Excluded, &real));
            return;
        }
        let rule = directory.ignored.as_ref().and_then(|ignored| ignored.find_rule(&real, true));
        let has_tracked = || !self.strict && self.facts.tracks_below(&real);
        let tracked_only = directory.tracked_only || rule == Some(IgnoredBy::Git);
        if rule == Some(IgnoredBy::Packers) || tracked_only && !has_tracked() {
            listing.left_out.push(left_out_directory(shown, LeftOutReason::Ignored, &real));
            return;
        }
        if kind.is_symlink() && route.leads_outside(&real) {
            listing.left_out.push(outside_entry(shown));
            return;
        }
        let is_plain = directory.is_plain && item.is_utf8;
        let mut below = Directory { shown: item.shown, real, tracked_only, is_plain, ..directory.clone() };
        if !kind.is_symlink() {
            listing.directories.push(below);
        } else if route.walk.wanted.is_everything() {
            listing.links.push(below);
        } else {
            match follow_link(directory, &below.real, &route.linked) {
                Ok(trail) => {
                    below.trail = trail;
                    listing.directories.push(below);
                }
                Err(detail) => listing.left_out.push(unreadable(shown, detail.to_owned())),
            }
        }
    }

    fn list_file(
        &self,
        directory: &Directory,
        route: &Route<'_>,
        item: Item<'_>,
        kind: FileType,
        listing: &mut Listing,
    ) {
        let candidate = Candidate::new(&item.shown);
        let is_repository =
            self.excluded.is_builtin(item.name) && builtin::is_repository_directory(item.name);
        if is_repository || !route.walk.wanted.is_match(&candidate, &item.shown, item.name) {
            return;
        }
        let real = item.entry.path();
        let linked = kind.is_symlink() || directory.trail.is_some();
        if self.excluded.is_file_excluded(&candidate, &item.shown, item.name) {
            listing.left_out.push(Entry::left_out(item.shown, LeftOutReason::Excluded, None));
        } else if self.is_file_ignored(directory, &real) {
            listing.left_out.push(Entry::left_out(item.shown, LeftOutReason::Ignored, None));
        } else if kind.is_symlink() && route.leads_outside(&real) {
            listing.left_out.push(outside_entry(item.shown));
        } else if linked && self.leads_to_ignored(&real) {
            let detail = "a link leads to an ignored file".to_owned();
            listing.left_out.push(Entry::left_out(item.shown, LeftOutReason::Ignored, detail));
        } else {
            let marks = directory.attributes.as_ref().map(|attributes| attributes.marks(&real));
            // The displayed form can differ from the path: names that are not UTF-8, targets of links, other roots.
            listing.files.push(FoundFile {
                real: (!(directory.is_plain && item.is_utf8)).then_some(real),
                path: item.shown.into(),
                linked,
                named: false,
                marks: marks.unwrap_or_default(),
            });
        }
    }

    /// Whether a file of this name belongs to the walk.
    fn wants(&self, route: &Route<'_>, item: &Item<'_>) -> bool {
        let candidate = Candidate::new(&item.shown);
        route.walk.wanted.is_match(&candidate, &item.shown, item.name)
            && !self.excluded.is_file_excluded(&candidate, &item.shown, item.name)
    }

    /// Whether nothing of a directory is packed. A directory of the built-in list is packed if git tracks files in it.
    fn is_directory_excluded(&self, item: &Item<'_>, real: &Path) -> bool {
        self.excluded.is_directory_matched(&item.shown)
            || self.excluded.is_builtin(item.name) && !self.facts.tracks_below(real)
    }

    fn is_file_ignored(&self, directory: &Directory, real: &Path) -> bool {
        match directory.ignored.as_ref().and_then(|ignored| ignored.find_rule(real, false)) {
            Some(IgnoredBy::Packers) => true,
            Some(IgnoredBy::Git) => self.strict || !self.facts.tracks_file(real),
            None => directory.tracked_only && !self.facts.tracks_file(real),
        }
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

    /// The attributes that apply in `directory`.
    fn attributes(
        &self,
        directory: &Directory,
        names: &[NamedEntry],
        listing: &mut Listing,
    ) -> Option<Arc<Attributes>> {
        if !self.facts.reads_attributes() || !names.iter().any(|named| named.name == ATTRIBUTES_FILE) {
            return directory.attributes.clone();
        }
        Attributes::enter_directory(&directory.real, directory.attributes.as_ref()).unwrap_or_else(|error| {
            let unread = (directory.real.join(ATTRIBUTES_FILE), system_cause(&error));
            listing.left_out.push(self.unread_entry(unread));
            directory.attributes.clone()
        })
    }

    /// The entry of an unreadable file with rules.
    pub(super) fn unread_entry(&self, (path, why): crate::ignored::UnreadIgnoreFile) -> Entry {
        let shown = path.strip_prefix(self.base).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        unreadable(shown, format!("its rules are not applied: {why}"))
    }

    fn leads_to_ignored(&self, path: &Path) -> bool {
        self.strict
            && self.ignore_files
            && path.canonicalize().is_ok_and(|real| Ignored::is_path_ignored(self.base, &real))
    }
}

/// A name in a directory that is listed.
struct Item<'i> {
    shown: String,
    name: &'i str,
    is_utf8: bool,
    entry: &'i DirEntry,
}

impl Target {
    fn from_type(kind: FileType) -> Self {
        if kind.is_dir() {
            Self::Directory
        } else if kind.is_file() {
            Self::File
        } else {
            Self::Special
        }
    }
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
