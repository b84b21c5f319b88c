//! Which tokenizer a model has: the one table of names, vocabularies and factors.
//!
//! Factors are percent of the tokens of o200k, by kind of piece in the order of [`Kind`]. They were
//! fitted to the real tokenizers of the families in November 2026; `docs/design/token-counts.md` says how. Claude's tokenizers are
//! not public: its two factors are what Anthropic and others published in April 2026.

use crate::{
    TokenCount,
    tally::{CHARACTERS, KINDS, Kind, Tally},
};

/// A vocabulary that can be compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    O200k,
    Cl100k,
}

/// How the tokens of a family are estimated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Factors {
    /// Percent of what a [`Tally`] counts.
    percents: [i16; KINDS],
    /// The error in English, code, Japanese and Chinese, in percent.
    error: u8,
    /// The error in other languages.
    error_elsewhere: u8,
}

/// Models with the same tokenizer.
#[derive(Debug)]
pub(crate) struct Family {
    /// How the names of its models start; without a vocabulary, a word in them.
    names: &'static [&'static str],
    /// The first version that it has, as major and minor.
    since: Option<(u32, u32)>,
    /// Its vocabulary, if it is public and compiled in.
    pub(crate) vocabulary: Option<BuiltIn>,
    pub(crate) factors: Factors,
}

const fn family(names: &'static [&'static str], factors: Factors) -> Family {
    Family { names, since: None, vocabulary: None, factors }
}

const fn openai(names: &'static [&'static str], vocabulary: BuiltIn, factors: Factors) -> Family {
    Family { names, since: None, vocabulary: Some(vocabulary), factors }
}

const fn estimated(percents: [i16; KINDS], error: u8, error_elsewhere: u8) -> Factors {
    Factors { percents, error, error_elsewhere }
}

/// The same factor for everything that o200k counts.
const fn flat(percent: i16, error: u8) -> Factors {
    let mut percents = [percent; KINDS];
    let mut kind = 0;
    while kind < CHARACTERS.len() {
        percents[CHARACTERS[kind] as usize] = 0;
        kind += 1;
    }
    Factors { percents, error, error_elsewhere: error }
}

/// The first family that matches counts.
static FAMILIES: &[Family] = &[
    openai(&["gpt-5", "gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-oss", "chatgpt-4o"], BuiltIn::O200k, O200K),
    openai(&["o1", "o3", "o4-mini", "codex-mini", "computer-use"], BuiltIn::O200k, O200K),
    openai(&["gpt-realtime", "gpt-audio"], BuiltIn::O200k, O200K),
    openai(&["gpt-4", "gpt-3.5", "gpt-35", "text-embedding"], BuiltIn::Cl100k, CL100K),
    openai(&["davinci-002", "babbage-002"], BuiltIn::Cl100k, CL100K),
    Family { since: Some((4, 7)), ..family(&["claude"], flat(150, 30)) },
    family(&["claude"], flat(120, 30)),
    family(&["distill-qwen"], QWEN),
    family(&["distill-llama"], LLAMA_3),
    family(&["gemini", "gemma"], GEMMA),
    family(&["llama-4", "llama4"], LLAMA_4),
    family(&["llama-2", "llama2", "codellama", "mixtral", "mistral-7b"], LLAMA_2),
    family(&["llama"], LLAMA_3),
    family(&["mistral", "ministral", "codestral", "devstral", "magistral", "pixtral"], TEKKEN),
    family(&["qwen3.5", "qwen3.6", "qwen3.7"], QWEN_3_5),
    family(&["qwen", "qwq"], QWEN),
    family(&["deepseek"], DEEPSEEK),
    family(&["command", "aya"], COMMAND),
    family(&["glm", "chatglm"], GLM),
    family(&["kimi", "moonshot"], KIMI),
];

/// Of a model that is in no family: most families are within this error of o200k.
static UNKNOWN: Family = family(&[], flat(100, 30));

const O200K: Factors = flat(100, 0);
const CL100K: Factors =
    estimated([104, 86, 97, 179, 80, 0, 101, 107, 83, 0, 183, -23, 66, 56, 2, 151, 191], 15, 35);
const GEMMA: Factors =
    estimated([95, 104, 161, 87, 0, 82, 121, 87, 112, 94, 109, -16, 66, 7, -22, 93, 96], 15, 20);
const LLAMA_4: Factors =
    estimated([99, 96, 101, 85, 97, 0, 98, 121, 91, 76, 106, -15, 79, 2, -20, 86, 96], 15, 20);
const LLAMA_3: Factors =
    estimated([105, 91, 97, 111, 100, 0, 95, 93, 102, 71, 100, 5, 67, 18, 4, 105, 112], 15, 20);
const LLAMA_2: Factors =
    estimated([115, 135, 176, 226, 29, 54, 118, 104, 122, 122, 135, 10, 37, 85, -17, 197, 207], 15, 40);
const TEKKEN: Factors =
    estimated([100, 132, 114, 105, 0, 99, 102, 120, 114, 109, 70, 41, 70, 19, -2, 96, 105], 15, 15);
const QWEN_3_5: Factors =
    estimated([97, 89, 102, 92, 0, 94, 122, 100, 113, 199, 79, -4, 74, -3, -18, 87, 98], 15, 15);
const QWEN: Factors =
    estimated([104, 105, 95, 115, 73, 55, 95, 93, 103, 177, 64, 13, 87, -4, 6, 110, 145], 15, 25);
const DEEPSEEK: Factors =
    estimated([100, 129, 127, 151, 99, 0, 111, 58, 90, 142, 75, 1, 89, -2, 2, 112, 116], 15, 15);
const COMMAND: Factors =
    estimated([97, 123, 157, 84, 0, 95, 113, 55, 67, 148, 97, -4, 46, 26, -26, 97, 100], 15, 15);
