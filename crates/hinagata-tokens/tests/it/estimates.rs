//! Estimates stay within the error that they state.

use hinagata_tokens::{TokenCount, TokenCounter};

use crate::support::{long_texts, recorded_counts};

/// Models with the tokenizer whose counts were recorded.
const MODELS: [(&str, &str); 14] = [
    ("gemini-2.5-pro", "gemma3.json"),
    ("google/gemma-3-27b", "gemma3.json"),
    ("meta-llama/Llama-4-Maverick", "llama4.tiktoken"),
    ("llama3.2:3b", "llama3.json"),
    ("mixtral-8x7b", "mistral-7b.model"),
    ("mistral-large-latest", "tekken.json"),
    ("qwen3:8b", "qwen3.json"),
    ("qwen3.6-plus", "qwen3.6.tiktoken"),
    ("deepseek-chat", "deepseek.json"),
    ("deepseek-r1-distill-qwen-32b", "qwen3.json"),
    ("command-r-plus", "command-r.json"),
    ("glm-4.6", "glm4.tiktoken"),
    ("moonshotai/kimi-k2", "kimi.tiktoken"),
    ("a-model-that-nobody-knows", "o200k_base.tiktoken"),
];

fn assert_within_error(model: &str, tokenizer: &str) {
    let counter = TokenCounter::for_model(model);
    for ((name, text), tokens) in long_texts().into_iter().zip(recorded_counts(tokenizer)) {
        let count = counter.count_tokens(&text);
        let error = count.tokens.abs_diff(tokens) * 100 / tokens;
        let stated = count.error_percent.map_or(0, usize::from);
        assert!(error <= stated, "{model} {name}: {} instead of {tokens}, {error} % off", count.tokens);
    }
}

#[test]
fn estimates_of_long_texts_are_within_their_error() {
    for (model, tokenizer) in MODELS {
        assert_within_error(model, tokenizer);
    }
}

#[test]
fn counts_of_openai_models_are_within_their_error() {
    assert_within_error("gpt-4o", "o200k_base.tiktoken");
    assert_within_error("gpt-4", "cl100k_base.tiktoken");
}

#[cfg(feature = "exact")]
#[test]
fn families_with_a_known_tokenizer_state_fifteen_percent() {
    for (model, tokenizer) in MODELS.iter().filter(|(_, tokenizer)| *tokenizer != "o200k_base.tiktoken") {
        for (name, text) in long_texts() {
            let error = TokenCounter::for_model(model).count_tokens(&text).error_percent;
            assert_eq!(error, Some(15), "{model} {tokenizer} {name}");
        }
    }
}

#[test]
fn claude_has_more_tokens_than_gpt_and_more_again_from_version_4_7() {
    let (_, text) =
        long_texts().into_iter().find(|(name, _)| name == "japanese-story").expect("is a fixture");
    let count = |model: &str| TokenCounter::for_model(model).count_tokens(&text).tokens;
    let gpt = count("gpt-4o");
    for model in
        ["claude-3-5-sonnet-20241022", "claude-opus-4-5", "anthropic/claude-sonnet-4-20250514", "claude-2.1"]
    {
        assert_eq!(count(model), (gpt * 120 + 50) / 100, "{model}");
    }
    for model in ["claude-opus-4-7", "claude-opus-4.7", "us.anthropic.claude-sonnet-5-v1:0", "claude-latest"]
    {
        assert_eq!(count(model), (gpt * 150 + 50) / 100, "{model}");
    }
    assert!(TokenCounter::for_model("claude-opus-4-5").count_tokens(&text).is_estimated());
}

#[test]
fn an_estimate_leaves_room_for_its_error() {
    assert_eq!(TokenCount::estimate(1_000, 15).upper_bound(), 1_150);
    assert_eq!(TokenCount::estimate(1, 15).upper_bound(), 2);
    assert_eq!(TokenCount::exact(1_000).upper_bound(), 1_000);
    assert_eq!(TokenCount::estimate(usize::MAX, 15).upper_bound(), usize::MAX);
}

#[test]
fn an_empty_text_has_no_tokens() {
    for model in ["gpt-4o", "claude-opus-4-5", "qwen3"] {
        assert_eq!(TokenCounter::for_model(model).count_tokens("").tokens, 0, "{model}");
    }
    assert_eq!(TokenCounter::without_model().count_tokens("").tokens, 0);
}

#[test]
fn long_lines_of_anything_are_estimated() {
    let counter = TokenCounter::for_model("claude-opus-4-5");
    for piece in ["a", " ", "A", "1", "-", "漢", "か", "é", "\u{10ffff}", "\r"] {
        assert!(counter.count_tokens(&piece.repeat(200_000)).tokens > 100, "{piece:?}");
    }
}
