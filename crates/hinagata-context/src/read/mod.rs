//! Reads files with several threads, ahead of the consumer, and delivers them in order.
//!
//! Reading ahead is limited in files and in bytes, so memory does not grow with the tree. The remaining budget only
//! shrinks: a file that does not fit when it is opened will not fit when its turn comes, so it is not read. What the
//! start of a file tells is told in any case: the report must not depend on how far threads are ahead.

mod queue;

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    ops::ControlFlow,
    path::Path,
    thread,
};

use hinagata_secrets::{FoundSecrets, Redactor, SecretAction};

use crate::{
    decode::{self, Decoded, TextEncoding},
    error::system_cause,
    form::shorten_base64,
    kinds::{FileKind, KindRule, KindRules},
    order::RankedFile,
    part::Part,
    remaining::{LARGEST, Remaining},
    report::LeftOutReason,
    rungs::{Piece, Rungs},
};
use queue::{Queue, Stop, StopOnPanic};

/// Bytes at the start of a file that decide on its kind.
const HEAD: u64 = 64 << 10;

/// Fewer files than this are not worth a thread.
const FEW: usize = 4;

/// The options of reading.
#[derive(Debug)]
pub(crate) struct Reader<'r> {
    pub(crate) base: &'r Path,
    pub(crate) part: &'r Part<'r>,
    /// Finds secrets, if the rules say so.
    pub(crate) redactor: Option<&'r Redactor>,
    pub(crate) kinds: KindRules,
    pub(crate) encoding: Option<TextEncoding>,
    /// Reads as the program that defined the plain format.
    pub(crate) compat: bool,
    pub(crate) rungs: &'r Rungs<'r>,
    pub(crate) threads: usize,
    /// Whether files whose kind comes last are read now.
    pub(crate) with_last: bool,
}

/// The result of reading a file.
#[derive(Debug)]
pub(crate) enum ReadResult<'r> {
    /// Its text.
    Text(Box<ReadText<'r>>),
    /// It is left out for what its name, its start or an error tells.
    LeftOut { reason: LeftOutReason, detail: Option<String>, bytes: Option<u64> },
    /// It is left out for what its content tells, unless it does not fit anyway.
    Withheld { reason: LeftOutReason, detail: Option<String>, bytes: u64 },
    /// It is not read, because it does not fit.
    TooLarge { bytes: u64 },
    /// Its kind comes last.
    Later,
}

/// The text of a file.
#[derive(Debug)]
pub(crate) struct ReadText<'r> {
    pub(crate) content: String,
    /// The size on disk.
    pub(crate) size: u64,
    /// Whether only the start of the file was read.
    pub(crate) is_start: bool,
    /// The encoding, if it is not UTF-8.
    pub(crate) encoding: Option<&'static str>,
    /// Whether U+FFFD replaces invalid bytes.
    pub(crate) replaced: bool,
    /// Whether long runs of Base64 are shortened.
    pub(crate) shortened: bool,
    /// The secrets that are to be redacted.
    pub(crate) found: FoundSecrets<'r>,
    /// The highest rung that fitted when the file was read; `None` if none did, or if it has secrets.
    pub(crate) piece: Option<Piece>,
}

impl ReadResult<'_> {
    fn left_out(
        reason: LeftOutReason,
        detail: impl Into<Option<String>>,
        bytes: impl Into<Option<u64>>,
    ) -> Self {
        Self::LeftOut { reason, detail: detail.into(), bytes: bytes.into() }
    }

    fn unreadable(error: &io::Error) -> Self {
        Self::left_out(LeftOutReason::Unreadable, system_cause(error), None)
    }
}

/// A file that is open.
struct Opened {
    file: File,
    size: u64,
    head: Vec<u8>,
}

impl Opened {
    /// The bytes that are read of it.
    fn memory(&self, remaining: &Remaining) -> u64 {
        if remaining.limits_tokens() { self.size.min(LARGEST) } else { self.size }
    }
}

