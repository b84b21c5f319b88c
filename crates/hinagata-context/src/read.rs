//! Reads files with several threads, ahead of the consumer, and delivers them in order.
//!
//! Reading ahead is limited in files and in bytes, so memory does not grow with the tree. The remaining budget only
//! shrinks: a file that does not fit when it is opened will not fit when its turn comes, so it is not read.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read as _},
    ops::ControlFlow,
    path::Path,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use hinagata_secrets::Secrets;
use hinagata_tokens::{TokenCount, TokenCounter};

use crate::{error::system_cause, frame::Frame, report::LeftOutReason, text, walk::FoundFile};

/// Most files that are read ahead.
const AHEAD: usize = 256;

/// Most bytes that are read ahead; a single file can be larger.
const ROOM: u64 = 16 << 20;

/// Bytes at the start of a file that are searched for NUL; a file with NUL is binary.
const HEAD: usize = 8 << 10;

/// Files up to this size are read at once; larger files only if their head is text.
const AT_ONCE: u64 = 256 << 10;

/// Fewer files than this are not worth a thread.
const FEW: usize = 4;

/// The options of reading.
#[derive(Debug)]
pub(crate) struct Reader<'r> {
    pub(crate) base: &'r Path,
    pub(crate) secrets: Option<&'static Secrets>,
    /// Counts tokens, if they are counted.
    pub(crate) counter: Option<&'r TokenCounter>,
    pub(crate) frame: Frame,
    pub(crate) threads: usize,
}

/// The result of reading a file.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Its text, its size on disk, its number of tokens, and whether invalid UTF-8 was replaced.
    Text { content: String, size: u64, tokens: Option<TokenCount>, lossy: bool },
    /// It is left out.
    LeftOut { reason: LeftOutReason, detail: Option<String>, bytes: Option<u64> },
}

impl Outcome {
    fn left_out(
        reason: LeftOutReason,
        detail: impl Into<Option<String>>,
        bytes: impl Into<Option<u64>>,
    ) -> Self {
        Self::LeftOut { reason, detail: detail.into(), bytes: bytes.into() }
    }
}

/// The remaining budget in bytes; it only shrinks.
#[derive(Debug)]
pub(crate) struct Remaining(AtomicU64);

impl Remaining {
    pub(crate) fn new(bytes: u64) -> Self {
        Self(AtomicU64::new(bytes))
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self, bytes: u64) {
        self.0.store(self.get().saturating_sub(bytes), Ordering::Relaxed);
    }
}

/// A file that is open and fits.
struct Opened {
    file: File,
    size: u64,
}

impl Reader<'_> {
    /// Passes the files to `take`, in order, until it breaks.
    pub(crate) fn read_files<B>(
        &self,
        files: &[FoundFile],
        remaining: &Remaining,
        mut take: impl FnMut(&FoundFile, Outcome) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if self.threads < 2 || files.len() < FEW {
            return files.iter().try_for_each(|file| take(file, self.read_one(file, remaining)));
        }
        let queue =
            Queue { len: files.len(), state: Mutex::default(), room: Condvar::new(), ready: Condvar::new() };
        thread::scope(|scope| {
            let _stop = Stop(&queue);
            for _ in 0..self.threads {
                scope.spawn(|| self.work(files, remaining, &queue));
            }
            files.iter().try_for_each(|file| match queue.take() {
                Some(outcome) => take(file, outcome),
                // A thread panicked; the scope propagates that.
                None => take(file, Outcome::left_out(LeftOutReason::Unreadable, None, None)),
            })
        })
    }

    fn work(&self, files: &[FoundFile], remaining: &Remaining, queue: &Queue) {
        let _stop = StopOnPanic(queue);
        while let Some(place) = queue.next() {
            let file = &files[place];
            let (outcome, reserved) = match self.open(file, remaining) {
                Ok(opened) if queue.reserve(place, opened.size) => {
                    let reserved = opened.size;
                    (self.text(file, opened), reserved)
                }
                Ok(_) => return,
                Err(outcome) => (outcome, 0),
            };
            queue.put(place, outcome, reserved);
        }
    }

    fn read_one(&self, file: &FoundFile, remaining: &Remaining) -> Outcome {
        match self.open(file, remaining) {
            Ok(opened) => self.text(file, opened),
            Err(outcome) => outcome,
        }
    }

    /// Opens a file that may be read and fits.
    fn open(&self, file: &FoundFile, remaining: &Remaining) -> Result<Opened, Outcome> {
        let path = file.real.clone().unwrap_or_else(|| self.base.join(&file.path));
        if let Some(rule) = self.secrets.and_then(|secrets| self.secret_name(secrets, file, &path)) {
            return Err(Outcome::left_out(LeftOutReason::Secret, rule, None));
        }
        let unreadable =
            |error: &io::Error| Outcome::left_out(LeftOutReason::Unreadable, system_cause(error), None);
        let opened = File::open(&path).map_err(|error| unreadable(&error))?;
        let size = opened.metadata().map_err(|error| unreadable(&error))?.len();
        // The consumer adds the remaining budget to the report: its value here depends on timing.
        if size > remaining.get() {
            return Err(Outcome::left_out(LeftOutReason::Budget, None, size));
        }
        Ok(Opened { file: opened, size })
    }

    /// The rule about secrets that the name of a file or of the target of its link matches.
    fn secret_name(&self, secrets: &Secrets, file: &FoundFile, path: &Path) -> Option<String> {
        if let Some(rule) = secrets.in_name(&file.path) {
            return Some(rule.to_owned());
        }
        let real = path.canonicalize().ok().filter(|_| file.linked)?;
        let inner = real.strip_prefix(self.base).unwrap_or(&real).to_string_lossy().replace('\\', "/");
        secrets.in_name(&inner).map(|rule| format!("{rule}, behind a link"))
    }

    fn text(&self, file: &FoundFile, opened: Opened) -> Outcome {
        let size = opened.size;
        let bytes = match read(opened) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Outcome::left_out(LeftOutReason::Binary, None, size),
            Err(error) => return Outcome::left_out(LeftOutReason::Unreadable, system_cause(&error), None),
        };
        if let Some(rule) = self.secrets.and_then(|secrets| secrets.in_content(&bytes)) {
            return Outcome::left_out(LeftOutReason::Secret, rule.to_owned(), size);
        }
        let (content, lossy) = text::decode_lossy(bytes);
        let tokens = self.counter.map(|counter| self.count_file_tokens(counter, &file.path, &content));
        Outcome::Text { content, size, tokens, lossy }
    }

    /// The tokens of a file with its enclosing lines.
    fn count_file_tokens(&self, counter: &TokenCounter, path: &str, content: &str) -> TokenCount {
        let around = self.frame.enclose_file(path, content);
        let inner = self.frame.escape_content(content);
        counter.count_tokens(&format!("{}{inner}{}{}", around.open, around.close, self.frame.separator()))
    }
}

