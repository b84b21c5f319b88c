//! OpenAI's models are counted exactly.

use std::thread;

use hinagata_tokens::{TokenCount, TokenCounter};
use proptest::prelude::*;

use crate::support::{all_texts, recorded_counts, tricky_text};

#[test]
fn texts_have_as_many_tokens_as_tiktoken_recorded() {
    for (model, name) in [("gpt-5", "o200k_base.tiktoken"), ("gpt-4", "cl100k_base.tiktoken")] {
        let counter = TokenCounter::for_model(model);
        for (text, tokens) in all_texts().iter().zip(recorded_counts(name)) {
            assert_eq!(counter.count_tokens(text), TokenCount::exact(tokens), "{model} {text:?}");
        }
    }
}

#[test]
fn long_runs_of_one_character_are_counted() {
    let counter = TokenCounter::for_model("gpt-4o");
    let count = |text: String| counter.count_tokens(&text).tokens;
    assert_eq!(count("a".repeat(1_000_000)), 125_000);
    assert_eq!(count(" ".repeat(1_000_000)), 7_813);
    assert_eq!(count(" ".repeat(1_000_000) + "x"), 7_814);
    assert_eq!(count("\n".repeat(1_000_000)), 62_500);
}

#[test]
fn one_counter_serves_several_threads() {
    let counter = TokenCounter::for_model("gpt-4o");
    let (texts, counts) = (all_texts(), recorded_counts("o200k_base.tiktoken"));
    thread::scope(|scope| {
        for _ in 0..4 {
            let counter = counter.clone();
            scope.spawn(|| {
                let counter = counter;
                let found = texts.iter().map(|text| counter.count_tokens(text).tokens);
                assert!(found.eq(counts.iter().copied()));
            });
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_has_as_many_tokens_as_tiktoken_finds(text in prop_oneof![tricky_text(), "\\PC{0,80}", any::<String>()]) {
        let (new, old) = (tiktoken_rs::o200k_base_singleton(), tiktoken_rs::cl100k_base_singleton());
        let count = |model: &str| TokenCounter::for_model(model).count_tokens(&text).tokens;
        prop_assert_eq!(count("gpt-4o"), new.encode_ordinary(&text).len());
        prop_assert_eq!(count("gpt-4"), old.encode_ordinary(&text).len());
    }
}
