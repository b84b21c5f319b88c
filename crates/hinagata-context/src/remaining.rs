//! The budget that is left.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes for each token that is left, beyond which no text fits, not even its outline.
const BYTES_PER_TOKEN: u64 = 32;

/// How much longer than the bytes that are left a file can be, so that its outline may fit.
const OUTLINE_RATIO: u64 = 16;

/// Largest file that is read where tokens are limited, in bytes.
pub(crate) const LARGEST: u64 = 8 << 20;

/// The remaining budget; it only shrinks.
#[derive(Debug)]
pub(crate) struct Remaining {
    bytes: AtomicU64,
    tokens: AtomicUsize,
}

impl Remaining {
    pub(crate) fn new(bytes: Option<u64>, tokens: Option<usize>) -> Self {
        Self {
            bytes: AtomicU64::new(bytes.unwrap_or(u64::MAX)),
            tokens: AtomicUsize::new(tokens.unwrap_or(usize::MAX)),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn tokens(&self) -> usize {
        self.tokens.load(Ordering::Relaxed)
    }

    /// Spends from the budget; a limit that does not exist stays.
    pub(crate) fn take(&self, bytes: u64, tokens: usize) {
        if self.bytes() != u64::MAX {
            self.bytes.store(self.bytes().saturating_sub(bytes), Ordering::Relaxed);
        }
        if self.tokens() != usize::MAX {
            self.tokens.store(self.tokens().saturating_sub(tokens), Ordering::Relaxed);
        }
    }

    /// Whether tokens are limited.
    pub(crate) fn limits_tokens(&self) -> bool {
        self.tokens() != usize::MAX
    }

    /// The largest file that is worth to be read.
    pub(crate) fn largest_file(&self, compat: bool) -> u64 {
        let (bytes, tokens) = (self.bytes(), self.tokens());
        if compat {
            return bytes;
        }
        let by_tokens = match tokens {
            usize::MAX => u64::MAX,
            tokens => (tokens as u64).saturating_mul(BYTES_PER_TOKEN).min(LARGEST),
        };
        by_tokens.min(bytes.saturating_mul(OUTLINE_RATIO))
    }
}
