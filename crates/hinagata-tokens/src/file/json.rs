//! `tokenizer.json`: the format of Hugging Face, counted by its own library.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use tokenizers::Tokenizer;

use super::problem::Problem;
use crate::{TokenCount, openai::O200K};

/// White space at one place that is counted at once. The library's regular expressions give up on a run of a million
/// characters and do not say so.
const LONGEST_BLANK: usize = 100_000;

/// The error in percent where white space was cut: a cut adds a token or two to thousands.
const CUT_ERROR: u8 = 1;

/// The error in percent where the tokenizer fails and o200k counts instead.
const FAILURE_ERROR: u8 = 50;

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
        // The library panics on a few files that contradict themselves.
        let read = catch_unwind(|| Self::read_file(data));
        read.unwrap_or_else(|_| Err("its parts contradict each other".into())).map_err(invalid)
    }

    fn read_file(data: &[u8]) -> tokenizers::Result<Self> {
        let mut tokenizer = Tokenizer::from_bytes(data)?;
        // These would change the number of tokens.
        tokenizer.with_truncation(None)?;
        tokenizer.with_padding(None);
        tokenizer.set_encode_special_tokens(true);
        tokenizer.encode_fast(PROBE, false)?;
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
            None => TokenCount::estimate(O200K.count_tokens(text), FAILURE_ERROR),
        }
    }

    fn count_part(&self, text: &str) -> Option<usize> {
        // Its cache is behind a lock that a panic poisons, which makes it slower and nothing else.
        let encode = AssertUnwindSafe(|| self.0.encode_fast(text, false));
        catch_unwind(encode).ok()?.ok().map(|found| found.len())
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
