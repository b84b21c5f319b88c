//! Working memory of counts that is kept between texts: what pieces consist of, and room for merging.

use std::sync::{Mutex, PoisonError};

use crate::{merge::Merger, pieces::PieceTally};

/// Bits of a place among the pieces that are kept.
const BITS: u32 = 13;

/// The longest piece that is kept, in bytes; the length of a piece takes one more.
const LONGEST: usize = 15;

/// Working memory of one thread.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) merger: Merger,
    /// Pieces that occurred last, one for each place.
    pieces: Box<[(PieceKey, PieceTally)]>,
}

/// The bytes of a short piece and their number; zero is no piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PieceKey(u128);

impl PieceKey {
    /// The key of the piece of `text` from `start` to `end`; `None` if it is too long.
    #[inline]
    pub(crate) fn for_piece(text: &[u8], start: usize, end: usize) -> Option<Self> {
        let length = end - start;
        if length > LONGEST {
            return None;
        }
        let bytes = match text[start..].first_chunk() {
            Some(bytes) => u128::from_le_bytes(*bytes) & ((1 << (8 * length)) - 1),
            None => text[start..end].iter().rev().fold(0, |bytes, byte| bytes << 8 | u128::from(*byte)),
        };
        Some(Self(bytes | (length as u128) << 120))
    }

    #[inline]
    fn place(self) -> usize {
        let mixed = (self.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ ((self.0 >> 64) as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self { merger: Merger::default(), pieces: vec![Default::default(); 1 << BITS].into_boxed_slice() }
    }
}

impl Memory {
    /// What a piece consists of, if it is kept.
    #[inline]
    pub(crate) fn find_piece(&self, key: PieceKey) -> Option<PieceTally> {
        let (known, tally) = self.pieces[key.place()];
        (known == key).then_some(tally)
    }

    /// Keeps what a piece consists of.
    pub(crate) fn keep_piece(&mut self, key: PieceKey, tally: PieceTally) {
        self.pieces[key.place()] = (key, tally);
    }
}

/// Memories of one tokenizer that are not in use: as many as threads counted at the same time.
#[derive(Debug, Default)]
pub(crate) struct MemoryPool(Mutex<Vec<Memory>>);

impl MemoryPool {
    /// Runs `work` with a memory.
    pub(crate) fn with_memory<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock().pop();
        let mut memory = kept.unwrap_or_default();
        let result = work(&mut memory);
        lock().push(memory);
        result
    }
}
