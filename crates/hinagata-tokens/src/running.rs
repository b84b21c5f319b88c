//! Counts a text that arrives in pieces.

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

impl TokenCounter {
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
        if let Some(border) = self.last_border(known) {
            self.tally += self.counter.method.tally_text(&self.rest[..border]);
            self.rest.drain(..border);
        }
    }

    /// The last border in the text that is not counted, none of which is before `known`.
    fn last_border(&self, known: usize) -> Option<usize> {
        let starts = self.rest[known..].char_indices().rev().map(|(at, next)| (known + at, next));
        let mut borders =
            starts.filter(|(at, next)| self.counter.method.splits_between(&self.rest[..*at], *next));
        borders.next().map(|(at, _)| at).filter(|at| *at > 0)
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