impl<'r> Reader<'r> {
    /// Passes the files to `take`, in order, until it breaks.
    pub(crate) fn read_files<B>(
        &self,
        files: &[RankedFile],
        remaining: &Remaining,
        mut take: impl FnMut(&RankedFile, ReadResult<'r>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if self.threads < 2 || files.len() < FEW {
            return files.iter().try_for_each(|file| take(file, self.read_one(file, remaining)));
        }
        let queue = Queue::new(files.len());
        thread::scope(|scope| {
            let _stop = Stop(&queue);
            for _ in 0..self.threads {
                scope.spawn(|| self.work(files, remaining, &queue));
            }
            files.iter().try_for_each(|file| match queue.take() {
                Some(result) => take(file, result),
                // A thread panicked; the scope propagates that.
                None => take(file, ReadResult::left_out(LeftOutReason::Unreadable, None, None)),
            })
        })
    }

    fn work(&self, files: &[RankedFile], remaining: &Remaining, queue: &Queue<'r>) {
        let _stop = StopOnPanic(queue);
        while let Some(place) = queue.next() {
            let file = &files[place];
            let (result, reserved) = match self.open(file, remaining) {
                Ok(opened) if queue.reserve(place, opened.memory(remaining)) => {
                    let reserved = opened.memory(remaining);
                    (self.read_text(file, opened, remaining), reserved)
                }
                Ok(_) => return,
                Err(result) => (result, 0),
            };
            queue.put(place, result, reserved);
        }
    }

