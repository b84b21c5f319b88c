//! Byte pair encoding: merges the neighbours with the lowest rank until none are left, and counts what remains.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

/// Symbols up to which a search through all of them is quicker than a heap.
const FEW: usize = 64;

/// Marks a symbol that was merged into the one before it, and the end of the list.
const NONE: u32 = u32::MAX;

/// Working memory that is used again for the next piece.
#[derive(Debug, Default)]
pub(crate) struct Merger {
    starts: Vec<u32>,
    ranks: Vec<u32>,
    ends: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    /// Rank, symbol and end of two neighbours.
    heap: BinaryHeap<Reverse<(u32, u32, u32)>>,
}

impl Merger {
    /// The number of symbols of `piece` that remain; it starts with its bytes. `rank` ranks the bytes of two
    /// neighbours: the lowest rank is merged first, the leftmost of equal ones.
    pub(crate) fn count_bytes(&mut self, piece: &[u8], rank: impl Fn(&[u8]) -> Option<u32>) -> usize {
        if piece.len() < 2 {
            return piece.len();
        }
        if piece.len() <= FEW {
            return self.merge_few(piece, &rank);
        }
        let bytes = 0..piece.len() as u32;
        self.merge_many(piece, bytes.map(|start| start..start + 1), &rank);
        self.symbols().count()
    }

    /// The ranges of the symbols that remain of `piece`, which starts with `symbols`.
    pub(crate) fn merge_symbols(
        &mut self,
        piece: &[u8],
        symbols: impl Iterator<Item = Range<u32>>,
        rank: impl Fn(&[u8]) -> Option<u32>,
    ) -> impl Iterator<Item = Range<u32>> {
        self.merge_many(piece, symbols, &rank);
        self.symbols()
    }

    fn merge_few(&mut self, piece: &[u8], rank: &impl Fn(&[u8]) -> Option<u32>) -> usize {
        let (starts, ranks) = (&mut self.starts, &mut self.ranks);
        starts.clear();
        starts.extend(0..=piece.len() as u32);
        ranks.clear();
        ranks.extend(piece.windows(2).map(|pair| rank(pair).unwrap_or(NONE)));
        // The rank at a place is that of the symbol there and the next one; the last two starts have none.
        let rank_at = |starts: &[u32], place: usize| match starts.get(place + 2) {
            Some(end) => rank(&piece[starts[place] as usize..*end as usize]).unwrap_or(NONE),
            None => NONE,
        };
        while let Some((place, _)) =
            ranks.iter().enumerate().min_by_key(|(_, rank)| **rank).filter(|(_, rank)| **rank != NONE)
        {
            starts.remove(place + 1);
            ranks.remove(place);
            if place < ranks.len() {
                ranks[place] = rank_at(starts, place);
            }
            if place > 0 {
                ranks[place - 1] = rank_at(starts, place - 1);
            }
        }
        starts.len() - 1
    }

    fn merge_many(
        &mut self,
        piece: &[u8],
        symbols: impl Iterator<Item = Range<u32>>,
        rank: &impl Fn(&[u8]) -> Option<u32>,
    ) {
        self.fill_symbols(symbols);
        for symbol in 0..self.starts.len() as u32 {
            self.push_pair(piece, symbol, rank);
        }
        while let Some(Reverse((_, symbol, end))) = self.heap.pop() {
            let next = self.next[symbol as usize];
            // A pair that is no longer there: one of the two was merged with another neighbour.
            if self.ends[symbol as usize] == NONE || next == NONE || self.ends[next as usize] != end {
                continue;
            }
            self.join_next(symbol);
            self.push_pair(piece, symbol, rank);
            if let Some(previous) = Some(self.previous[symbol as usize]).filter(|before| *before != NONE) {
                self.push_pair(piece, previous, rank);
            }
        }
    }

    fn fill_symbols(&mut self, symbols: impl Iterator<Item = Range<u32>>) {
        self.starts.clear();
        self.ends.clear();
        for symbol in symbols {
            self.starts.push(symbol.start);
            self.ends.push(symbol.end);
        }
        let count = self.starts.len() as u32;
        self.next.clear();
        self.next.extend((1..=count).map(|next| if next == count { NONE } else { next }));
        self.previous.clear();
        self.previous.extend((0..count).map(|symbol| symbol.wrapping_sub(1)));
        self.heap.clear();
    }

    /// Merges a symbol with the one behind it.
    fn join_next(&mut self, symbol: u32) {
        let next = self.next[symbol as usize] as usize;
        self.ends[symbol as usize] = self.ends[next];
        self.ends[next] = NONE;
        let after = self.next[next];
        self.next[symbol as usize] = after;
        if after != NONE {
            self.previous[after as usize] = symbol;
        }
    }

    /// Notes a symbol and the one behind it, if they can be merged.
    fn push_pair(&mut self, piece: &[u8], symbol: u32, rank: &impl Fn(&[u8]) -> Option<u32>) {
        let next = self.next[symbol as usize];
        if next == NONE {
            return;
        }
        let (start, end) = (self.starts[symbol as usize], self.ends[next as usize]);
        if let Some(rank) = rank(&piece[start as usize..end as usize]) {
            self.heap.push(Reverse((rank, symbol, end)));
        }
    }

    fn symbols(&self) -> impl Iterator<Item = Range<u32>> {
        let all = self.starts.iter().zip(&self.ends);
        all.filter(|(_, end)| **end != NONE).map(|(start, end)| *start..*end)
    }
}
