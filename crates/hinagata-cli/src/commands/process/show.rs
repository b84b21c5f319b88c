//! The display of a running process: a progress bar, then the last answer as a stream.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use hinagata_process::{Event, Process, Step, Watch};

use crate::{
    failure::Failure,
    output::{self, Format},
    progress::Bar,
    workspace::Globals,
};

/// Shows the progress of a process.
pub(super) struct Show {
    bar: Bar,
    /// Whether the last answer is the result and is streamed.
    prints: bool,
    printed: AtomicBool,
    calls: AtomicUsize,
    failed: Mutex<Option<Failure>>,
}

impl Show {
    pub(super) fn new(process: &Process, globals: &Globals) -> Self {
        // The answers of `concat` are joined at the end.
        let prints = Format::from_globals(globals) == Format::Text && !matches!(process, Process::Concat(_));
        Self {
            bar: Bar::new(globals.json),
            prints,
            printed: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            failed: Mutex::new(None),
        }
    }

    /// Whole answers so far.
    pub(super) fn calls(&self) -> usize {
        self.calls.load(Relaxed)
    }

    /// Whether the result was printed as it came.
    pub(super) fn has_printed(&self) -> bool {
        self.printed.load(Relaxed)
    }

    /// Takes the bar away, so that something else can be printed.
    pub(super) fn hide(&self) {
        self.bar.clear();
    }

    /// Takes the bar away; the failure of a result that could not be printed.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        self.bar.clear();
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    fn piece(&self, step: Step, text: &str) {
        if !(self.prints && step.is_last()) {
            return self.bar.show_call(step, false);
        }
        if !self.printed.swap(true, Relaxed) {
            self.bar.clear();
        }
        if let Err(failure) = output::print_part(text) {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        }
    }
}

impl Watch for Show {
    fn on_event(&self, event: Event<'_>) {
        match event {
            Event::Started(step) => self.bar.show_call(step, true),
            Event::Piece(step, text) => self.piece(step, text),
            Event::Finished(_) => {
                self.calls.fetch_add(1, Relaxed);
            }
            _ => {}
        }
    }
}
