//! Counts tokens.

/// A number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCount {
    /// The number.
    pub tokens: usize,
    /// Whether it is an estimate: the tokenizer of the model is not public, or not part of this build.
    pub estimated: bool,
}

/// Counts the tokens of `text` for `model`.
///
/// With the feature `tokens` it is exact for OpenAI's models, whose tokenizers are public; otherwise it is a quarter of the
/// length.
#[must_use]
pub fn count_tokens(text: &str, model: &str) -> TokenCount {
    count_exactly(text, model)
        .map_or_else(|| estimate_tokens(text), |tokens| TokenCount { tokens, estimated: false })
}

/// Estimates the tokens of `text` as a quarter of its length, a common rule of thumb.
#[must_use]
pub fn estimate_tokens(text: &str) -> TokenCount {
    TokenCount { tokens: text.encode_utf16().count().div_ceil(4), estimated: true }
}

#[cfg(feature = "tokens")]
fn count_exactly(text: &str, model: &str) -> Option<usize> {
    let name = model.rsplit(['/', ':']).next().unwrap_or(model);
    let tokenizer = tiktoken_rs::bpe_for_model(name).ok()?;
    Some(tokenizer.encode_ordinary(text).len())
}

#[cfg(not(feature = "tokens"))]
fn count_exactly(_text: &str, _model: &str) -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_models_are_estimated_by_length() {
        assert_eq!(count_tokens("12345", "claude-x"), TokenCount { tokens: 2, estimated: true });
        assert_eq!(count_tokens("😀😀", "claude-x").tokens, 1);
        assert_eq!(count_tokens("", "claude-x").tokens, 0);
    }

    #[cfg(feature = "tokens")]
    #[test]
    fn models_with_a_public_tokenizer_are_counted() {
        let found = count_tokens("hello world", "gpt-4o");
        assert_eq!(found, TokenCount { tokens: 2, estimated: false });
        assert_eq!(count_tokens("hello world", "openai/gpt-4o"), found);
    }
}
