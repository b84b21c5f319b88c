//! `tokenizer.json`: the format of Hugging Face, counted by its own library.

use std::fmt;

use tokenizers::Tokenizer;

use super::problem::Problem;
use crate::{TokenCount, TokenCounter};

/// White space at one place that is counted at once. The library's regular expressions give up on a run of a million
/// characters and do not say so.
const LONGEST_BLANK: usize = 100_000;

/// The error in percent where white space was cut: a cut adds a token or two to thousands.
const CUT_ERROR: u8 = 1;

/// A text that needs the token for unknown characters, if a tokenizer has one.
const PROBE: &str = "a 1\u{e000}\u{10fffd}";

pub(crate) struct JsonTokenizer(Tokenizer);

impl fmt::Debug for JsonTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JsonTokenizer")
    }
}

impl JsonTokenizer {
    pub(super) fn parse(data: &[u8]) -> Result<Self, Problem> {
        let invalid = |error| Problem::Invalid("tokenizer.json", error);
        let mut tokenizer = Tokenizer::from_bytes(data).map_err(invalid)?;
        // These would change the number of tokens.
        tokenizer.with_truncation(None).map_err(invalid)?;
        tokenizer.with_padding(None);
        tokenizer.set_encode_special_tokens(true);
        tokenizer.encode_fast(PROBE, false).map_err(invalid)?;
        Ok(Self(tokenizer))
    }

    pub(super) fn count_tokens(&self, text: &str) -> TokenCount {
        let mut parts = split_blanks(text).peekable();
        let first = parts.next().map_or(Some(0), |part| self.count_part(part));
        let is_cut = parts.peek().is_some();
        let all = parts.fold(first, |sum, part| Some(sum? + self.count_part(part)?));
        match all {
            Some(tokens) if is_cut => TokenCount::estimate(tokens, CUT_ERROR),
            Some(tokens) => TokenCount::exact(tokens),
            None => TokenCounter::without_model().count_tokens(text),
        }
    }

    fn count_part(&self, text: &str) -> Option<usize> {
        self.0.encode_fast(text, false).ok().map(|found| found.len())
    }
}

/// The parts of a text, which is cut within long runs of white space.
fn split_blanks(text: &str) -> impl Iterator<Item = &str> {
    let mut run = 0;
    text.split_inclusive(move |character: char| {
        run = if character.is_whitespace() { run + 1 } else { 0 };
        let cuts = run == LONGEST_BLANK;
        run %= LONGEST_BLANK;
        cuts
    })
}