const GLM: Factors =
    estimated([102, 103, 96, 111, 110, 0, 97, 93, 112, 168, 79, -1, 102, -9, 4, 133, 113], 15, 20);
const KIMI: Factors =
    estimated([104, 107, 92, 220, 96, 0, 93, 102, 120, 188, 78, -4, 118, -17, -1, 132, 148], 15, 20);

/// The family of the model `name`.
pub(crate) fn find_family(name: &str) -> &'static Family {
    let name = name.to_ascii_lowercase();
    FAMILIES.iter().find(|family| family.has_model(&name)).unwrap_or(&UNKNOWN)
}

impl Family {
    fn has_model(&self, name: &str) -> bool {
        let mut names = self.names.iter();
        match self.vocabulary {
            // An exact count needs the model itself: a name that only contains it may be a model of others.
            Some(_) => names.any(|start| starts_with_word(own_name(name), start)),
            None => names.any(|word| {
                let rest = find_word(name, word);
                rest.is_some_and(|rest| self.since.is_none_or(|since| is_since(rest, since)))
            }),
        }
    }
}

/// The name of a model without provider, `ft:` and the like.
fn own_name(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    ["ft:", "openai."].iter().fold(name, |name, start| name.strip_prefix(start).unwrap_or(name))
}

fn starts_with_word(name: &str, start: &str) -> bool {
    let rest = name.strip_prefix(start);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
}

/// What follows `word` in a name; a letter or digit before it makes it a part of another word.
fn find_word<'n>(name: &'n str, word: &str) -> Option<&'n str> {
    let is_start = |at: usize| !name[..at].ends_with(|before: char| before.is_ascii_alphanumeric());
    name.match_indices(word).find(|(at, _)| is_start(*at)).map(|(at, word)| &name[at + word.len()..])
}

/// Whether the first version in `text` is at least `since`; a name without a version means the newest.
fn is_since(text: &str, since: (u32, u32)) -> bool {
    // Longer numbers are dates.
    let numbers = text.split(|sign: char| !sign.is_ascii_digit()).filter(|number| !number.is_empty());
    let mut numbers = numbers.map(|number| number.parse().ok().filter(|number| *number < 100));
    match numbers.next() {
        Some(Some(major)) => (major, numbers.next().flatten().unwrap_or(0)) >= since,
        _ => true,
    }
}

impl Factors {
    /// The estimated tokens of a text.
    pub(crate) fn estimate_tokens(&self, tally: &Tally) -> TokenCount {
        let parts = self.percents.iter().zip(tally.0);
        let sum: i128 = parts.map(|(percent, count)| i128::from(*percent) * i128::from(count)).sum();
        let tokens = usize::try_from((sum + 50) / 100).unwrap_or_default();
        let elsewhere: u64 =
            [Kind::Accented, Kind::Hangul, Kind::Other].iter().map(|kind| tally.0[*kind as usize]).sum();
        let is_elsewhere = elsewhere * 4 > tally.tokens();
        TokenCount::estimate(tokens, if is_elsewhere { self.error_elsewhere } else { self.error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(name: &str) -> Option<BuiltIn> {
        find_family(name).vocabulary
    }

    #[test]
    fn every_spelling_of_an_openai_model_finds_its_vocabulary() {
        for name in [
            "gpt-4o",
            "openai/gpt-4o",
            "azure/gpt-4.1-mini",
            "openrouter/openai/gpt-5",
            "gpt-5.6-mini-2026-05-01",
            "GPT-5",
            "o3",
            "o1-preview",
            "o4-mini-2025-04-16",
            "ft:gpt-4o:acme:claude-like:id",
            "chatgpt-4o-latest",
            "gpt-oss-120b",
            "openai.gpt-oss-20b-1:0",
            "gpt-oss:20b",
        ] {
            assert_eq!(vocabulary(name), Some(BuiltIn::O200k), "{name}");
        }
        for name in
            ["gpt-4", "gpt-4-turbo", "gpt-3.5-turbo-0125", "azure/gpt-35-turbo", "text-embedding-3-small"]
        {
            assert_eq!(vocabulary(name), Some(BuiltIn::Cl100k), "{name}");
        }
    }

    #[test]
    fn models_of_others_are_never_counted_exactly() {
        for name in
            ["", "o4", "o10", "gpt-6", "gpt-4x", "my-gpt-4o", "acme/gpt-5-like-model-of-llama/x", "claude-o3"]
        {
            assert_eq!(vocabulary(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_finds_its_family_wherever_it_stands() {
        let pairs = [
            ("gemini-2.5-pro", "models/gemma-3n"),
            ("ollama/llama3.2:3b", "meta-llama/Llama-3.3-70B-Instruct"),
            ("deepseek-r1-distill-llama-70b", "groq/llama-3"),
            ("deepseek-r1-distill-qwen-32b", "qwen/qwq-32b"),
            ("mistral-large-latest", "codestral"),
            ("kimi-k2", "moonshot-v1-8k"),
            ("anthropic.claude-3-haiku-20240307-v1:0", "claude-opus-4-20250514"),
            ("claude-opus-4-8", "claude-fable-5@20270101"),
        ];
        for (one, other) in pairs {
            assert_eq!(find_family(one).factors, find_family(other).factors, "{one} {other}");
            assert!(!find_family(one).names.is_empty(), "{one}");
        }
        assert_ne!(find_family("claude-opus-4-6").factors, find_family("claude-opus-4-7").factors);
        assert_ne!(find_family("llama-4-scout").factors, find_family("llama-3.1").factors);
        // `llama` is a part of another word here.
        assert!(find_family("ollama/some-model").names.is_empty());
    }
}
