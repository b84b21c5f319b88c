//! Texts and counts that `tests/tokenizers/record.py` recorded.

use std::{fs, path::PathBuf};

use proptest::prelude::*;
use serde_json::Value;

/// A file or directory of the fixtures.
pub(crate) fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/fixtures", name].iter().collect()
}

fn read_json(name: &str) -> Value {
    let text = fs::read_to_string(fixture(name)).expect("is a fixture");
    serde_json::from_str(&text).expect("is JSON")
}

/// The texts of 4 KiB or more, with their names, in the order of the counts.
pub(crate) fn long_texts() -> Vec<(String, String)> {
    let found = fs::read_dir(fixture("texts")).expect("is a fixture");
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.expect("is readable").path()).collect();
    paths.sort();
    let named = |path: PathBuf| {
        let name = path.file_stem().expect("is a file").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("is a text"))
    };
    paths.into_iter().map(named).collect()
}

/// All texts, in the order of the counts.
#[cfg(feature = "exact")]
pub(crate) fn all_texts() -> Vec<String> {
    let short: Vec<String> = serde_json::from_value(read_json("short.json")).expect("is a list of texts");
    long_texts().into_iter().map(|(_, text)| text).chain(short).collect()
}

/// The recorded counts of a tokenizer.
pub(crate) fn recorded_counts(tokenizer: &str) -> Vec<usize> {
    let counts = read_json("counts.json")["counts"][tokenizer].take();
    serde_json::from_value(counts).unwrap_or_else(|error| panic!("`{tokenizer}` is not recorded: {error}"))
}

/// Texts with everything that patterns of tokenizers treat differently.
pub(crate) fn tricky_text() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        4 => prop::sample::select(vec![" ", "  ", "\n", "\r", "\r\n", "\n\n", "\t", "\u{a0}", "\u{3000}", "\u{2028}"]),
        3 => prop::sample::select(vec!["/", "//", ")", ");", "'", "'s", "'LL", "_", ".", "-", "\u{301}", "。", "😀"]),
        3 => prop::sample::select(vec!["a", "word", "Word", "WORD", "é", "ſ", "1", "1234", "½", "漢字", "かな", "한"]),
        1 => "\\PC{1,3}".prop_map(|text: String| -> &'static str { Box::leak(text.into_boxed_str()) }),
    ];
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}
