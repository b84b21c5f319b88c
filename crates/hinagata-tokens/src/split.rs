//! Splits a text into the pieces that a tokenizer never merges across.
//!
//! The patterns of these tokenizers end with `\s+(?!\S)|\s+`: of white space before a word, the last character belongs to
//! the word. Engines that know `(?!…)` overflow on a million spaces, so the pattern is rewritten for one that takes
//! linear time: it matches the character behind, too, and gives it back.

use std::sync::LazyLock;

use regex_automata::{
    Anchored, Input,
    meta::{BuildError, Regex},
};

use crate::quick_split::QuickPattern;

/// The end of every pattern that can be used.
const LAST_CHOICES: &str = r"|\s+(?!\S)|\s+";

/// Which of the patterns matches a character more than the piece has.
const LOOKS_AHEAD: usize = 1;

/// The pattern of all models of OpenAI since GPT-4o.
const O200K_PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// The pattern of GPT-4, GPT-3.5 and the embedding models.
const CL100K_PATTERN: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|",
    r"\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// Splits texts by the pattern of a tokenizer.
#[derive(Debug)]
pub(crate) struct Splitter {
    /// What finds most pieces of patterns that are compiled in; these build their automaton when a text needs it.
    quick: Option<QuickPattern>,
    regex: LazyLock<Regex, Box<dyn FnOnce() -> Regex + Send>>,
}

/// Why a pattern cannot be used.
#[derive(Debug)]
pub(crate) enum InvalidPattern {
    /// It does not end as the patterns of known tokenizers do.
    UnknownForm,
    /// It is not a regular expression.
    Syntax(Box<BuildError>),
}

impl Splitter {
    /// A splitter for a pattern as tokenizers publish it.
    pub(crate) fn new(pattern: &str) -> Result<Self, InvalidPattern> {
        let regex = build_regex(pattern)?;
        Ok(Self { quick: None, regex: LazyLock::new(Box::new(|| regex)) })
    }

    /// A splitter for a pattern that is compiled in.
    pub(crate) fn built_in(quick: QuickPattern) -> Self {
        let pattern = match quick {
            QuickPattern::O200k => O200K_PATTERN,
            QuickPattern::Cl100k => CL100K_PATTERN,
        };
        let build = move || build_regex(pattern).expect("a test builds it");
        Self { quick: Some(quick), regex: LazyLock::new(Box::new(build)) }
    }

    /// The end of the piece that starts at `start`, which is before the end of the text.
    #[inline]
    pub(crate) fn piece_end(&self, text: &str, start: usize) -> usize {
        let quick = self.quick.and_then(|quick| quick.piece_end(text.as_bytes(), start));
        quick.unwrap_or_else(|| self.matched_end(text, start))
    }

    fn matched_end(&self, text: &str, start: usize) -> usize {
        let found = self.regex.search(&Input::new(text).span(start..text.len()).anchored(Anchored::Yes));
        let end = found.map_or(start, |found| match found.pattern().as_usize() {
            LOOKS_AHEAD => text[..found.end()].char_indices().next_back().map_or(start, |(at, _)| at),
            _ => found.end(),
        });
        // A pattern of a file may match nothing here: then the character is a piece of its own.
        let first = text[start..].chars().next().map_or(0, char::len_utf8);
        end.max(start + first)
    }
}

fn build_regex(pattern: &str) -> Result<Regex, InvalidPattern> {
    let choices = pattern.strip_suffix(LAST_CHOICES).ok_or(InvalidPattern::UnknownForm)?;
    let patterns = [&format!(r"{choices}|\s+$"), r"\s+\s", r"\s+"];
    Regex::new_many(&patterns).map_err(|error| InvalidPattern::Syntax(Box::new(error)))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use proptest::prelude::*;

    use super::*;

    static SPLITTERS: [LazyLock<Splitter>; 2] = [
        LazyLock::new(|| Splitter::built_in(QuickPattern::O200k)),
        LazyLock::new(|| Splitter::built_in(QuickPattern::Cl100k)),
    ];

    /// Ends of pieces that are found by hand are those that the pattern finds, wherever a piece starts.
    fn assert_same_ends(splitter: &Splitter, text: &str, starts: impl Iterator<Item = usize>) {
        for start in starts {
            if let Some(end) = splitter.quick.and_then(|quick| quick.piece_end(text.as_bytes(), start)) {
                let expected = splitter.matched_end(text, start);
                let rest: String = text[start..].chars().take(40).collect();
                assert_eq!(end, expected, "{:?} at {start}: {rest:?}", splitter.quick);
            }
        }
    }

    fn piece_starts(splitter: &Splitter, text: &str) -> Vec<usize> {
        let next = |start: &usize| Some(splitter.matched_end(text, *start)).filter(|end| *end < text.len());
        std::iter::successors((!text.is_empty()).then_some(0), next).collect()
    }

    fn compare_everywhere(text: &str) {
        for splitter in &SPLITTERS {
            assert_same_ends(splitter, text, text.char_indices().map(|(at, _)| at));
        }
    }

    #[test]
    fn every_text_of_two_or_three_tricky_characters_is_split_as_the_pattern_says() {
        let tricky = [
            'a', 'Z', 's', 'S', 'l', 'L', 'r', 'E', 'v', 'm', 'D', 't', 'k', '0', '9', ' ', '\t', '\n', '\r',
            '\x0b', '\x0c', '\0', '\x1f', '\x7f', '\'', '/', '_', '.', '\u{85}', '\u{a0}', '\u{3000}',
            '\u{301}', 'é', 'ſ', '\u{212a}', 'ǅ', 'ª', '½', '漢', '。', '😀',
        ];
        let mut text = String::new();
        for one in tricky {
            for two in tricky {
                for three in tricky {
                    text.clear();
                    text.extend([one, two, three]);
                    compare_everywhere(&text);
                }
            }
        }
    }

    #[test]
    fn short_forms_are_found_in_every_case() {
        for form in ["s", "T", "re", "Re", "rE", "VE", "m", "ll", "Ll", "LL", "d", "ſ", "l", "r", "ver", "rſ"]
        {
            for (before, after) in
                [("I", ""), ("WE", " x"), ("it", "elf"), (" ", "x"), ("(", "'s"), ("é", "")]
            {
                compare_everywhere(&format!("{before}'{form}{after}"));
            }
        }
    }

    #[test]
    fn the_files_of_this_project_are_split_as_the_patterns_say() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("is in a directory");
        let mut directories = vec![crates.join("hinagata-tokens"), crates.join("hinagata-context")];
        let mut compared = 0;
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).expect("is readable") {
                let path = entry.expect("is readable").path();
                if path.is_dir() {
                    directories.push(path);
                } else if let Ok(text) = fs::read_to_string(&path) {
                    compared += text.len();
                    for splitter in &SPLITTERS {
                        assert_same_ends(splitter, &text, piece_starts(splitter, &text).into_iter());
                    }
                }
            }
        }
        assert!(compared > 500_000, "{compared} bytes");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn any_text_is_split_as_the_patterns_say(
            text in prop_oneof!["[aZsSlL0'/_. \t\n\ré\u{3000}\u{301}ſ]{0,40}", "[ -~\t\r\n]{0,80}", "\\PC{0,40}", any::<String>()]
        ) {
            compare_everywhere(&text);
        }
    }
}
