//! Whatever a tokenizer file holds, reading it and counting with it never panics.

use std::fs;

use hinagata_tokens::TokenCounter;
use proptest::prelude::*;

use crate::support::{fixture, tricky_text};

/// Reads a file of this content, and counts with it if it is a tokenizer.
fn use_file(content: &[u8], texts: &[String]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("tokenizer");
    fs::write(&path, content).expect("written");
    if let Ok(counter) = TokenCounter::from_file("m", &path) {
        for text in texts {
            let count = counter.count_tokens(text);
            assert!(count.upper_bound() >= count.tokens);
        }
    }
}

/// A fixture with some bytes changed, and perhaps its end cut off.
fn damaged_file() -> impl Strategy<Value = Vec<u8>> {
    let names = [
        "byte-level.json",
        "unigram.json",
        "word-piece.json",
        "tekken.json",
        "pairs.model",
        "unigram-suffix.model",
    ];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let end = prop::option::weighted(0.3, any::<prop::sample::Index>());
    (prop::sample::select(names.to_vec()), changes, end).prop_map(|(name, changes, end)| {
        let mut content = fs::read(fixture(&format!("tokenizers/{name}"))).expect("is a fixture");
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte;
        }
        if let Some(end) = end {
            content.truncate(end.index(content.len()));
        }
        content
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_a_tokenizer_or_an_error(content in prop::collection::vec(any::<u8>(), 0..300)) {
        use_file(&content, &[]);
    }

    #[test]
    fn a_damaged_tokenizer_counts_or_is_an_error(
        content in damaged_file(),
        texts in prop::collection::vec(tricky_text(), 1..4),
    ) {
        use_file(&content, &texts);
    }
}

#[test]
fn parts_that_contradict_each_other_are_an_error() {
    let text = fs::read_to_string(fixture("tokenizers/byte-level.json")).expect("is a fixture");
    let mut file: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    // A prefix that no token has: the library of the format panics.
    file["model"]["continuing_subword_prefix"] = "a prefix that is longer than every token".into();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("tokenizer.json");
    fs::write(&path, file.to_string()).expect("written");
    let error = TokenCounter::from_file("m", &path).expect_err("contradicts itself");
    assert!(error.to_string().contains("is not a valid tokenizer.json"), "{error}");
}
