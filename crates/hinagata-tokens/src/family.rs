//! Which tokenizer a model has: the one table of names, vocabularies and factors.
//!
//! Factors are percent of the tokens of o200k, by kind of piece in the order of [`Kind`](crate::tally::Kind). They were
//! fitted to the real tokenizers of the families in November 2026; `measure/README.md` says how. Claude's tokenizers are
//! not public: its two factors are what Anthropic and others published in April 2026.

use crate::{
    TokenCount,
    tally::{KINDS, Kind, Tally},
};

/// A vocabulary that can be compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vocabulary {
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
    pub(crate) vocabulary: Option<Vocabulary>,
    pub(crate) factors: Factors,
}

const fn family(names: &'static [&'static str], factors: Factors) -> Family {
    Family { names, since: None, vocabulary: None, factors }
}

const fn openai(names: &'static [&'static str], vocabulary: Vocabulary, factors: Factors) -> Family {
    Family { names, since: None, vocabulary: Some(vocabulary), factors }
}

const fn estimated(percents: [i16; KINDS], error: u8, error_elsewhere: u8) -> Factors {
    Factors { percents, error, error_elsewhere }
}

/// The same factor for everything that o200k counts.
const fn flat(percent: i16, error: u8) -> Factors {
    let mut percents = [percent; KINDS];
    percents[Kind::Digit as usize] = 0;
    percents[Kind::HanCharacter as usize] = 0;
    percents[Kind::KanaCharacter as usize] = 0;
    Factors { percents, error, error_elsewhere: error }
}

/// The first family that matches counts.
static FAMILIES: &[Family] = &[
    openai(&["gpt-5", "gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-oss", "chatgpt-4o"], Vocabulary::O200k, O200K),
    openai(&["o1", "o3", "o4-mini", "codex-mini", "computer-use"], Vocabulary::O200k, O200K),
    openai(&["gpt-realtime", "gpt-audio"], Vocabulary::O200k, O200K),
    openai(&["gpt-4", "gpt-3.5", "gpt-35", "text-embedding"], Vocabulary::Cl100k, CL100K),
    openai(&["davinci-002", "babbage-002"], Vocabulary::Cl100k, CL100K),
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
const CL100K: Factors = estimated([103, 92, 95, 180, 95, 0, 98, 103, 98, 172, -24, 91, 34, 148, 211], 10, 40);
const GEMMA: Factors = estimated([96, 104, 161, 85, 0, 81, 124, 94, 105, 109, -17, 55, 8, 93, 96], 15, 20);
const LLAMA_4: Factors = estimated([99, 101, 101, 84, 94, 0, 98, 122, 94, 103, -14, 54, 14, 86, 96], 15, 20);
const LLAMA_3: Factors = estimated([105, 88, 96, 109, 103, 0, 96, 94, 101, 94, 7, 54, 27, 105, 112], 15, 20);
const LLAMA_2: Factors =
    estimated([115, 131, 174, 223, 32, 50, 124, 130, 111, 134, 9, 79, 49, 196, 207], 15, 40);
const TEKKEN: Factors =
    estimated([101, 131, 114, 105, 6, 97, 101, 123, 113, 77, 34, 53, 29, 96, 105], 15, 20);
const QWEN_3_5: Factors = estimated([97, 91, 101, 90, 0, 92, 124, 88, 121, 89, -3, 36, 22, 86, 98], 15, 25);
const QWEN: Factors = estimated([104, 106, 96, 112, 66, 58, 96, 80, 105, 81, 9, 28, 42, 110, 145], 15, 25);
const DEEPSEEK: Factors =
    estimated([100, 133, 126, 152, 74, 9, 113, 75, 94, 73, 7, 28, 43, 112, 115], 15, 20);
const COMMAND: Factors = estimated([99, 126, 157, 81, 0, 95, 111, 50, 65, 102, -5, 36, 27, 97, 100], 15, 20);
const GLM: Factors = estimated([102, 96, 96, 111, 101, 5, 99, 93, 105, 100, -10, 54, 28, 133, 113], 15, 20);
const KIMI: Factors = estimated([104, 111, 91, 215, 96, 0, 94, 90, 116, 96, -9, 77, 16, 132, 148], 15, 25);

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
