//! The engine of a workspace in this process: opened on first use, and opened anew in a process that was forked.
//!
//! Threads, pools and connections do not survive a fork. Before one, everything that nobody uses is closed, so that no
//! thread is left behind; in the child, what was open then is forgotten, because closing it would end processes of the
//! parent, and the next call opens the workspace again.

use std::{
    path::PathBuf,
    sync::{
        Arc, LazyLock, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;
use hinagata::{
    Code, Engine as PromptEngine, Error, Reason, Result,
    ports::{Clock, Hooks},
    watch::{Change, Watcher},
};
use hinagata_host::{OpenOptions, OpenWorkspace};
use hinagata_python::Launcher;

use crate::call::Pace;

/// How often this process was forked from one that had loaded this library.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// All places of this process, to close them before a fork. Without a lock, which a fork could copy while it is held.
static PLACES: LazyLock<ArcSwap<Vec<Weak<Place>>>> = LazyLock::new(ArcSwap::default);

/// The number of the next listener.
static NEXT_LISTENER: AtomicU64 = AtomicU64::new(1);

/// The number of forks behind this process.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Closes what nobody uses.
pub(crate) fn before_fork() {
    for place in all_places() {
        place.close_idle();
    }
}

/// Marks everything that is open as that of another process.
pub(crate) fn after_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Closes everything at the end of the process.
pub(crate) fn close_all() {
    for place in all_places() {
        place.close();
    }
}

fn all_places() -> Vec<Arc<Place>> {
    PLACES.load().iter().filter_map(Weak::upgrade).collect()
}

/// A callback for changed files.
pub(crate) type ChangeListener = Arc<dyn Fn(&Change) + Send + Sync>;

/// An open workspace.
pub(crate) struct Opened {
    pub(crate) engine: PromptEngine,
    pub(crate) workspace: OpenWorkspace,
    /// Where its prompts run.
    pub(crate) pace: Pace,
    watcher: OnceLock<Option<Watcher>>,
}

/// What is open, and the process that opened it.
struct Slot {
    generation: u64,
    opened: OnceLock<Result<Arc<Opened>>>,
}

impl Slot {
    fn new() -> Self {
        Self { generation: generation(), opened: OnceLock::new() }
    }
}

/// A workspace, open or not.
pub(crate) struct Place {
    options: OpenOptions,
    directory: PathBuf,
    launcher: Option<Launcher>,
    python: Option<PathBuf>,
    clock: Option<Arc<dyn Clock>>,
    slot: ArcSwap<Slot>,
    listeners: ArcSwap<Vec<(u64, ChangeListener)>>,
    own: Weak<Self>,
    is_closed: AtomicBool,
}

/// What an engine needs beside the options of its workspace.
#[derive(Default)]
pub(crate) struct Surroundings {
    /// The program that confines itself and becomes Python; without it, hooks cannot run.
    pub(crate) launcher: Option<Launcher>,
    /// The Python of hooks, unless a setting names another.
    pub(crate) python: Option<PathBuf>,
    /// The clock, unless it is the system's.
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl Place {
    pub(crate) fn new(options: OpenOptions, directory: PathBuf, around: Surroundings) -> Arc<Self> {
        let place = Arc::new_cyclic(|own| Self {
            options,
            directory,
            launcher: around.launcher,
            python: around.python,
            clock: around.clock,
            slot: ArcSwap::from_pointee(Slot::new()),
            listeners: ArcSwap::default(),
            own: own.clone(),
            is_closed: AtomicBool::new(false),
        });
        PLACES.rcu(|places| {
            let living = places.iter().filter(|known| known.strong_count() > 0).cloned();
            living.chain([Arc::downgrade(&place)]).collect::<Vec<_>>()
        });
        place
    }

    /// The open workspace.
    ///
    /// # Errors
    /// It is closed, or cannot be opened.
    pub(crate) fn opened(&self) -> Result<Arc<Opened>> {
        let slot = self.slot.load();
        if slot.generation == generation()
            && let Some(Ok(opened)) = slot.opened.get()
        {
            return Ok(Arc::clone(opened));
        }
        drop(slot);
        self.open()
    }

    #[cold]
    fn open(&self) -> Result<Arc<Opened>> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(Error::new(Code::System, "the engine is closed").with_hint("create another engine"));
        }
        let mut slot = self.slot.load_full();
        if slot.generation != generation() {
            let fresh = Arc::new(Slot::new());
            let found = self.slot.compare_and_swap(&slot, Arc::clone(&fresh));
            if Arc::ptr_eq(&found, &slot) {
                // Its threads are those of the parent, and so are the processes that dropping it would end.
                std::mem::forget(slot);
                slot = fresh;
            } else {
                std::mem::forget(slot);
                slot = Arc::clone(&found);
            }
        }
        let opened = slot.opened.get_or_init(|| self.open_workspace().map(Arc::new)).clone();
        if opened.is_err() {
            // The next call tries again.
            self.slot.compare_and_swap(&slot, Arc::new(Slot::new()));
        }
        let opened = opened?;
        if !self.listeners.load().is_empty() {
            self.start_watching(&opened)?;
        }
        Ok(opened)
    }

    fn open_workspace(&self) -> Result<Opened> {
        let mut workspace = OpenWorkspace::open(&self.options, &self.directory)?;
        if let Some(clock) = &self.clock {
            workspace = workspace.with_clock(Arc::clone(clock));
        }
        let hooks = self.launcher.clone().map(|launcher| -> Arc<dyn Hooks> {
            Arc::new(workspace.new_hook_pool(|options| {
                options.launcher = launcher;
                let named =
                    std::env::var_os(hinagata_python::PYTHON_VARIABLE).is_some_and(|name| !name.is_empty());
                if options.python.is_none() && !named {
                    options.python.clone_from(&self.python);
                }
            }))
        });
        let engine = workspace.open_engine_with(hooks, |_| {})?;
        Ok(Opened { engine, workspace, pace: Pace::default(), watcher: OnceLock::new() })
    }

    /// Adds a listener and watches the files of the workspace. Returns the number to remove it with.
    ///
    /// # Errors
    /// The system refuses to watch.
    pub(crate) fn add_listener(&self, listener: ChangeListener) -> Result<u64> {
        let opened = self.opened()?;
        let number = NEXT_LISTENER.fetch_add(1, Ordering::Relaxed);
        self.listeners.rcu(|known| {
            let all = known.iter().cloned().chain([(number, Arc::clone(&listener))]);
            all.collect::<Vec<_>>()
        });
        self.start_watching(&opened)?;
        Ok(number)
    }

    /// Removes a listener. The files are watched on, until the engine closes.
    pub(crate) fn remove_listener(&self, number: u64) {
        self.listeners
            .rcu(|all| all.iter().filter(|(known, _)| *known != number).cloned().collect::<Vec<_>>());
    }

    fn start_watching(&self, opened: &Arc<Opened>) -> Result<()> {
        let mut failure = None;
        let watcher = opened.watcher.get_or_init(|| {
            let place = self.own.clone();
            let watching = opened.engine.watch_files(move |_, change| {
                let Some(place) = place.upgrade() else { return };
                for (_, listener) in place.listeners.load_full().iter() {
                    listener(change);
                }
            });
            watching.map_err(|error| failure = Some(error)).ok()
        });
        match (watcher, failure) {
            (_, Some(error)) => Err(error),
            (None, None) => Err(Error::new(Code::System, "the files of the workspace cannot be watched")
                .with_reason(Reason::Watch)),
            (Some(_), None) => Ok(()),
        }
    }

    /// Closes the workspace if no call uses it. The next call opens it again.
    fn close_idle(&self) {
        let slot = self.slot.load_full();
        if slot.generation == generation() && slot.opened.get().is_some() {
            drop(slot);
            drop(self.slot.swap(Arc::new(Slot::new())));
        }
    }

    /// Closes the workspace: its processes, threads and connections end with the last call in progress.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.listeners.store(Arc::default());
        let slot = self.slot.swap(Arc::new(Slot::new()));
        if slot.generation != generation() {
            std::mem::forget(slot);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let slot = self.slot.swap(Arc::new(Slot::new()));
        if slot.generation != generation() {
            std::mem::forget(slot);
        }
    }
}
