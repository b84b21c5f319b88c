//! What is being watched at the moment, which changes as directories come and go.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::pending::PendingChanges;

/// Directories above a place that are watched for the names in them. Somebody may move or remove any of them: these
/// reach from the directory of a workspace's part to the one that holds the workspace.
const WATCHED_PARENTS: usize = 3;

pub(super) struct WatchSet {
    watcher: RecommendedWatcher,
    places: Vec<PathBuf>,
    watches: BTreeMap<PathBuf, RecursiveMode>,
}

impl WatchSet {
    pub(super) fn new(places: Vec<PathBuf>, pending: &Arc<PendingChanges>) -> notify::Result<Self> {
        // A link in a workspace could lead to the root of the system.
        let config = Config::default().with_follow_symlinks(false);
        let pending = Arc::clone(pending);
        let watcher = RecommendedWatcher::new(move |event| pending.record_event(event), config)?;
        Ok(Self { watcher, places, watches: BTreeMap::new() })
    }

    /// How many paths are watched.
    pub(super) fn count(&self) -> usize {
        self.watches.len()
    }

    /// Watches what is there now; everything anew when something may have been moved or removed. Whether all of
    /// it is watched.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub(super) fn arm_watches(&mut self, rewatch: bool) -> notify::Result<bool> {
        let wanted = paths_to_watch(&self.places);
        let stays_watched = |path: &PathBuf, mode: &RecursiveMode| !rewatch && wanted.get(path) == Some(mode);
        for path in self.watches.extract_if(.., |path, mode| !stays_watched(path, mode)).map(|(path, _)| path)
        {
            // The system may have forgotten it already.
            let _ = self.watcher.unwatch(&path);
        }
        let mut complete = true;
        let missing: Vec<_> =
            wanted.into_iter().filter(|(path, _)| !self.watches.contains_key(path)).collect();
        for (path, mode) in missing {
            match self.watcher.watch(&path, mode) {
                Ok(()) => drop(self.watches.insert(path, mode)),
                // It went away meanwhile.
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

/// What has to be watched so that every change of `places` is seen.
fn paths_to_watch(places: &[PathBuf]) -> BTreeMap<PathBuf, RecursiveMode> {
    let whole: Vec<&PathBuf> = places.iter().filter(|place| is_directory(place)).collect();
    let mut wanted = BTreeMap::new();
    for place in places {
        let above = place.ancestors().skip(1).filter(|above| is_directory(above));
        // Those that are near, and the nearest that is there, however far it is.
        let near = place.ancestors().skip(1).take(WATCHED_PARENTS).last().unwrap_or(place);
        let nearest = above.enumerate().take_while(|(found, above)| *found == 0 || above.starts_with(near));
        wanted.extend(nearest.map(|(_, above)| (above.to_owned(), RecursiveMode::NonRecursive)));
    }
    // What lies in a directory that is watched as a whole is watched already.
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
        assert_eq!(watched(&["ecosystem/default/prompts"]), ["c/d"], "the nearest that is there");
    }
}
