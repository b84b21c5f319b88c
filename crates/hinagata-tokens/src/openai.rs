//! OpenAI's tokenizers: the vocabularies that are compiled in, and the patterns that belong to them.

use std::sync::LazyLock;

use crate::{merge::Merger, split::Splitter, tally::Tally, vocabulary::Vocabulary};

/// A tokenizer that merges bytes by rank, within the pieces of a pattern.
#[derive(Debug)]
pub(crate) struct BytePairs {
    splitter: Splitter,
    vocabulary: Vocabulary,
}

/// The tokenizer of all models since GPT-4o.
pub(crate) static O200K: LazyLock<BytePairs> = LazyLock::new(|| {
    BytePairs::built_in(O200K_PATTERN, include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.vocabulary")))
});

/// The tokenizer of GPT-4, GPT-3.5 and the embedding models.
pub(crate) static CL100K: LazyLock<BytePairs> = LazyLock::new(|| {
    BytePairs::built_in(CL100K_PATTERN, include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.vocabulary")))
});

const O200K_PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

const CL100K_PATTERN: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|",
    r"\s*[\r\n]+|\s+(?!\S)|\s+",
);

impl BytePairs {
    /// A tokenizer of this pattern and vocabulary.
    pub(crate) fn new(splitter: Splitter, vocabulary: Vocabulary) -> Self {
        Self { splitter, vocabulary }
    }

    fn built_in(pattern: &str, block: &'static [u8]) -> Self {
        Self::new(Splitter::new(pattern).expect("a test builds it"), Vocabulary::from_block(block))
    }

    /// The tokens of a text.
    pub(crate) fn count_tokens(&self, text: &str) -> usize {
        self.count_pieces(text).map(|(_, tokens)| tokens).sum()
    }

    /// The tokens of a text by kind of piece.
    pub(crate) fn tally_text(&self, text: &str) -> Tally {
        self.count_pieces(text).fold(Tally::default(), |mut tally, (piece, tokens)| {
            tally.add_piece(piece, tokens);
            tally
        })
    }

    fn count_pieces<'t>(&self, text: &'t str) -> impl Iterator<Item = (&'t str, usize)> {
        let mut merger = Merger::default();
        self.splitter.split_text(text).map(move |piece| {
            let bytes = piece.as_bytes();
            // Most pieces are a token of their own.
            let tokens = match self.vocabulary.find_token(bytes) {
                Some(_) => 1,
                None => merger.count_bytes(bytes, |pair| self.vocabulary.find_token(pair)),
            };
            (piece, tokens)
        })
    }
}
