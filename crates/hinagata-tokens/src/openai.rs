//! OpenAI's tokenizers: the vocabularies that are compiled in, and the patterns that belong to them.

use std::sync::LazyLock;

use crate::{
    memory::{Memory, MemoryPool, PieceKey},
    pieces::PieceTally,
    quick_split::QuickPattern,
    split::Splitter,
    tally::Tally,
    vocabulary::Vocabulary,
};

/// A tokenizer that merges bytes by rank, within the pieces of a pattern.
#[derive(Debug)]
pub(crate) struct BytePairs {
    splitter: Splitter,
    vocabulary: Vocabulary,
    memories: MemoryPool,
}

/// The tokenizer of all models since GPT-4o.
pub(crate) static O200K: LazyLock<BytePairs> = LazyLock::new(|| {
    BytePairs::built_in(
        QuickPattern::O200k,
        include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.vocabulary")),
    )
});

/// The tokenizer of GPT-4, GPT-3.5 and the embedding models.
pub(crate) static CL100K: LazyLock<BytePairs> = LazyLock::new(|| {
    BytePairs::built_in(
        QuickPattern::Cl100k,
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.vocabulary")),
    )
});

impl BytePairs {
    /// A tokenizer of this pattern and vocabulary.
    pub(crate) fn new(splitter: Splitter, vocabulary: Vocabulary) -> Self {
        Self { splitter, vocabulary, memories: MemoryPool::default() }
    }

    fn built_in(pattern: QuickPattern, block: &'static [u8]) -> Self {
        Self::new(Splitter::built_in(pattern), Vocabulary::from_block(block))
    }

    /// The tokens of a text.
    pub(crate) fn count_tokens(&self, text: &str) -> usize {
        usize::try_from(self.tally_text(text).tokens()).unwrap_or(usize::MAX)
    }

    /// The tokens of a text by kind of piece.
    pub(crate) fn tally_text(&self, text: &str) -> Tally {
        let mut tally = Tally::default();
        if !text.is_empty() {
            self.memories.with_memory(|memory| self.add_pieces(text, memory, &mut tally));
        }
        tally
    }

    fn add_pieces(&self, text: &str, memory: &mut Memory, tally: &mut Tally) {
        let mut start = 0;
        while start < text.len() {
            let end = self.splitter.piece_end(text, start);
            let key = PieceKey::for_piece(text.as_bytes(), start, end);
            match key.and_then(|key| memory.find_piece(key)) {
                Some(known) => tally.add_piece(known),
                None => {
                    let found = self.tally_piece(&text[start..end], memory);
                    key.inspect(|key| memory.keep_piece(*key, found));
                    tally.add_piece(found);
                }
            }
            start = end;
        }
    }

    /// The bytes at which the tokens of a text start.
    pub(crate) fn token_starts(&self, text: &str) -> Vec<usize> {
        let mut starts = Vec::new();
        self.memories.with_memory(|memory| {
            let mut start = 0;
            while start < text.len() {
                let end = self.splitter.piece_end(text, start);
                let piece = &text.as_bytes()[start..end];
                if self.vocabulary.find_token(piece).is_some() {
                    starts.push(start);
                } else {
                    let bytes = (0..piece.len() as u32).map(|byte| byte..byte + 1);
                    let rank = |pair: &[u8]| self.vocabulary.find_token(pair);
                    let symbols = memory.merger.merge_symbols(piece, bytes, rank);
                    starts.extend(symbols.map(|symbol| start + symbol.start as usize));
                }
                start = end;
            }
        });
        starts
    }

    fn tally_piece(&self, piece: &str, memory: &mut Memory) -> PieceTally {
        let bytes = piece.as_bytes();
        // Most pieces are a token of their own.
        let tokens = match self.vocabulary.find_token(bytes) {
            Some(_) => 1,
            None => memory.merger.count_bytes(bytes, |pair| self.vocabulary.find_token(pair)),
        };
        PieceTally::from_piece(piece, tokens)
    }
}
