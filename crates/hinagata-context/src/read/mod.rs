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

use hinagata_secrets::Secrets;

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
    pub(crate) secrets: Option<&'static Secrets>,
    pub(crate) kinds: KindRules,
    pub(crate) encoding: Option<TextEncoding>,
    pub(crate) truncate_base64: bool,
    /// Reads as the program that defined the plain format.
    pub(crate) compat: bool,
    pub(crate) rungs: &'r Rungs<'r>,
    pub(crate) threads: usize,
    /// Whether files whose kind comes last are read now.
    pub(crate) with_last: bool,
}

/// The result of reading a file.
#[derive(Debug)]
pub(crate) enum ReadResult {
    /// Its text.
    Text(Box<ReadText>),
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
pub(crate) struct ReadText {
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
    /// The highest rung that fitted when the file was read; `None` if none did.
    pub(crate) piece: Option<Piece>,
}

impl ReadResult {
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

impl Reader<'_> {
    /// Passes the files to `take`, in order, until it breaks.
    pub(crate) fn read_files<B>(
        &self,
        files: &[RankedFile],
        remaining: &Remaining,
        mut take: impl FnMut(&RankedFile, ReadResult) -> ControlFlow<B>,
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

    fn work(&self, files: &[RankedFile], remaining: &Remaining, queue: &Queue) {
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

    fn read_one(&self, file: &RankedFile, remaining: &Remaining) -> ReadResult {
        match self.open(file, remaining) {
            Ok(opened) => self.read_text(file, opened, remaining),
            Err(result) => result,
        }
    }

    /// Opens a file that may be read and fits.
    fn open(&self, ranked: &RankedFile, remaining: &Remaining) -> Result<Opened, ReadResult> {
        if let Some(kind) = ranked.kind.filter(|_| ranked.kind_rule(&self.kinds) == KindRule::Omit) {
            return Err(ReadResult::left_out(kind.into(), None, None));
        }
        let path = ranked.file.full_path(self.base);
        if let Some(rule) = self.secrets.and_then(|secrets| self.secret_name(secrets, ranked, &path)) {
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
    fn check_head(&self, ranked: &RankedFile, opened: &mut Opened) -> Result<(), ReadResult> {
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
    fn secret_name(&self, secrets: &Secrets, ranked: &RankedFile, path: &Path) -> Option<String> {
        let file = &ranked.file;
        if let Some(rule) = secrets.in_name(&file.path) {
            return Some(rule.to_owned());
        }
        let real = path.canonicalize().ok().filter(|_| file.linked)?;
        let inner = real.strip_prefix(self.base).unwrap_or(&real).to_string_lossy().replace('\\', "/");
        secrets.in_name(&inner).map(|rule| format!("{rule}, behind a link"))
    }

    fn read_text(&self, ranked: &RankedFile, opened: Opened, remaining: &Remaining) -> ReadResult {
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
        if let Some(rule) = self.secrets.and_then(|secrets| secrets.in_content(&bytes)) {
            return ReadResult::Withheld {
                reason: LeftOutReason::Secret,
                detail: Some(rule.to_owned()),
                bytes: size,
            };
        }
        let decoded = match self.compat {
            true => decode::decode_lossy(bytes),
            false => decode::decode(bytes, self.encoding),
        };
        let Decoded { text: mut content, encoding, replaced } = decoded;
        let short = self.truncate_base64.then(|| shorten_base64(&content)).flatten();
        let shortened = short.is_some();
        content = short.unwrap_or(content);
        let path = self.part.shown_path(&ranked.file.path);
        let piece = match is_start {
            true => None,
            false => self.rungs.highest_rung(&path, &content, remaining.bytes(), remaining.tokens()),
        };
        ReadResult::Text(Box::new(ReadText { content, size, is_start, encoding, replaced, shortened, piece }))
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
