//! Changes that were not reported yet: the thread of the system adds them, the thread of the watcher takes them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use notify::{
    Event, EventKind,
    event::{AccessKind, AccessMode, ModifyKind},
};

use super::Change;
use crate::layout::STAMPS_FILE;

/// Maximum number of recorded paths.
const MAX_PATHS: usize = 256;

/// Names of files and directories that exist only until they are renamed or removed.
const TEMPORARY_NAMES: [&str; 5] = [".coming", ".leaving", ".replacing", ".copy.new", "__pycache__"];

/// Changes that were not reported yet.
#[derive(Debug)]
pub(super) struct PendingChanges {
    places: Vec<PathBuf>,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    paths: BTreeSet<PathBuf>,
    more: bool,
    moved: bool,
    /// The times of the first and the last change.
    times: Option<(Instant, Instant)>,
    stopped: bool,
}

/// The changes of one burst.
#[derive(Debug, Default)]
pub(super) struct Burst {
    /// `None` if nothing changed before the timeout.
    pub(super) change: Option<Change>,
    /// Whether a watched path may have been moved or removed.
    pub(super) moved: bool,
}

impl PendingChanges {
    pub(super) fn new(places: Vec<PathBuf>) -> Self {
        Self { places, state: Mutex::default(), wake: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stop(&self) {
        self.state().stopped = true;
        self.wake.notify_all();
    }

    /// Records an event of the system.
    pub(super) fn record_event(&self, event: notify::Result<Event>) {
        let (paths, moved, more) = match event {
            Ok(event) if event.need_rescan() => (Vec::new(), true, true),
            Ok(event) => {
                let moves = is_move(&event.kind);
                let moved = moves && event.paths.iter().any(|path| self.is_above(path));
                let changes = is_change(&event.kind);
                let relevant = |path: &PathBuf| changes && self.is_relevant(path, moves);
                (event.paths.into_iter().filter(relevant).collect(), moved, false)
            }
            // A path is no longer watched.
            Err(error) => (error.paths, true, true),
        };
        if paths.is_empty() && !moved && !more {
            return;
        }
        let mut state = self.state();
        let room = MAX_PATHS.saturating_sub(state.paths.len());
        state.more |= more || paths.len() > room;
        state.paths.extend(paths.into_iter().take(room));
        state.moved |= moved;
        let now = Instant::now();
        state.times = Some((state.times.map_or(now, |(first, _)| first), now));
        self.wake.notify_all();
    }

    /// Whether the path is a watched one or a parent of one.
    fn is_above(&self, path: &Path) -> bool {
        self.places.iter().any(|place| place.starts_with(path))
    }

    fn is_relevant(&self, path: &Path, moves: bool) -> bool {
        let inner = self.places.iter().find_map(|place| path.strip_prefix(place).ok());
        inner.map_or_else(|| moves && self.is_above(path), |inner| !is_temporary(path, inner))
    }

    /// Waits for a change, at most for `patience`, and then until the burst is over; `None` if the watcher stopped.
    pub(super) fn wait(
        &self,
        patience: Option<Duration>,
        quiet: Duration,
        longest: Duration,
    ) -> Option<Burst> {
        let mut state = self.state();
        let until = patience.map(|patience| Instant::now() + patience);
        while state.times.is_none() && !state.stopped {
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return Some(Burst::default()),
                Some(left) => state = self.wait_for(state, left),
            }
        }
        while let Some((first, last)) = state.times
            && !state.stopped
        {
            let left = (last + quiet).min(first + longest).saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.wait_for(state, left);
        }
        (!state.stopped).then(|| state.take())
    }

    fn wait_for<'s>(&'s self, state: MutexGuard<'s, State>, left: Duration) -> MutexGuard<'s, State> {
        self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl State {
    fn take(&mut self) -> Burst {
        let paths = std::mem::take(&mut self.paths).into_iter().collect();
        let change = Some(Change { paths, more: std::mem::take(&mut self.more) });
        self.times = None;
        Burst { change, moved: std::mem::take(&mut self.moved) }
    }
}

/// Whether a name was added, removed or renamed, so that a watched path may now be another file.
fn is_move(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Any
    )
}

/// Whether the event is a change. Reading is not; a write is complete when the file is closed.
fn is_change(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => matches!(kind, AccessKind::Close(AccessMode::Write)),
        _ => true,
    }
}

/// Whether `path` is a temporary file of a write; `inner` is the path beneath the watched one.
fn is_temporary(path: &Path, inner: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let hidden = name.starts_with('.') && (name.ends_with(".lock") || name.ends_with(".new"));
    let temporary =
        |part: &std::ffi::OsStr| part.to_str().is_some_and(|part| TEMPORARY_NAMES.contains(&part));
    hidden || name == STAMPS_FILE || inner.iter().any(temporary)
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, RemoveKind};

    use super::*;

    const ZERO: Duration = Duration::ZERO;

    fn pending() -> PendingChanges {
        PendingChanges::new(vec!["/w/user_data/packs".into(), "/w/hinagata.toml".into()])
    }

    fn event(kind: EventKind, path: &str) -> notify::Result<Event> {
        Ok(Event::new(kind).add_path(path.into()))
    }

    fn take_changes(pending: &PendingChanges) -> (Vec<PathBuf>, bool, bool) {
        let burst = pending.wait(Some(ZERO), ZERO, ZERO).expect("is not stopped");
        let change = burst.change.unwrap_or(Change { paths: Vec::new(), more: false });
        (change.paths, change.more, burst.moved)
    }

    #[test]
    fn only_changes_in_places_and_moves_above_them_count() {
        let pending = pending();
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let (create, remove) = (EventKind::Create(CreateKind::Any), EventKind::Remove(RemoveKind::Any));
        let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
        for (kind, path) in [
            (data, "/w/README.md"),
            (create, "/w/src"),
            (data, "/w/user_data"),
            (open, "/w/user_data/packs/p/pack.json"),
            (create, "/w/user_data/packs/.packs.lock"),
            (create, "/w/user_data/packs/.coming/a/b"),
            (data, "/w/user_data/packs/p/__pycache__/x.pyc"),
            (data, "/w/user_data/packs/.x.json.new"),
            (data, "/w/user_data/packs/stamps.json"),
        ] {
            pending.record_event(event(kind, path));
            assert_eq!(take_changes(&pending), (Vec::new(), false, false), "{path}");
        }
        let close = EventKind::Access(AccessKind::Close(AccessMode::Write));
        for (kind, path, moved) in [
            (data, "/w/hinagata.toml", false),
            (create, "/w/hinagata.toml", true),
            (close, "/w/user_data/packs/p/pack.json", false),
            (create, "/w/user_data/packs/p", false),
            (remove, "/w/user_data/packs", true),
            (create, "/w/user_data", true),
            (remove, "/w", true),
        ] {
            pending.record_event(event(kind, path));
            assert_eq!(take_changes(&pending), (vec![path.into()], false, moved), "{path}");
        }
    }

    #[test]
    fn a_flood_is_noted_in_bounded_space() {
        let pending = pending();
        for number in 0..1_000 {
            let path = format!("/w/user_data/packs/{number:04}");
            pending.record_event(event(EventKind::Create(CreateKind::Any), &path));
        }
        let (paths, more, _) = take_changes(&pending);
        assert_eq!((paths.len(), more), (MAX_PATHS, true));
        pending.record_event(Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch)));
        assert_eq!(take_changes(&pending), (Vec::new(), true, true));
        pending.stop();
        assert!(pending.wait(None, ZERO, ZERO).is_none());
    }
}
