//! Telling that files of a workspace changed, as it happens.
//!
//! A [`Watcher`] owns one thread. It waits until a burst of changes is over, makes sure that it still watches everything,
//! and then calls back. It watches first and tells second, so whoever reads everything anew when it is told misses
//! nothing. Nobody waits for it: what happens meanwhile is noted in bounded space.
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

use hinagata_document::{Code, Error, Result};

use self::{pending::PendingChanges, watch_set::WatchSet};
use crate::{
    StateDir,
    layout::{self, BUILTIN_PROMPTS, PACKS, SHARED, TRUST_FILE},
};

/// A burst is over when nothing happened for this long …
const QUIET_TIME: Duration = Duration::from_millis(50);

/// … or when it lasts this long.
const MAX_BURST: Duration = Duration::from_millis(500);

/// How long to wait before something is tried again that could not be watched.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// Something changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What changed, in order; at most 256.
    pub paths: Vec<PathBuf>,
    /// Whether more changed than `paths` tell, so that anything may have.
    pub more: bool,
}

/// Watches files and directories for as long as it lives.
#[derive(Debug)]
pub struct Watcher {
    pending: Arc<PendingChanges>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Watches `places`, files and directories with everything beneath them, whether they are there or not, and calls
    /// `on_change` on a thread of its own after each burst of changes. Links are not followed.
    ///
    /// # Errors
    /// Code `system` when the system does not allow to watch.
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
    /// Stops it: nothing is told afterwards.
    fn drop(&mut self) {
        self.pending.stop();
        if let Some(thread) = self.thread.take()
            // Whoever is told may let go of the watcher: a thread does not wait for itself.
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn run_watch(pending: &PendingChanges, watches: &mut WatchSet, mut complete: bool, on_change: &mut dyn FnMut(Change)) {
    loop {
        let patience = (!complete).then_some(RETRY_DELAY);
        let Some(burst) = pending.wait(patience, QUIET_TIME, MAX_BURST) else { return };
        let before = watches.count();
        complete = watches.arm_watches(burst.moved).unwrap_or(false);
        // What could not be watched until now may have changed unseen.
        let seen_late = watches.count() != before;
        if let Some(change) = burst.change.or_else(|| seen_late.then(Change::anything)) {
            on_change(change);
        }
    }
}

impl Change {
    fn anything() -> Self {
        Self { paths: Vec::new(), more: true }
    }
}

/// The places of the workspace at `root` whose changes a catalog notices: prompts, words, agents, packs, the directories
/// `paths` of the settings, built-ins, the settings under each of their names, and what `state` remembers about the workspace.
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

/// The place as the system names it in what it tells: the links above it are resolved, even where it is not there yet.
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
            "watch_limit",
            "raise the limit of watches (on Linux `sysctl fs.inotify.max_user_watches`), or watch fewer directories",
        ),
        _ => ("watch", "check the permissions of the workspace"),
    };
    Error::new(Code::System, format!("cannot watch for changes: {error}"))
        .with_reason(reason)
        .with("paths", error.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>())
        .with_hint(hint)
}
