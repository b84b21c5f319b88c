//! SentencePiece models: byte pairs and unigrams, counted as the library of this name encodes.

mod normalize;
mod proto;
mod unigram;

use prost::Message as _;

use super::problem::Problem;
use crate::{
    merge::Merger,
    vocabulary::{MOST_TOKENS, Vocabulary},
};
use normalize::Normalizer;
use proto::{ModelFile, ModelKind, Piece, PieceKind};
use unigram::Unigram;

/// What stands for a space.
const SPACE: char = '▁';

/// A SentencePiece model.
#[derive(Debug)]
pub(crate) struct SentencePieces {
    normalizer: Normalizer,
    vocabulary: Vocabulary,
    symbols: FixedSymbols,
    unknown: Unknown,
    method: Method,
}

#[derive(Debug)]
enum Method {
    BytePairs {
        /// Ranks by id: the piece with the highest score has the lowest rank, equal scores have equal ranks.
        ranks: Vec<u32>,
        /// Whether no piece has a space behind another character, so that words can be counted one by one.
        has_words: bool,
    },
    Unigram(Unigram),
}

/// How characters without a piece are encoded.
#[derive(Clone, Copy, Debug)]
enum Unknown {
    /// As their bytes.
    Bytes,
    /// As one token for all that follow each other.
    Token,
}

impl SentencePieces {
    pub(super) fn parse(data: &[u8]) -> Result<Self, Problem> {
        let invalid = |why: String| Problem::Invalid("SentencePiece model", why.into());
        let file = ModelFile::decode(data).map_err(|error| invalid(error.to_string()))?;
        let trainer = file.trainer.unwrap_or_default();
        let kind = trainer.model_kind();
        let pieces: Vec<&Piece> = file.pieces.iter().filter(|piece| piece.is_encodable()).collect();
        if pieces.is_empty() || pieces.len() > MOST_TOKENS {
            return Err(invalid(format!("it has {} pieces", pieces.len())));
        }
        if pieces.iter().any(|piece| !piece.score.is_finite()) {
            return Err(invalid("a score is not a number".to_owned()));
        }
        let texts: Vec<&str> = pieces.iter().map(|piece| piece.piece.as_str()).collect();
        let method = match kind {
            ModelKind::BytePairs if file.pieces.iter().any(|piece| piece.kind() == PieceKind::Unused) => {
                return Err(Problem::Unsupported("it has unused pieces"));
            }
            ModelKind::BytePairs => Method::BytePairs {
                ranks: rank_scores(&pieces),
                has_words: !trainer.spaces_are_suffixes && texts.iter().all(|text| has_leading_spaces(text)),
            },
            ModelKind::Unigram => Method::Unigram(Unigram::new(&pieces)),
            ModelKind::Other => return Err(Problem::Unsupported("it splits texts into words or characters")),
        };
        let fixed = pieces.iter().filter(|piece| piece.kind() == PieceKind::UserDefined);
        Ok(Self {
            normalizer: Normalizer::new(&file.normalizer.unwrap_or_default(), trainer.spaces_are_suffixes)
                .map_err(invalid)?,
            vocabulary: Vocabulary::from_tokens(&texts),
            symbols: FixedSymbols::new(fixed.map(|piece| piece.piece.as_str())),
            unknown: if trainer.falls_back_to_bytes { Unknown::Bytes } else { Unknown::Token },
            method,
        })
    }

    /// The tokens of a text.
    pub(super) fn count_tokens(&self, text: &str) -> usize {
        let text = self.normalizer.normalize_text(text, &self.symbols);
        let mut counter = SymbolCounter { pieces: self, tokens: 0, after_unknown: false };
        match &self.method {
            Method::BytePairs { ranks, has_words } => {
                self.merge_pieces(&text, ranks, *has_words, &mut counter);
            }
            Method::Unigram(unigram) => {
                for symbol in unigram.best_path(&text, &self.vocabulary) {
                    counter.add_symbol(symbol);
                }
            }
        }
        counter.tokens
    }

