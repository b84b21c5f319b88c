//! Splits a text into the pieces that a tokenizer never merges across.
//!
//! The patterns of these tokenizers end with `\s+(?!\S)|\s+`: of white space before a word, the last character belongs to
//! the word. Engines that know `(?!…)` overflow on a million spaces, so the pattern is rewritten for one that takes
//! linear time: it matches the character behind, too, and gives it back.

use regex_automata::{
    Anchored, Input,
    meta::{BuildError, Regex},
};

/// The end of every pattern that can be used.
const LAST_CHOICES: &str = r"|\s+(?!\S)|\s+";

/// Which of the patterns matches a character more than the piece has.
const LOOKS_AHEAD: usize = 1;

/// Splits texts by the pattern of a tokenizer.
#[derive(Debug)]
pub(crate) struct Splitter {
    regex: Regex,
}

/// Why a pattern cannot be used.
#[derive(Debug)]
pub(crate) enum InvalidPattern {
    /// It does not end as the patterns of known tokenizers do.
    UnknownForm,
    /// It is not a regular expression.
    Syntax(Box<BuildError>),
}

impl Splitter {
    /// A splitter for a pattern as tokenizers publish it.
    pub(crate) fn new(pattern: &str) -> Result<Self, InvalidPattern> {
        let choices = pattern.strip_suffix(LAST_CHOICES).ok_or(InvalidPattern::UnknownForm)?;
        let patterns = [&format!(r"{choices}|\s+$"), r"\s+\s", r"\s+"];
        let regex = Regex::new_many(&patterns).map_err(|error| InvalidPattern::Syntax(Box::new(error)))?;
        Ok(Self { regex })
    }

    /// The pieces of a text, in order.
    pub(crate) fn split_text<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            at = self.piece_end(text, start)?;
            Some(&text[start..at])
        })
    }

    fn piece_end(&self, text: &str, start: usize) -> Option<usize> {
        let first = text[start..].chars().next()?;
        let found = self.regex.search(&Input::new(text).span(start..text.len()).anchored(Anchored::Yes));
        let end = found.map_or(start, |found| match found.pattern().as_usize() {
            LOOKS_AHEAD => text[..found.end()].char_indices().next_back().map_or(start, |(at, _)| at),
            _ => found.end(),
        });
        // A pattern of a file may match nothing here: then the character is a piece of its own.
        Some(end.max(start + first.len_utf8()))
    }
}
