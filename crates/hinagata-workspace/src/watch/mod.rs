//! Watches the files of a workspace and reports changes.
//!
//! A [`Watcher`] owns one thread. It waits until a burst of changes is over, renews its watches, and then calls the
//! callback. Watches are renewed before the callback, so a callback that reads everything again misses nothing. Changes
//! during the callback are recorded in bounded space.
//!
//! The reasons are in `docs/design/watching-files.md`.

mod pending;
mod watch_set;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use hinagata_document::{Code, Error, Reason, Result};

use self::{pending::PendingChanges, watch_set::WatchSet};
use crate::{
    StateDir,
    layout::{self, BUILTIN_PROMPTS, PACKS, SHARED, TRUST_FILE},
};

/// A burst of changes ends when nothing changed for this long …
const QUIET_TIME: Duration = Duration::from_millis(50);

/// … or after this time.
const MAX_BURST: Duration = Duration::from_millis(500);

/// Delay before another attempt to watch a path that could not be watched.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// A burst of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The changed paths, sorted; at most 256.
    pub paths: Vec<PathBuf>,
    /// Whether `paths` is incomplete, so that any path may have changed.
    pub more: bool,
}

/// Watches files and directories until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    pending: Arc<PendingChanges>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Watches `places`, which are files, or directories with everything beneath them, and calls `on_change` on its own
    /// thread after each burst of changes. The paths need not exist yet. Links are not followed.
    ///
    /// # Errors
    /// Code `system` if the system refuses to watch.
    pub fn new(
        places: impl IntoIterator<Item = PathBuf>,
        mut on_change: impl FnMut(Change) + Send + 'static,
    ) -> Result<Self> {
        let places: Vec<PathBuf> = places.into_iter().map(|place| resolve_above(&place)).collect();
        let pending = Arc::new(PendingChanges::new(places.clone()));
        let mut watches = WatchSet::new(places, &pending).map_err(|error| cannot_watch(&error))?;
        let complete = watches.arm_watches(false).map_err(|error| cannot_watch(&error))?;
        let work = {
            let pending = Arc::clone(&pending);
            move || run_watch(&pending, &mut watches, complete, &mut on_change)
        };
        let started = thread::Builder::new().name("watch".into()).spawn(work);
        let thread = started.map_err(|error| cannot_watch(&notify::Error::io(error)))?;
        Ok(Self { pending, thread: Some(thread) })
    }
}

impl Drop for Watcher {
    /// Stops watching: the callback is not called afterwards.
    fn drop(&mut self) {
        self.pending.stop();
        if let Some(thread) = self.thread.take()
            // The callback may drop the watcher, and a thread must not join itself.
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn run_watch(
    pending: &PendingChanges,
    watches: &mut WatchSet,
    mut complete: bool,
    on_change: &mut dyn FnMut(Change),
) {
    loop {
        let patience = (!complete).then_some(RETRY_DELAY);
        let Some(burst) = pending.wait(patience, QUIET_TIME, MAX_BURST) else { return };
        let before = watches.count();
        complete = watches.arm_watches(burst.moved).unwrap_or(false);
        // Paths that could not be watched until now may have changed unnoticed.
        let seen_late = watches.count() != before;
        if let Some(change) = burst.change.or_else(|| seen_late.then(Change::any_path)) {
            on_change(change);
        }
    }
}

impl Change {
    fn any_path() -> Self {
        Self { paths: Vec::new(), more: true }
    }
}

/// The paths of the workspace at `root` that affect its catalog: prompts, vocabulary, agents, packs, the directories
/// `paths` of the settings, built-in prompts, all names of settings files, and the decisions in `state`.
#[must_use]
pub fn watched_paths(root: &Path, paths: &[String], state: Option<&StateDir>) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = [SHARED, PACKS, BUILTIN_PROMPTS]
        .into_iter()
        .chain(layout::settings_names())
        .map(|path| root.join(path))
        .collect();
    places.extend(paths.iter().map(|path| root.join(path)));
    if let Some(state) = state {
        places.push(state.workspace(root).directory);
        places.push(state.path().join(TRUST_FILE));
    }
    places
}

/// The path as the system reports it: links in its parents are resolved, even if the path itself does not exist yet.
fn resolve_above(place: &Path) -> PathBuf {
    let written = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    for above in written.ancestors().skip(1) {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), written.strip_prefix(above)) {
            return real.join(rest);
        }
    }
    written
}

fn cannot_watch(error: &notify::Error) -> Error {
    let (reason, hint) = match error.kind {
        notify::ErrorKind::MaxFilesWatch => (
            Reason::WatchLimit,
            "raise the limit of watches (on Linux `sysctl fs.inotify.max_user_watches`), or watch fewer directories",
        ),
        _ => (Reason::Watch, "check the permissions of the workspace"),
    };
    Error::new(Code::System, format!("cannot watch for changes: {error}"))
        .with_reason(reason)
        .with("paths", error.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>())
        .with_hint(hint)
}
