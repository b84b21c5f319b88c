//! Counts the tokens of a text for a model.
//!
//! | model | count |
//! |---|---|
//! | OpenAI's | exact: two vocabularies are compiled in |
//! | with a tokenizer file | exact: `tokenizer.json`, SentencePiece models, `tekken.json` |
//! | others | an estimate with its error: the tokens of o200k, times factors of the family |
//!
//! [`TokenCounter`] counts whole texts, and texts in pieces as a [`RunningCount`]. Without the feature `exact`, every
//! count is an estimate by characters. Nothing is fetched, and no text is too long: time grows with the length.
//!
//! ```
//! use hinagata_tokens::{TokenCount, TokenCounter};
//!
//! let counter = TokenCounter::for_model("openai/gpt-5-mini");
//! # #[cfg(feature = "exact")]
//! assert_eq!(counter.count_tokens("Write plainly."), TokenCount::exact(3));
//! ```

#[cfg(not(feature = "exact"))]
mod approximate;
#[cfg(feature = "exact")]
mod boundary;
mod count;
mod counter;
mod error;
mod family;
#[cfg(feature = "exact")]
mod file;
#[cfg(feature = "exact")]
mod memory;
#[cfg(feature = "exact")]
mod merge;
#[cfg_attr(not(feature = "exact"), path = "method_by_characters.rs")]
mod method;
#[cfg(feature = "exact")]
mod openai;
#[cfg(feature = "exact")]
mod pieces;
#[cfg(feature = "exact")]
mod quick_split;
mod running;
#[cfg(feature = "exact")]
mod split;
mod tally;
#[cfg(feature = "exact")]
mod vocabulary;

pub use count::TokenCount;
pub use counter::TokenCounter;
pub use error::TokenizerError;
pub use running::{PartCount, RunningCount};

/// What the estimates of a text are computed from, for `tests/tokenizers/fit.py`: numbers by kind, in the order of the factors.
#[cfg(feature = "exact")]
#[doc(hidden)]
#[must_use]
pub fn tally_for_measurement(text: &str) -> [u64; tally::KINDS] {
    openai::O200K.tally_text(text).0
}
