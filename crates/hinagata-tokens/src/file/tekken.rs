//! `tekken.json`: Mistral's format of byte pairs.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, de::IgnoredAny};

use super::problem::Problem;
use crate::{
    openai::BytePairs,
    split::{InvalidPattern, Splitter},
    vocabulary::{MOST_TOKENS, Vocabulary},
};

/// What tells the format from `tokenizer.json`.
#[derive(Deserialize)]
struct Outline {
    config: Option<IgnoredAny>,
    vocab: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Tekken {
    config: Config,
    vocab: Vec<Token>,
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    /// Tokens that the model knows, special ones included.
    default_vocab_size: usize,
    default_num_special_tokens: usize,
}

#[derive(Deserialize)]
struct Token {
    rank: usize,
    token_bytes: String,
}

/// Whether a JSON file has this format.
pub(super) fn is_tekken(data: &[u8]) -> bool {
    let outline = serde_json::from_slice::<Outline>(data);
    outline.is_ok_and(|outline| outline.config.is_some() && outline.vocab.is_some())
}

/// Whether a file is a list of tokens in Base64 with their ranks, as tiktoken and Llama 3 have it.
pub(super) fn is_rank_list(data: &[u8]) -> bool {
    let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let Ok(line) = std::str::from_utf8(line) else { return false };
    line.split_once(' ')
        .is_some_and(|(token, rank)| BASE64_STANDARD.decode(token).is_ok() && rank.parse::<u32>().is_ok())
}

pub(super) fn read_tekken(data: &[u8]) -> Result<BytePairs, Problem> {
    let invalid = |why: String| Problem::Invalid("tekken.json", why.into());
    let file: Tekken = serde_json::from_slice(data).map_err(|error| invalid(error.to_string()))?;
    let splitter = Splitter::new(&file.config.pattern).map_err(|error| match error {
        InvalidPattern::UnknownForm => Problem::Unsupported("its pattern is not that of a known tokenizer"),
        InvalidPattern::Syntax(error) => invalid(format!("its pattern is invalid: {error}")),
    })?;
    let known = file.config.default_vocab_size.saturating_sub(file.config.default_num_special_tokens);
    let mut tokens = vec![Vec::new(); known.min(file.vocab.len()).min(MOST_TOKENS)];
    for Token { rank, token_bytes } in &file.vocab {
        if let Some(token) = tokens.get_mut(*rank) {
            *token = BASE64_STANDARD
                .decode(token_bytes)
                .map_err(|error| invalid(format!("token {rank} is not Base64: {error}")))?;
        }
    }
    Ok(BytePairs::new(splitter, Vocabulary::from_tokens(&tokens)))
}
