//! The most probable way to put a text together from pieces.

use super::proto::{Piece, PieceKind};
use crate::vocabulary::Vocabulary;

/// How much less probable an unknown character is than the least probable piece.
const UNKNOWN_PENALTY: f32 = 10.0;

/// The scores of the pieces, by id.
#[derive(Debug)]
pub(super) struct Unigram {
    scores: Vec<Score>,
    unknown: f32,
    highest: f32,
}

#[derive(Clone, Copy, Debug)]
enum Score {
    Known(f32),
    /// The longer, the better: better than anything that it could consist of.
    Fixed,
}

/// The best path to a place.
#[derive(Clone, Copy)]
struct Best {
    start: usize,
    score: f32,
}

impl Unigram {
    pub(super) fn new(pieces: &[&Piece]) -> Self {
        let normal =
            || pieces.iter().filter(|piece| piece.kind() == PieceKind::Normal).map(|piece| piece.score);
        let score = |piece: &&Piece| match piece.kind() {
            PieceKind::UserDefined => Score::Fixed,
            _ => Score::Known(piece.score),
        };
        Self {
            scores: pieces.iter().map(score).collect(),
            unknown: normal().fold(f32::INFINITY, f32::min) - UNKNOWN_PENALTY,
            highest: normal().fold(f32::NEG_INFINITY, f32::max),
        }
    }

    /// The pieces of the best path, from the end to the start.
    pub(super) fn best_path<'t>(
        &self,
        text: &'t str,
        vocabulary: &Vocabulary,
    ) -> impl Iterator<Item = &'t str> {
        let ends = self.find_path(text, vocabulary);
        let mut end = text.len();
        std::iter::from_fn(move || {
            let start = ends.get(end)?.filter(|_| end > 0)?.start;
            let symbol = &text[start..end];
            end = start;
            Some(symbol)
        })
    }

    fn find_path(&self, text: &str, vocabulary: &Vocabulary) -> Vec<Option<Best>> {
        let mut ends: Vec<Option<Best>> = vec![None; text.len() + 1];
        for (start, first) in text.char_indices() {
            let till_here = ends[start].map_or(0.0, |best| best.score);
            let longest = text[start..].floor_char_boundary(vocabulary.longest_token());
            let mut is_known = false;
            for (at, character) in text[start..start + longest].char_indices() {
                let length = at + character.len_utf8();
                let piece = &text.as_bytes()[start..start + length];
                let Some(id) = vocabulary.find_token(piece) else { continue };
                is_known |= length == first.len_utf8();
                // The library adds these as doubles and keeps floats.
                let score = f64::from(till_here) + self.piece_score(id, length);
                improve(&mut ends[start + length], start, score);
            }
            if !is_known {
                improve(&mut ends[start + first.len_utf8()], start, f64::from(till_here + self.unknown));
            }
        }
        ends
    }

    fn piece_score(&self, id: u32, length: usize) -> f64 {
        match self.scores[id as usize] {
            Score::Known(score) => f64::from(score),
            Score::Fixed => f64::from(length as f32 * self.highest) - 0.1,
        }
    }
}

fn improve(end: &mut Option<Best>, start: usize, score: f64) {
    if end.is_none_or(|best| score > f64::from(best.score)) {
        *end = Some(Best { start, score: score as f32 });
    }
}
