//! Counts of pieces add up to the count of the whole.

use hinagata_tokens::TokenCounter;
use proptest::prelude::*;

use crate::support::{long_texts, tricky_text};

const MODELS: [&str; 4] = ["gpt-4o", "gpt-4", "claude-opus-4-7", "qwen3"];

#[test]
fn counts_add_up_between_lines_and_before_spaces() {
    let counter = TokenCounter::for_model("gpt-5");
    assert!(counter.is_additive_between("a line\n", "another"));
    assert!(counter.is_additive_between("", "x") && counter.is_additive_between("x", ""));
    if counter.is_exact() {
        assert!(counter.is_additive_between("two", " words"));
        assert!(counter.is_additive_between("end of a.rs\n\n", "// File: b.rs"));
        for (before, after) in [("wo", "rd"), ("x\n", "  y"), ("f();\n", "// z"), (" ", "x"), ("12", "3")] {
            assert!(!counter.is_additive_between(before, after), "{before:?} {after:?}");
        }
    }
}

#[test]
fn a_text_in_pieces_of_any_size_counts_as_the_whole() {
    for (name, text) in long_texts() {
        for size in [1, 7, 100, 5_000] {
            let counter = TokenCounter::for_model("gpt-4o");
            let mut count = counter.start_count();
            let characters: Vec<char> = text.chars().collect();
            for piece in characters.chunks(size) {
                count.push_text(&piece.iter().collect::<String>());
            }
            assert_eq!(count.total(), counter.count_tokens(&text), "{name} in pieces of {size}");
        }
    }
}

#[test]
fn a_running_count_can_return_to_an_earlier_state() {
    let counter = TokenCounter::for_model("gpt-4o");
    let mut count = counter.start_count();
    count.push_text("Dear Ada");
    let before = count.clone();
    count.push_text("ptation");
    assert_eq!(count.total(), counter.count_tokens("Dear Adaptation"));
    assert_eq!(before.total(), counter.count_tokens("Dear Ada"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn additive_borders_never_change_the_count(before in tricky_text(), after in tricky_text()) {
        for model in ["gpt-4o", "gpt-4"] {
            let counter = TokenCounter::for_model(model);
            if counter.is_exact() && counter.is_additive_between(&before, &after) {
                let count = |text: &str| counter.count_tokens(text).tokens;
                prop_assert_eq!(count(&before) + count(&after), count(&format!("{before}{after}")));
            }
        }
    }

    #[test]
    fn pieces_of_any_text_count_as_the_whole(pieces in prop::collection::vec(tricky_text(), 0..8)) {
        for model in MODELS {
            let counter = TokenCounter::for_model(model);
            let mut count = counter.start_count();
            for piece in &pieces {
                count.push_text(piece);
            }
            prop_assert_eq!(count.total(), counter.count_tokens(&pieces.concat()));
            let mut count = counter.start_count();
            count.push_text("One, ");
            count.push_part(&counter.count_pieces(pieces.iter().map(String::as_str)));
            prop_assert_eq!(count.total(), counter.count_tokens(&format!("One, {}", pieces.concat())));
        }
    }

    #[test]
    fn parts_that_are_counted_apart_count_as_the_whole(parts in prop::collection::vec((tricky_text(), any::<bool>()), 0..8)) {
        for model in MODELS {
            let counter = TokenCounter::for_model(model);
            let mut count = counter.start_count();
            for (part, is_counted) in &parts {
                match is_counted {
                    true => count.push_part(&counter.count_part(part)),
                    false => count.push_text(part),
                }
            }
            let whole: String = parts.iter().map(|(part, _)| part.as_str()).collect();
            prop_assert_eq!(count.total(), counter.count_tokens(&whole));
        }
    }
}
