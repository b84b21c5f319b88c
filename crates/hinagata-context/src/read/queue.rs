//! Hands over results in order, while threads are some files ahead.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use super::ReadResult;

/// Most files that are read ahead.
const AHEAD: usize = 256;

/// Most bytes that are read ahead; a single file can be larger.
const ROOM: u64 = 16 << 20;

/// The state that threads share with the consumer.
pub(super) struct Queue<'r> {
    len: usize,
    state: Mutex<State<'r>>,
    /// Signals that a file was taken.
    room: Condvar,
    /// Signals that the next file was read.
    ready: Condvar,
}

#[derive(Default)]
struct State<'r> {
    /// The next file to read.
    next: usize,
    /// The next file to take.
    taken: usize,
    /// Results that are not taken yet, from `taken` on, with the bytes that they reserve.
    read: VecDeque<Option<(ReadResult<'r>, u64)>>,
    reserved: u64,
    waiting: usize,
    stopped: bool,
}

impl<'r> Queue<'r> {
    /// A queue for the results of `len` files.
    pub(super) fn new(len: usize) -> Self {
        Self { len, state: Mutex::default(), room: Condvar::new(), ready: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<'r>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'q>(&self, mut state: MutexGuard<'q, State<'r>>) -> MutexGuard<'q, State<'r>> {
        state.waiting += 1;
        let mut state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// The next file to read; `None` if none is left or the consumer stopped.
    pub(super) fn next(&self) -> Option<usize> {
        let mut state = self.lock();
        while state.next >= state.taken + AHEAD && !state.stopped {
            state = self.wait(state);
        }
        if state.stopped || state.next >= self.len {
            return None;
        }
        state.next += 1;
        Some(state.next - 1)
    }

    /// Waits until there is room for `size` bytes of the file at `place`. The next file to take always has room, else
    /// it could wait forever. Returns `false` if the consumer stopped.
    pub(super) fn reserve(&self, place: usize, size: u64) -> bool {
        let mut state = self.lock();
        while state.reserved.saturating_add(size) > ROOM && state.taken != place && !state.stopped {
            state = self.wait(state);
        }
        state.reserved = state.reserved.saturating_add(size);
        !state.stopped
    }

    pub(super) fn put(&self, place: usize, result: ReadResult<'r>, reserved: u64) {
        let mut state = self.lock();
        let at = place - state.taken;
        while state.read.len() <= at {
            state.read.push_back(None);
        }
        state.read[at] = Some((result, reserved));
        if at == 0 {
            self.ready.notify_one();
        }
    }

    /// The next result; `None` if the threads stopped.
    pub(super) fn take(&self) -> Option<ReadResult<'r>> {
        let mut state = self.lock();
        loop {
            if let Some((result, reserved)) = state.read.front_mut().and_then(Option::take) {
                state.read.pop_front();
                state.taken += 1;
                state.reserved = state.reserved.saturating_sub(reserved);
                if state.waiting > 0 {
                    self.room.notify_all();
                }
                return Some(result);
            }
            if state.stopped {
                return None;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.room.notify_all();
        self.ready.notify_all();
    }
}

/// Stops the threads when the consumer ends.
pub(super) struct Stop<'q, 'r>(pub(super) &'q Queue<'r>);

impl Drop for Stop<'_, '_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Stops the consumer when a thread panics.
pub(super) struct StopOnPanic<'q, 'r>(pub(super) &'q Queue<'r>);

impl Drop for StopOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}
