//! Counts tokens for one model.

use std::{path::Path, sync::Arc};

use crate::{TokenCount, TokenizerError, family::find_family, method::Method};

/// Counts tokens for one model; made once, used for many texts and from several threads. A clone is cheap.
///
/// ```
/// use hinagata_tokens::TokenCounter;
///
/// let claude = TokenCounter::for_model("claude-opus-4-5");
/// let count = claude.count_tokens("Write plainly.");
/// assert!(count.is_estimated() && count.upper_bound() > count.tokens);
/// ```
#[derive(Clone, Debug)]
pub struct TokenCounter {
    model: Option<Arc<str>>,
    pub(crate) method: Method,
}

impl TokenCounter {
    /// A counter for the model `name`, with or without its provider: exact for OpenAI's models, an estimate for others.
    #[must_use]
    pub fn for_model(name: &str) -> Self {
        Self { model: Some(name.into()), method: Method::for_family(find_family(name)) }
    }

    /// A counter where no model is known: the tokens of o200k, as an estimate.
    #[must_use]
    pub fn without_model() -> Self {
        Self { model: None, ..Self::for_model("") }
    }

    /// A counter for the model `name` with the tokenizer in a file: `tokenizer.json`, a SentencePiece model or
    /// `tekken.json`. It is exact. The last few files are kept in memory.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or holds no tokenizer that can be used; always in a build without the
    /// feature `exact`.
    pub fn from_file(name: &str, path: &Path) -> Result<Self, TokenizerError> {
        Ok(Self { model: Some(name.into()), method: Method::from_file(path)? })
    }

    /// The name of the model, if there is one.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Whether its counts are exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.method.is_exact()
    }

    /// The tokens of a text. Special tokens in it are text: `<|endoftext|>` is several tokens.
    #[must_use]
    pub fn count_tokens(&self, text: &str) -> TokenCount {
        self.method.count_tokens(text)
    }

    /// The bytes at which the tokens of a text start, to tell which part of it has how many. They are those of the model
    /// for OpenAI's models, and those of o200k for others; `None` in a build without the feature `exact`.
    ///
    /// ```
    /// # #[cfg(feature = "exact")] {
    /// let counter = hinagata_tokens::TokenCounter::for_model("gpt-5");
    /// assert_eq!(counter.token_starts("Hello world"), Some(vec![0, 5]));
    /// # }
    /// ```
    #[must_use]
    pub fn token_starts(&self, text: &str) -> Option<Vec<usize>> {
        self.method.token_starts(text)
    }

    /// Whether the tokens of the two texts add up to those of both together. If it says no, they may still do; for a
    /// tokenizer file it always says no.
    ///
    /// ```
    /// let counter = hinagata_tokens::TokenCounter::for_model("gpt-5");
    /// assert!(counter.is_additive_between("one line\n", "another"));
    /// # #[cfg(feature = "exact")]
    /// assert!(!counter.is_additive_between("f();\n", "// a comment"));
    /// ```
    #[must_use]
    pub fn is_additive_between(&self, before: &str, after: &str) -> bool {
        before.is_empty() || after.chars().next().is_none_or(|next| self.method.splits_between(before, next))
    }
}

impl Default for TokenCounter {
    fn default() -> Self {
        Self::without_model()
    }
}