    /// Merges what is between fixed symbols, word by word if possible.
    fn merge_pieces(&self, text: &str, ranks: &[u32], has_words: bool, counter: &mut SymbolCounter<'_>) {
        let rank = |bytes: &[u8]| self.vocabulary.find_token(bytes).map(|id| ranks[id as usize]);
        let mut merger = Merger::default();
        let mut merge = |part: &str, counter: &mut SymbolCounter<'_>| {
            let characters = part.char_indices().map(|(at, c)| at as u32..(at + c.len_utf8()) as u32);
            for symbol in merger.merge_symbols(part.as_bytes(), characters, rank) {
                counter.add_symbol(&part[symbol.start as usize..symbol.end as usize]);
            }
        };
        let (mut start, mut at, mut before) = (0, 0, SPACE);
        while let Some(character) = text[at..].chars().next() {
            if let Some(symbol) = self.symbols.find_prefix(&text[at..]) {
                merge(&text[start..at], counter);
                counter.add_symbol(symbol);
                at += symbol.len();
                (start, before) = (at, SPACE);
                continue;
            }
            if has_words && character == SPACE && before != SPACE {
                merge(&text[start..at], counter);
                start = at;
            }
            at += character.len_utf8();
            before = character;
        }
        merge(&text[start..], counter);
    }
}

/// Counts the tokens of symbols.
struct SymbolCounter<'p> {
    pieces: &'p SentencePieces,
    tokens: usize,
    after_unknown: bool,
}

impl SymbolCounter<'_> {
    fn add_symbol(&mut self, symbol: &str) {
        let is_unknown = self.pieces.vocabulary.find_token(symbol.as_bytes()).is_none();
        self.tokens += match self.pieces.unknown {
            Unknown::Bytes if is_unknown => symbol.len(),
            Unknown::Token if is_unknown && self.after_unknown => 0,
            _ => 1,
        };
        self.after_unknown = is_unknown;
    }
}

/// Symbols that are found before anything else, and never merged.
#[derive(Debug)]
struct FixedSymbols {
    symbols: Vocabulary,
    /// Whether a symbol starts with this byte.
    starts: Box<[bool; 256]>,
}

impl FixedSymbols {
    fn new<'s>(symbols: impl Iterator<Item = &'s str>) -> Self {
        let symbols: Vec<&str> = symbols.filter(|symbol| !symbol.is_empty()).collect();
        let mut starts = Box::new([false; 256]);
        for symbol in &symbols {
            starts[usize::from(symbol.as_bytes()[0])] = true;
        }
        Self { symbols: Vocabulary::from_tokens(&symbols), starts }
    }

    /// The longest symbol at the start of a text.
    fn find_prefix<'t>(&self, text: &'t str) -> Option<&'t str> {
        if !text.bytes().next().is_some_and(|first| self.starts[usize::from(first)]) {
            return None;
        }
        let longest = text.floor_char_boundary(self.symbols.longest_token());
        let ends = text[..longest].char_indices().rev().map(|(at, _)| at);
        let mut prefixes = [longest].into_iter().chain(ends).map(|end| &text[..end]);
        prefixes.find(|prefix| self.symbols.find_token(prefix.as_bytes()).is_some())
    }
}

/// Ranks by score, the highest first.
fn rank_scores(pieces: &[&Piece]) -> Vec<u32> {
    let mut scores: Vec<f32> = pieces.iter().map(|piece| piece.score).collect();
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    scores.dedup();
    let rank = |piece: &&Piece| scores.partition_point(|score| *score > piece.score) as u32;
    pieces.iter().map(rank).collect()
}

/// Whether a piece has spaces only at its start.
fn has_leading_spaces(piece: &str) -> bool {
    !piece.trim_start_matches(SPACE).contains(SPACE)
}