    fn read_one(&self, file: &RankedFile, remaining: &Remaining) -> ReadResult<'r> {
        match self.open(file, remaining) {
            Ok(opened) => self.read_text(file, opened, remaining),
            Err(result) => result,
        }
    }

    /// Opens a file that may be read and fits.
    fn open(&self, ranked: &RankedFile, remaining: &Remaining) -> Result<Opened, ReadResult<'r>> {
        if let Some(kind) = ranked.kind.filter(|_| ranked.kind_rule(&self.kinds) == KindRule::Omit) {
            return Err(ReadResult::left_out(kind.into(), None, None));
        }
        let path = ranked.file.full_path(self.base);
        if let Some(rule) = self.redactor.and_then(|redactor| self.secret_name(redactor, ranked, &path)) {
            return Err(ReadResult::left_out(LeftOutReason::Secret, rule, None));
        }
        let file = open_without_waiting(&path).map_err(|error| ReadResult::unreadable(&error))?;
        let metadata = file.metadata().map_err(|error| ReadResult::unreadable(&error))?;
        if !metadata.is_file() {
            return Err(ReadResult::left_out(LeftOutReason::Special, None, None));
        }
        let mut opened = Opened { file, size: metadata.len(), head: Vec::new() };
        if !self.compat {
            self.check_head(ranked, &mut opened)?;
        }
        let is_too_large = opened.size > remaining.largest_file(self.compat);
        match is_too_large && (self.compat || !ranked.is_requested()) {
            true => Err(ReadResult::TooLarge { bytes: opened.size }),
            false => Ok(opened),
        }
    }

    /// Reads the start of a file, and checks what it tells.
    fn check_head(&self, ranked: &RankedFile, opened: &mut Opened) -> Result<(), ReadResult<'r>> {
        let start = opened.size.min(HEAD);
        // Spare capacity avoids another allocation when the last read finds the end of the file.
        opened.head.reserve_exact(usize::try_from(start).unwrap_or_default() + 32);
        let read = opened.file.by_ref().take(start).read_to_end(&mut opened.head);
        read.map_err(|error| ReadResult::unreadable(&error))?;
        if decode::is_binary(&opened.head, self.encoding) {
            return Err(ReadResult::left_out(LeftOutReason::Binary, None, opened.size));
        }
        if ranked.is_requested() {
            return Ok(());
        }
        let kind = FileKind::from_content(&ranked.file.path, ranked.file.marks, &opened.head);
        match kind.map(|kind| (kind, self.kinds.rule(kind))) {
            Some((kind, KindRule::Omit)) => Err(ReadResult::left_out(kind.into(), None, opened.size)),
            Some((_, KindRule::Last)) if !self.with_last => Err(ReadResult::Later),
            _ => Ok(()),
        }
    }

    /// The rule about secrets that the name of a file or of the target of its link matches.
    fn secret_name(&self, redactor: &Redactor, ranked: &RankedFile, path: &Path) -> Option<String> {
        let file = &ranked.file;
        if let Some(rule) = redactor.refuses_name(&file.path) {
            return Some(rule.to_owned());
        }
        // To resolve a path takes a system call for each of its directories.
        let real = file.linked.then(|| path.canonicalize().ok()).flatten()?;
        let inner = real.strip_prefix(self.base).unwrap_or(&real).to_string_lossy().replace('\\', "/");
        redactor.refuses_name(&inner).map(|rule| format!("{rule}, behind a link"))
    }

    fn read_text(&self, ranked: &RankedFile, opened: Opened, remaining: &Remaining) -> ReadResult<'r> {
        let size = opened.size;
        // Where tokens are limited, a file that was asked for is not read to an end that cannot fit.
        let length = if self.compat { size } else { opened.memory(remaining) };
        let is_start = length < size;
        let bytes = match read_rest(opened, length) {
            Ok(bytes) => bytes,
            Err(error) => return ReadResult::unreadable(&error),
        };
        if self.compat && decode::has_nul(&bytes) {
            return ReadResult::Withheld { reason: LeftOutReason::Binary, detail: None, bytes: size };
        }
        let decoded = match self.compat {
            true => decode::decode_lossy(bytes),
            false => decode::decode(bytes, self.encoding),
        };
        let Decoded { text: content, encoding, replaced } = decoded;
        let path = self.part.shown_path(&ranked.file.path);
        let found = self.redactor.map(|redactor| redactor.find_secrets(&path, content.as_bytes()));
        let found = found.unwrap_or_default();
        if let Some(secret) = found.first().filter(|_| self.omits_secrets()) {
            let detail = format!("{} in line {}", secret.rule, secret.line);
            return ReadResult::Withheld { reason: LeftOutReason::Secret, detail: Some(detail), bytes: size };
        }
        let mut text =
            ReadText { content, size, is_start, encoding, replaced, shortened: false, found, piece: None };
        // A text takes its form when it has no secrets any more.
        if text.found.is_empty() {
            text.take_form(&path, self.rungs, remaining);
        }
        ReadResult::Text(Box::new(text))
    }

    fn omits_secrets(&self) -> bool {
        self.redactor.is_some_and(|redactor| redactor.policy().action() == SecretAction::Omit)
    }
}

impl ReadText<'_> {
    /// Shortens the text as its form says, and finds the highest rung that fits.
    pub(crate) fn take_form(&mut self, path: &str, rungs: &Rungs<'_>, remaining: &Remaining) {
        if let Some(short) = rungs.form.truncate_base64.then(|| shorten_base64(&self.content)).flatten() {
            self.content = short;
            self.shortened = true;
        }
        let (bytes, tokens) = (remaining.bytes(), remaining.tokens());
        self.piece = match self.is_start {
            true => None,
            false => rungs.highest_rung(path, &self.content, bytes, tokens),
        };
    }
}

/// Opens a file; a pipe without a writer does not block.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.open(path)
}

/// The first `size` bytes of a file. Bytes that are appended meanwhile are ignored.
fn read_rest(Opened { file, head, .. }: Opened, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = head;
    let rest = size.saturating_sub(bytes.len() as u64);
    bytes.reserve(usize::try_from(rest).unwrap_or(usize::MAX).saturating_add(32).min(1 << 40));
    file.take(rest).read_to_end(&mut bytes)?;
    Ok(bytes)
}
