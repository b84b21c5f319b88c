//! Runs work in isolation, so that its failure concerns only itself.
//!
//! The work runs on a thread with a fixed stack size. A panic is caught. Work that does not end in time is abandoned,
//! because a thread cannot be stopped from outside and the process ends soon anyway. A stack overflow or an abort
//! still ends the process. To find those, the runner can print each case before it starts.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::{Once, mpsc};
use std::thread;

use crate::case::Bounds;
use crate::memory;

const THREAD_NAME: &str = "case";

thread_local! {
    static PANIC_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// How a piece of work ended.
#[derive(Debug)]
pub(crate) enum RunEnd<T> {
    /// It returned an answer within its bounds.
    Returned(T),
    /// It panicked, with this message and place.
    Panicked(String),
    /// It did not return in time.
    TimedOut,
    /// It returned, but the process used this much memory.
    TooMuchMemory(usize),
    /// It could not be started.
    NotStarted(String),
}

/// Runs `work` within `bounds`.
pub(crate) fn run_isolated<T: Send + 'static>(
    bounds: Bounds,
    work: impl FnOnce() -> T + Send + 'static,
) -> RunEnd<T> {
    record_panics_of_cases();
    memory::reset_peak();
    let (sender, receiver) = mpsc::sync_channel(1);
    let job = move || {
        let result = catch_unwind(AssertUnwindSafe(work)).map_err(|payload| describe_panic(&*payload));
        // The receiver is gone after a timeout.
        let _ = sender.send(result);
    };
    let builder = thread::Builder::new().name(THREAD_NAME.into()).stack_size(bounds.stack);
    if let Err(error) = builder.spawn(job) {
        return RunEnd::NotStarted(error.to_string());
    }
    let Ok(result) = receiver.recv_timeout(bounds.time) else { return RunEnd::TimedOut };
    let peak = memory::peak_bytes();
    match result {
        Err(message) => RunEnd::Panicked(message),
        Ok(_) if bounds.memory.is_some_and(|limit| peak > limit) => RunEnd::TooMuchMemory(peak),
        Ok(value) => RunEnd::Returned(value),
    }
}

/// Records the location of a panic for the report instead of printing it.
fn record_panics_of_cases() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |info| {
            if thread::current().name() == Some(THREAD_NAME) { record_place(info) } else { previous(info) }
        }));
    });
}

fn record_place(info: &PanicHookInfo<'_>) {
    let place = info.location().map(|place| format!("{}:{}:{}", place.file(), place.line(), place.column()));
    PANIC_PLACE.with(|cell| *cell.borrow_mut() = place);
}

fn describe_panic(payload: &(dyn Any + Send)) -> String {
    let message = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is not text".to_owned());
    match PANIC_PLACE.with(|cell| cell.borrow_mut().take()) {
        Some(place) => format!("{message} (at {place})"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const BOUNDS: Bounds = Bounds { stack: 1 << 20, time: Duration::from_secs(20), memory: None };

    #[test]
    fn work_returns_its_value() {
        assert!(matches!(run_isolated(BOUNDS, || 7), RunEnd::Returned(7)));
    }

    #[test]
    fn a_panic_is_caught_with_its_location() {
        let RunEnd::Panicked(message) = run_isolated(BOUNDS, || panic!("oh {}", "no")) else {
            panic!("was expected to panic")
        };
        assert!(message.starts_with("oh no (at "), "{message}");
        assert!(message.contains("isolate.rs:"), "{message}");
    }

    #[test]
    fn work_that_hangs_is_abandoned() {
        let (release, wait) = mpsc::channel::<()>();
        let bounds = Bounds { time: Duration::from_millis(20), ..BOUNDS };
        assert!(matches!(run_isolated(bounds, move || wait.recv().is_ok()), RunEnd::TimedOut));
        drop(release);
    }

    #[test]
    fn peak_memory_counts() {
        let bounds = Bounds { memory: Some(64 << 20), ..BOUNDS };
        let held = run_isolated(bounds, || drop(std::hint::black_box(vec![1_u8; 80 << 20])));
        assert!(matches!(held, RunEnd::TooMuchMemory(bytes) if bytes >= 80 << 20), "{held:?}");
    }
}
