//! Counts tokens.

use std::io::{self, Write};

use hinagata_tokens::{PartCount, RunningCount, TokenCount, TokenCounter};

use crate::{Result, options::Tokens};

/// Counts the tokens of texts, if they are counted.
#[derive(Debug)]
pub(crate) struct Counter(Option<TokenCounter>);

impl Counter {
    /// What counts as `tokens` says.
    ///
    /// # Errors
    /// The file of the tokenizer cannot be used.
    pub(crate) fn new(tokens: &Tokens) -> Result<Self> {
        tokens.counter().map(Self)
    }

    /// Whether tokens are counted.
    pub(crate) fn is_counting(&self) -> bool {
        self.0.is_some()
    }

    /// The tokens of `text`, if tokens are counted.
    pub(crate) fn count(&self, text: &str) -> Option<TokenCount> {
        self.0.as_ref().map(|counter| counter.count_tokens(text))
    }

    /// Counts a part of a text that is given in pieces, if tokens are counted.
    pub(crate) fn count_pieces(&self, pieces: [&str; 3]) -> Option<PartCount> {
        self.0.as_ref().map(|counter| counter.count_pieces(pieces))
    }

    /// What `text` takes from the budget: its tokens, with the error of an estimate.
    pub(crate) fn cost(&self, text: &str) -> usize {
        self.count(text).map_or(0, TokenCount::upper_bound)
    }

    /// Starts to count a text that arrives in pieces.
    pub(crate) fn start(&self) -> CountedText {
        CountedText(self.0.as_ref().map(TokenCounter::start_count))
    }
}

/// Counts the tokens of a text that is written to it.
pub(crate) struct CountedText(Option<RunningCount>);

impl CountedText {
    /// The tokens of the text, if tokens are counted.
    pub(crate) fn total(&self) -> Option<TokenCount> {
        self.0.as_ref().map(RunningCount::total)
    }

    /// Adds a text.
    pub(crate) fn push_text(&mut self, text: &str) {
        if let Some(running) = &mut self.0 {
            running.push_text(text);
        }
    }

    /// Adds a part that was counted before.
    pub(crate) fn push_part(&mut self, part: &PartCount) {
        if let Some(running) = &mut self.0 {
            running.push_part(part);
        }
    }
}

impl Write for CountedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push_text(str::from_utf8(bytes).map_err(io::Error::other)?);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
