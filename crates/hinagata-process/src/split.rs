//! Splits texts into chunks.

use crate::{Ask, Chunk};

/// Splits a text into chunks of at most `limit` tokens: between paragraphs, else between lines, else anywhere. The error of
/// an estimate counts too.
///
/// Joined, the chunks are the text, byte by byte; a blank text has no chunks.
#[must_use]
pub fn split_text(part_of: &str, text: &str, limit: u64, model: &dyn Ask) -> Vec<Chunk> {
    let limit = limit.max(1);
    let count = |text: &str| model.count_tokens(text).upper_bound() as u64;
    let mut pieces: Vec<(&str, u64)> = Vec::new();
    if !text.trim().is_empty() {
        let mut fitting = Fitting { limit, count: &count, pieces: &mut pieces };
        fitting.add_all(text, Cut::Paragraphs);
    }
    let total = pieces.len() as u64;
    let chunk = |(index, (content, usage)): (u64, (&str, u64))| Chunk {
        index: Some(index),
        total: Some(total),
        usage: Some(usage),
        ..Chunk::new(part_of, content)
    };
    (0..).zip(pieces).map(chunk).collect()
}

/// Where a text is split, from coarse to fine.
#[derive(Clone, Copy)]
enum Cut {
    Paragraphs,
    Lines,
    Halves,
}

impl Cut {
    fn pieces(self, text: &str) -> Vec<&str> {
        match self {
            Self::Paragraphs => paragraphs(text),
            Self::Lines => text.split_inclusive('\n').collect(),
            Self::Halves => halves(text),
        }
    }

    const fn finer(self) -> Self {
        match self {
            Self::Paragraphs => Self::Lines,
            Self::Lines | Self::Halves => Self::Halves,
        }
    }
}

/// The paragraphs of a text, each with the blank lines after it.
fn paragraphs(text: &str) -> Vec<&str> {
    let mut cuts = Vec::new();
    let (mut at, mut blank) = (0, false);
    for line in text.split_inclusive('\n') {
        let empty = line.trim().is_empty();
        if blank && !empty {
            cuts.push(at);
        }
        blank = empty;
        at += line.len();
    }
    between(text, &cuts)
}

/// Two halves, split at a space near the middle if there is one.
fn halves(text: &str) -> Vec<&str> {
    let middle = text.floor_char_boundary(text.len() / 2);
    let space = text[..middle].rfind(' ').map(|at| at + 1).filter(|at| *at > middle / 2);
    let first = text.chars().next().map_or(0, char::len_utf8);
    between(text, &[space.unwrap_or(middle).max(first)])
}

fn between<'t>(text: &'t str, cuts: &[usize]) -> Vec<&'t str> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([text.len()]);
    starts.zip(ends).map(|(start, end)| &text[start..end]).filter(|piece| !piece.is_empty()).collect()
}

/// Joins adjacent pieces of a text while they fit.
struct Fitting<'f, 't> {
    limit: u64,
    count: &'f dyn Fn(&str) -> u64,
    pieces: &'f mut Vec<(&'t str, u64)>,
}

impl<'t> Fitting<'_, 't> {
    /// Adds the pieces of a text; a piece that is too large is split further.
    fn add_all(&mut self, text: &'t str, cut: Cut) {
        let mut rest = text;
        // Pieces are adjacent, so joined pieces are a slice of the text.
        let (mut open, mut tokens) = (0, 0);
        for piece in cut.pieces(text) {
            let more = (self.count)(piece);
            if open > 0 && tokens + more > self.limit {
                rest = self.close(rest, open);
                (open, tokens) = (0, 0);
            }
            if more > self.limit {
                let (large, behind) = rest.split_at(piece.len());
                self.add_finer(large, more, cut);
                rest = behind;
            } else {
                (open, tokens) = (open + piece.len(), tokens + more);
            }
        }
        if open > 0 {
            self.close(rest, open);
        }
    }

    fn close(&mut self, rest: &'t str, length: usize) -> &'t str {
        let (piece, behind) = rest.split_at(length);
        self.pieces.push((piece, (self.count)(piece)));
        behind
    }

    fn add_finer(&mut self, text: &'t str, tokens: u64, cut: Cut) {
        match text.chars().nth(1) {
            Some(_) => self.add_all(text, cut.finer()),
            // One character cannot be split.
            None => self.pieces.push((text, tokens)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use hinagata::{Result, module::CompiledPrompt, ports::PortFuture, tokens::TokenCount};

    /// Counts characters.
    struct Characters;

    impl Ask for Characters {
        fn ask_model<'a>(
            &'a self,
            _: CompiledPrompt,
            _: &'a (dyn Fn(&str) + Send + Sync),
        ) -> PortFuture<'a, Result<Answer>> {
            Box::pin(async { Ok(Answer::new("")) })
        }

        fn count_tokens(&self, text: &str) -> TokenCount {
            TokenCount::exact(text.chars().count())
        }
    }

    fn cut(text: &str, limit: u64) -> Vec<String> {
        let chunks = split_text("t", text, limit, &Characters);
        let whole: String = chunks.iter().map(|chunk| chunk.content.as_str()).collect();
        assert_eq!(whole, if text.trim().is_empty() { "" } else { text }, "nothing is lost");
        for chunk in &chunks {
            let characters = chunk.content.chars().count() as u64;
            assert_eq!((chunk.usage, chunk.total), (Some(characters), Some(chunks.len() as u64)));
            assert!(characters <= limit.max(1), "{chunk:?} is longer than {limit}");
        }
        chunks.into_iter().map(|chunk| chunk.content).collect()
    }

    #[test]
    fn texts_are_cut_where_paragraphs_end_then_lines_then_words() {
        assert_eq!(cut("a\nb\n\nc\n", 100), ["a\nb\n\nc\n"]);
        assert_eq!(cut("aa\nbb\n\ncc\ndd\n", 8), ["aa\nbb\n\n", "cc\ndd\n"]);
        assert_eq!(cut("aa\nbb\n\ncc\ndd\n", 4), ["aa\n", "bb\n\n", "cc\n", "dd\n"]);
        assert_eq!(cut("one two three", 10), ["one ", "two three"]);
    }

    #[test]
    fn nothing_has_no_chunks_and_any_text_is_cut_somewhere() {
        assert!(cut(" \n\n", 3).is_empty());
        assert_eq!(cut("日本語", 1), ["日", "本", "語"]);
        for limit in 0..20 {
            cut("α β\n\n\nγδεζηθικλμνξ οπρστ\n\n日本語のテキスト。\nend", limit);
        }
    }
}
