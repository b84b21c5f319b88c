//! Counts tokens.

use hinagata_module::tokens;

use crate::options::Tokens;

/// Counts the tokens of texts.
#[derive(Debug)]
pub(crate) struct Counter<'t> {
    tokens: &'t Tokens,
}

impl<'t> Counter<'t> {
    pub(crate) fn new(tokens: &'t Tokens) -> Self {
        Self { tokens }
    }

    /// Whether tokens are counted.
    pub(crate) fn is_counting(&self) -> bool {
        self.tokens.is_counting()
    }

    /// The tokens of `text`, if tokens are counted.
    pub(crate) fn count(&self, text: &str) -> Option<usize> {
        self.is_counting().then(|| self.count_tokens(text).tokens)
    }

    /// Whether counts are estimates.
    pub(crate) fn is_estimated(&self) -> bool {
        self.count_tokens("").estimated
    }

    fn count_tokens(&self, text: &str) -> tokens::TokenCount {
        match &self.tokens.model {
            Some(model) => tokens::count_tokens(text, model),
            None => tokens::estimate_tokens(text),
        }
    }
}