/// The detail of a file that does not fit.
pub(crate) fn size_detail(size: u64, left: u64) -> String {
    format!("{size} bytes, {left} are left")
}

/// The bytes of a file; `None` for a binary file. Bytes that are appended meanwhile are ignored.
fn read(Opened { file, size }: Opened) -> io::Result<Option<Vec<u8>>> {
    // Spare capacity avoids another allocation when the last read finds the end of the file.
    let mut bytes =
        Vec::with_capacity(usize::try_from(size).unwrap_or(usize::MAX).saturating_add(32).min(1 << 40));
    let mut file = file.take(size);
    if size > AT_ONCE {
        file.by_ref().take(HEAD as u64).read_to_end(&mut bytes)?;
        if is_binary(&bytes) {
            return Ok(None);
        }
    }
    file.read_to_end(&mut bytes)?;
    Ok((!is_binary(&bytes)).then_some(bytes))
}

fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(HEAD)]).is_some()
}

/// The state that threads share with the consumer.
struct Queue {
    len: usize,
    state: Mutex<State>,
    /// Signals that a file was taken.
    room: Condvar,
    /// Signals that the next file was read.
    ready: Condvar,
}

#[derive(Default)]
struct State {
    /// The next file to read.
    next: usize,
    /// The next file to take.
    taken: usize,
    /// Results that are not taken yet, from `taken` on, with the bytes that they reserve.
    read: VecDeque<Option<(Outcome, u64)>>,
    reserved: u64,
    waiting: usize,
    stopped: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'q>(&self, mut state: MutexGuard<'q, State>) -> MutexGuard<'q, State> {
        state.waiting += 1;
        let mut state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// The next file to read; `None` if none is left or the consumer stopped.
    fn next(&self) -> Option<usize> {
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
    fn reserve(&self, place: usize, size: u64) -> bool {
        let mut state = self.lock();
        while state.reserved.saturating_add(size) > ROOM && state.taken != place && !state.stopped {
            state = self.wait(state);
        }
        state.reserved = state.reserved.saturating_add(size);
        !state.stopped
    }

    fn put(&self, place: usize, outcome: Outcome, reserved: u64) {
        let mut state = self.lock();
        let at = place - state.taken;
        while state.read.len() <= at {
            state.read.push_back(None);
        }
        state.read[at] = Some((outcome, reserved));
        if at == 0 {
            self.ready.notify_one();
        }
    }

    /// The next result; `None` if the threads stopped.
    fn take(&self) -> Option<Outcome> {
        let mut state = self.lock();
        loop {
            if let Some((outcome, reserved)) = state.read.front_mut().and_then(Option::take) {
                state.read.pop_front();
                state.taken += 1;
                state.reserved = state.reserved.saturating_sub(reserved);
                if state.waiting > 0 {
                    self.room.notify_all();
                }
                return Some(outcome);
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
struct Stop<'q>(&'q Queue);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Stops the consumer when a thread panics.
struct StopOnPanic<'q>(&'q Queue);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}
