//! The set of watched paths, which changes as directories are created and removed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::pending::PendingChanges;

/// Number of parents of a path that are watched for changes of names, because any of them may be moved or removed.
/// Three reach from a directory such as `user_data/shared` to the parent of the workspace.
const WATCHED_PARENTS: usize = 3;

pub(super) struct WatchSet {
    watcher: RecommendedWatcher,
    places: Vec<PathBuf>,
    watches: BTreeMap<PathBuf, RecursiveMode>,
}

impl WatchSet {
    pub(super) fn new(places: Vec<PathBuf>, pending: &Arc<PendingChanges>) -> notify::Result<Self> {
        // A link in a workspace could point to the root of the file system.
        let config = Config::default().with_follow_symlinks(false);
        let pending = Arc::clone(pending);
        let watcher = RecommendedWatcher::new(move |event| pending.record_event(event), config)?;
        Ok(Self { watcher, places, watches: BTreeMap::new() })
    }

    /// The number of watched paths.
    pub(super) fn count(&self) -> usize {
        self.watches.len()
    }

    /// Watches the existing paths and returns whether all of them are watched; `rewatch` renews existing watches,
    /// because a path may have been moved or removed.
    ///
    /// # Errors
    /// The error of the system if it refuses to watch.
    pub(super) fn arm_watches(&mut self, rewatch: bool) -> notify::Result<bool> {
        let wanted = paths_to_watch(&self.places);
        let stays_watched = |path: &PathBuf, mode: &RecursiveMode| !rewatch && wanted.get(path) == Some(mode);
        for path in self.watches.extract_if(.., |path, mode| !stays_watched(path, mode)).map(|(path, _)| path)
        {
            // The system may have removed the watch already.
            let _ = self.watcher.unwatch(&path);
        }
        let mut complete = true;
        let missing: Vec<_> =
            wanted.into_iter().filter(|(path, _)| !self.watches.contains_key(path)).collect();
        for (path, mode) in missing {
            match self.watcher.watch(&path, mode) {
                Ok(()) => drop(self.watches.insert(path, mode)),
                // The path was removed in the meantime.
                Err(error) if is_gone(&error) => complete = false,
                Err(error) => return Err(error),
            }
        }
        Ok(complete)
    }
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// The paths to watch so that every change of `places` is noticed.
fn paths_to_watch(places: &[PathBuf]) -> BTreeMap<PathBuf, RecursiveMode> {
    let whole: Vec<&PathBuf> = places.iter().filter(|place| is_directory(place)).collect();
    let mut wanted = BTreeMap::new();
    for place in places {
        let above = place.ancestors().skip(1).filter(|above| is_directory(above));
        // The near parents, and the nearest existing one, however far it is.
        let near = place.ancestors().skip(1).take(WATCHED_PARENTS).last().unwrap_or(place);
        let nearest = above.enumerate().take_while(|(found, above)| *found == 0 || above.starts_with(near));
        wanted.extend(nearest.map(|(_, above)| (above.to_owned(), RecursiveMode::NonRecursive)));
    }
    // A recursive watch covers everything inside its directory.
    let is_inside =
        |path: &Path| whole.iter().any(|place| path != place.as_path() && path.starts_with(place));
    wanted.extend(whole.iter().map(|place| ((*place).clone(), RecursiveMode::Recursive)));
    wanted.retain(|path, _| !is_inside(path));
    wanted
}

/// Whether it is a directory itself, not a link to one.
fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_what_is_near_above_them_are_watched_once() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let root = place.path().canonicalize().expect("is there").join("a/b/c/d");
        std::fs::create_dir_all(root.join("user_data/shared/prompts")).expect("made");
        let watched = |places: &[&str]| {
            let places: Vec<PathBuf> = places.iter().map(|place| root.join(place)).collect();
            let wanted = paths_to_watch(&places);
            let top = root.parent().and_then(Path::parent).expect("has one").to_owned();
            let mode = |mode| if mode == RecursiveMode::Recursive { "*" } else { "" };
            let describe = |(path, found): (PathBuf, _)| {
                format!("{}{}", path.strip_prefix(&top).expect("is near").display(), mode(found))
            };
            wanted.into_iter().map(describe).collect::<Vec<_>>()
        };
        assert_eq!(
            watched(&["user_data/shared", "user_data/shared/prompts", "hinagata.toml"]),
            ["", "c", "c/d", "c/d/user_data", "c/d/user_data/shared*"]
        );
        assert_eq!(watched(&["ecosystem/default/prompts"]), ["c/d"], "the nearest existing parent");
    }
}
