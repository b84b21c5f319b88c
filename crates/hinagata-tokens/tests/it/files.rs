//! Tokenizer files count as their originals do.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use hinagata_tokens::{TokenCount, TokenCounter, TokenizerError};

use crate::support::{all_texts, fixture, recorded_counts};

fn open(path: &Path) -> TokenCounter {
    TokenCounter::from_file("m", path).unwrap_or_else(|error| panic!("{error}"))
}

fn open_error(path: &Path) -> TokenizerError {
    TokenCounter::from_file("m", path).expect_err("cannot be used")
}

fn assert_as_recorded(path: &Path, name: &str) {
    let counter = open(path);
    for (text, tokens) in all_texts().iter().zip(recorded_counts(name)) {
        assert_eq!(counter.count_tokens(text), TokenCount::exact(tokens), "{name} {text:?}");
    }
}

/// A file with this content in a directory of its own.
fn file_with(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("tokenizer");
    fs::write(&path, content).expect("written");
    (directory, path)
}

#[test]
fn every_kind_of_tokenizer_counts_as_recorded() {
    let found = fs::read_dir(fixture("tokenizers")).expect("is a fixture");
    for path in found.map(|entry| entry.expect("is readable").path()) {
        let name = path.file_name().expect("is a file").to_string_lossy();
        assert_as_recorded(&path, &format!("small/{name}"));
    }
}

/// `./test` fetches them; the variable names their directory.
#[test]
#[expect(clippy::print_stderr, reason = "whoever runs the tests must know that this one did nothing")]
fn tokenizers_of_real_models_count_as_recorded() {
    let Some(directory) = env::var_os("HINAGATA_TEST_TOKENIZERS").map(PathBuf::from) else {
        eprintln!(
            "NOTHING WAS COMPARED: set HINAGATA_TEST_TOKENIZERS to the output of tests/tokenizers/fetch.py"
        );
        return;
    };
    for name in
        ["deepseek.json", "gemma3.json", "llama3.json", "mistral-nemo.json", "qwen3.json", "tekken.json"]
    {
        assert_as_recorded(&directory.join(name), name);
    }
    for name in ["mistral-7b.model", "mistral-large.model"] {
        assert_as_recorded(&directory.join(name), name);
    }
}

#[test]
fn special_tokens_in_a_text_are_text() {
    let counter = open(&fixture("tokenizers/byte-level.json"));
    assert!(counter.is_exact() && counter.model() == Some("m"));
    assert!(counter.count_tokens("<|endoftext|>").tokens > 1);
}

#[test]
fn a_changed_file_is_read_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("tokenizer.json");
    let text = "Counted twice, with two tokenizers.";
    let counts = ["tokenizers/word-piece.json", "tokenizers/byte-level.json"].map(|name| {
        fs::copy(fixture(name), &path).expect("copied");
        open(&path).count_tokens(text)
    });
    assert_ne!(counts[0], counts[1]);
    assert_eq!(open(&path).count_tokens(text), counts[1]);
}

#[test]
fn a_long_run_of_white_space_is_counted_almost_exactly() {
    let counter = open(&fixture("tokenizers/split.json"));
    let short = counter.count_tokens(&" ".repeat(50_000));
    assert!(!short.is_estimated());
    let long = counter.count_tokens(&(" ".repeat(1_000_000) + "a word"));
    assert_eq!(long.error_percent, Some(1));
    assert!(long.tokens.abs_diff(short.tokens * 20) * 100 < long.tokens, "{} {}", long.tokens, short.tokens);
}

#[test]
fn long_words_are_counted() {
    for name in ["byte-level.json", "byte-fallback.json", "pairs.model", "unigram.model", "tekken.json"] {
        let counter = open(&fixture(&format!("tokenizers/{name}")));
        assert!(counter.count_tokens(&"a".repeat(1_000_000)).tokens > 1_000, "{name}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_with_its_path() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let missing = directory.path().join("none.json");
    let error = open_error(&missing);
    assert_eq!(error.path(), missing);
    assert!(error.to_string().ends_with("none.json` cannot be read: no such file or directory"), "{error}");
    let error = open_error(directory.path());
    assert!(error.to_string().ends_with("is not a file"), "{error}");
    let large = directory.path().join("large.json");
    fs::File::create(&large).and_then(|file| file.set_len((64 << 20) + 1)).expect("made");
    assert!(open_error(&large).to_string().ends_with("is larger than 64 MiB"));
}

#[test]
fn a_file_that_is_no_tokenizer_is_an_error_with_the_reason() {
    let cases: [(&[u8], &str); 8] = [
        (b"", "is not a valid SentencePiece model: it has 0 pieces"),
        (b"not a tokenizer", "is not a valid SentencePiece model: "),
        (b"{}", "is not a valid tokenizer.json: "),
        (b"{\"version\": \"1.0\", \"model\": ", "is not a valid tokenizer.json: EOF while parsing"),
        (b"{\"config\": {}, \"vocab\": []}", "is not a valid tekken.json: missing field `pattern`"),
        (
            b"{\"config\": {\"pattern\": \"x\", \"default_vocab_size\": 1, \"default_num_special_tokens\": 0}, \"vocab\": []}",
            "cannot be used: its pattern is not that of a known tokenizer",
        ),
        (b"GGUF\x03\0\0\0", "cannot be used: GGUF files cannot be read yet"),
        (b"IQ== 0\nIg== 1\n", "cannot be used: it lists tokens without the pattern that splits texts"),
    ];
    for (content, message) in cases {
        let (_directory, path) = file_with(content);
        let error = open_error(&path);
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.hint().contains("tokenizer.json"));
    }
}
