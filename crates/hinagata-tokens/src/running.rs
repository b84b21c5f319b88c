//! Counts a text that arrives in pieces, or in parts that other threads counted.

use crate::{TokenCount, TokenCounter, tally::Tally};

/// The tokens of a text that arrives in pieces: the total is that of the whole text, wherever the pieces end.
///
/// A clone is a state to return to. The text behind the last border that no token crosses is kept until another one
/// follows; for a tokenizer file, which has no known borders, that is the whole text.
///
/// ```
/// let counter = hinagata_tokens::TokenCounter::for_model("gpt-5");
/// let mut count = counter.start_count();
/// count.push_text("A to");
/// count.push_text("ken can span pieces.");
/// assert_eq!(count.total(), counter.count_tokens("A token can span pieces."));
/// ```
#[derive(Clone, Debug)]
pub struct RunningCount {
    counter: TokenCounter,
    /// What was counted.
    tally: Tally,
    /// The text that is not counted yet.
    rest: String,
}

/// A part of a text that was counted before its place in the text was known: several threads can count parts, and a
/// [`RunningCount`] adds them up in order.
///
/// It keeps the texts before its first and behind its last border, which are short unless the text is one long word; for
/// a tokenizer file, the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartCount {
    /// The text up to the first border.
    head: String,
    /// What is between the borders, and the text behind the last one; `None` without a border.
    behind: Option<(Tally, String)>,
}

impl TokenCounter {
    /// Counts a part of a text.
    ///
    /// ```
    /// let counter = hinagata_tokens::TokenCounter::for_model("gpt-5");
    /// let parts = ["A part can end in a wo", "rd, and a text has as many to", "kens as it has in one piece."];
    /// let mut count = counter.start_count();
    /// for part in parts.map(|part| counter.count_part(part)) {
    ///     count.push_part(&part);
    /// }
    /// assert_eq!(count.total(), counter.count_tokens(&parts.concat()));
    /// ```
    #[must_use]
    pub fn count_part(&self, text: &str) -> PartCount {
        let first = text.char_indices().skip(1).find(|(at, next)| self.splits_at(text, *at, *next));
        let Some((first, _)) = first else { return PartCount { head: text.to_owned(), behind: None } };
        let last = self.last_border(text, first).unwrap_or(first);
        let between = self.method.tally_text(&text[first..last]);
        PartCount { head: text[..first].to_owned(), behind: Some((between, text[last..].to_owned())) }
    }

    /// Counts a part of a text that is given in pieces, without a copy of the whole.
    ///
    /// ```
    /// let counter = hinagata_tokens::TokenCounter::for_model("gpt-5");
    /// let mut count = counter.start_count();
    /// count.push_part(&counter.count_pieces(["<te", "xt>One word", ", or two.</text>"]));
    /// assert_eq!(count.total(), counter.count_tokens("<text>One word, or two.</text>"));
    /// ```
    #[must_use]
    pub fn count_pieces<'t>(&self, pieces: impl IntoIterator<Item = &'t str>) -> PartCount {
        let mut whole = PartCount { head: String::new(), behind: None };
        for piece in pieces {
            let part = self.count_part(piece);
            let Some((tally, tail)) = &mut whole.behind else {
                whole = PartCount { head: whole.head + &part.head, behind: part.behind };
                continue;
            };
            tail.push_str(&part.head);
            if let Some((between, last)) = part.behind {
                *tally += self.method.tally_text(tail);
                *tally += between;
                *tail = last;
            }
        }
        whole
    }

    fn splits_at(&self, text: &str, at: usize, next: char) -> bool {
        self.method.splits_between(&text[..at], next)
    }

    /// The last border in a text, if there is one from `known` on.
    fn last_border(&self, text: &str, known: usize) -> Option<usize> {
        let starts = text[known..].char_indices().rev().map(|(at, next)| (known + at, next));
        let mut borders = starts.filter(|(at, next)| *at > 0 && self.splits_at(text, *at, *next));
        borders.next().map(|(at, _)| at)
    }

    /// Starts to count a text that arrives in pieces.
    #[must_use]
    pub fn start_count(&self) -> RunningCount {
        RunningCount { counter: self.clone(), tally: Tally::default(), rest: String::new() }
    }
}

impl RunningCount {
    /// Adds the next piece of the text.
    pub fn push_text(&mut self, text: &str) {
        let known = self.rest.len();
        self.rest.push_str(text);
        if let Some(border) = self.counter.last_border(&self.rest, known) {
            self.tally += self.counter.method.tally_text(&self.rest[..border]);
            self.rest.drain(..border);
        }
    }

    /// Adds the next part of the text, which the same counter counted.
    pub fn push_part(&mut self, part: &PartCount) {
        self.push_text(&part.head);
        if let Some((between, tail)) = &part.behind {
            self.tally += self.counter.method.tally_text(&self.rest);
            self.tally += *between;
            self.rest.clear();
            self.rest.push_str(tail);
        }
    }

    /// The tokens of the text so far.
    #[must_use]
    pub fn total(&self) -> TokenCount {
        if self.tally == Tally::default() {
            return self.counter.count_tokens(&self.rest);
        }
        let mut tally = self.tally;
        tally += self.counter.method.tally_text(&self.rest);
        self.counter.method.count_tally(&tally)
    }
}
