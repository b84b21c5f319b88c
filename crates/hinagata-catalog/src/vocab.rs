//! Aliases of prompts, of tools and of words in any other namespace.

use std::collections::{BTreeMap, HashSet};

use hinagata_document::{Diagnostic, Error, Place, Reason, json};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use crate::id::normal_form;

/// Most steps from an alias to its target.
const STEPS: usize = 10;

/// Largest vocabulary file, in bytes.
pub(crate) const LARGEST: u64 = 1 << 20;

/// All words of a workspace. The first file wins: the user's, then those of packs, then the built-in one.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    entries: BTreeMap<Key, Entry>,
    preferred: BTreeMap<Key, String>,
}

/// The namespace and one form of a word: its spelling in lower case, or its normal form.
type Key = (String, String);

#[derive(Clone, Debug)]
struct Entry {
    target: String,
    origin: usize,
    /// The spelling of the alias, and its place; none for built-in words.
    written: Option<(String, Place)>,
}

/// An alias as a file writes it.
#[derive(Clone, Copy, Debug)]
pub struct Alias<'v> {
    /// Its namespace.
    pub namespace: &'v str,
    /// The alias.
    pub word: &'v str,
    /// What it stands for.
    pub target: &'v str,
    /// Where it is written.
    pub place: &'v Place,
}

impl Vocabulary {
    /// Adds a JSON file, `{"prompt.name": ["prompt.alias"]}`. Words that are already known win.
    ///
    /// Invalid parts are reported and ignored.
    pub fn add_json(&mut self, file: &str, text: &str) -> Vec<Diagnostic> {
        let node = match json::parse(file, text) {
            Ok(node) => node,
            Err(error) => return vec![Diagnostic::error(file, error)],
        };
        let mut found = Vec::new();
        let Some(map) = node.as_map() else {
            let error = Error::definition(
                Reason::Type,
                format!("a vocabulary must be an object of lists, not {}", node.kind()),
            )
            .with_hint("write {\"prompt.name\": [\"prompt.alias\"]}")
            .at(Place::at_line(file, text, node.at.line, node.at.column));
            return vec![Diagnostic::error(file, error)];
        };
        let origin = self.next_origin();
        for (word, aliases) in map {
            let listed: Option<Vec<String>> = match aliases.to_value() {
                Value::String(alias) => Some(vec![alias]),
                Value::Array(items) => {
                    items.into_iter().map(|item| item.as_str().map(str::to_owned)).collect()
                }
                _ => None,
            };
            let at = Place::at_line(file, text, aliases.at.line, aliases.at.column);
            match listed {
                Some(aliases) => self.add_group(file, &at, origin, word, &aliases, &mut found),
                None => found.push(Diagnostic::error(
                    file,
                    Error::definition(
                        Reason::Type,
                        format!("the aliases of `{word}` must be a list of words"),
                    )
                    .at(at),
                )),
            }
        }
        found
    }

    /// Adds a text file: one group of synonyms per line, the preferred word first. Words that are already known win.
    ///
    /// Words are separated by commas, or by white space where there is no comma; `#` starts a comment.
    pub fn add_text(&mut self, file: &str, text: &str) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let origin = self.next_origin();
        for (index, line) in text.lines().enumerate() {
            let line_text = line.split('#').next().unwrap_or_default().trim();
            let words: Vec<&str> = match line_text.contains(',') {
                true => line_text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
                false => line_text.split_whitespace().collect(),
            };
            let Some((first, rest)) = words.split_first() else { continue };
            let namespace = first.split_once('.').map(|(namespace, _)| namespace);
            // A word without a namespace has that of the first one.
            let aliases: Vec<String> = rest
                .iter()
                .map(|word| match namespace {
                    Some(namespace) if !word.contains('.') => format!("{namespace}.{word}"),
                    _ => (*word).to_owned(),
                })
                .collect();
            let at = Place::at_line(file, text, u32::try_from(index + 1).unwrap_or(u32::MAX), 1);
            self.add_group(file, &at, origin, first, &aliases, &mut found);
        }
        found
    }

    /// Adds the words of `text` that are still unknown: built-in words never override others.
    pub(crate) fn add_unknown(&mut self, file: &str, text: &str) -> Vec<Diagnostic> {
        let mut more = Self::default();
        let found = more.add_json(file, text);
        let origin = self.next_origin();
        for (key, entry) in more.entries {
            if !self.entries.contains_key(&key) && !self.preferred.contains_key(&key) {
                self.entries.insert(key, Entry { origin, written: None, ..entry });
            }
        }
        for (key, word) in more.preferred {
            self.preferred.entry(key).or_insert(word);
        }
        found
    }

    fn next_origin(&self) -> usize {
        self.entries.values().map(|entry| entry.origin + 1).max().unwrap_or(0)
    }

    fn add_group(
        &mut self,
        file: &str,
        at: &Place,
        origin: usize,
        preferred: &str,
        aliases: &[String],
        found: &mut Vec<Diagnostic>,
    ) {
        let problem = |message: String| {
            let error = Error::definition(Reason::Vocabulary, message).at(at.clone());
            Diagnostic::warning(
                file,
                error.with_hint("write words as `namespace.word`, such as `prompt.name`"),
            )
        };
        let Some((namespace, word)) = split(preferred) else {
            found.push(problem(format!("`{preferred}` has no namespace")));
            return;
        };
        for key in keys(namespace, word) {
            self.preferred.entry(key).or_insert_with(|| word.to_owned());
        }
        for alias in aliases {
            let Some((alias_namespace, alias_word)) = split(alias) else {
                found.push(problem(format!("`{alias}` has no namespace")));
                continue;
            };
            if alias_namespace != namespace {
                found.push(problem(format!("`{alias}` and `{preferred}` have different namespaces")));
                continue;
            }
            if !self.add_alias(namespace, alias_word, word, (origin, at)) {
                found.push(problem(format!("`{alias}` is an alias of several words; the first one is used")));
            }
        }
    }

    /// Adds an alias unless it is known; returns false when the same file gave it another target.
    fn add_alias(
        &mut self,
        namespace: &str,
        alias: &str,
        target: &str,
        (origin, at): (usize, &Place),
    ) -> bool {
        let mut ambiguous = false;
        for key in keys(namespace, alias) {
            // A spelling of the word itself is not an alias.
            if keys(namespace, target).contains(&key) {
                continue;
            }
            match self.entries.get(&key) {
                None => {
                    let written = Some((alias.to_owned(), at.clone()));
                    self.entries.insert(key, Entry { target: target.to_owned(), origin, written });
                }
                Some(known) => {
                    ambiguous |= known.origin == origin && normal(&known.target) != normal(target);
                }
            }
        }
        !ambiguous
    }

    /// The first target of `word` that `exists` accepts, after at most ten steps and without cycles.
    ///
    /// `exists` is not called for `word` itself.
    pub fn follow_aliases(
        &self,
        namespace: &str,
        word: &str,
        mut exists: impl FnMut(&str) -> bool,
    ) -> Option<&str> {
        let mut seen = HashSet::from([normal(word)]);
        let mut current = word;
        for _ in 0..STEPS {
            let next = self.step(namespace, current)?;
            if exists(next) {
                return Some(next);
            }
            if !seen.insert(normal(next)) {
                return None;
            }
            current = next;
        }
        None
    }

    /// The preferred word for `word`; `None` for an unknown word, and in a cycle.
    #[must_use]
    pub fn preferred_word(&self, namespace: &str, word: &str) -> Option<&str> {
        let end = self.follow_aliases(namespace, word, |next| self.step(namespace, next).is_none());
        end.or_else(|| match self.step(namespace, word) {
            Some(_) => None,
            None => keys(namespace, word).iter().find_map(|key| self.preferred.get(key)).map(String::as_str),
        })
    }

    /// The aliases of the files of the workspace and of its packs, in order. One that has several spellings occurs once.
    pub fn aliases(&self) -> impl Iterator<Item = Alias<'_>> {
        self.entries.iter().filter_map(|((namespace, key), entry)| {
            let (word, place) = entry.written.as_ref()?;
            let is_first = keys(namespace, word).iter().map(|(_, key)| key).min() == Some(key);
            is_first.then_some(Alias { namespace, word, target: &entry.target, place })
        })
    }

    /// The namespaces that have words, in order.
    #[must_use]
    pub fn namespaces(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.entries.keys().chain(self.preferred.keys()).map(|key| key.0.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Every word of `namespace` that has an alias or is one, in order.
    #[must_use]
    pub fn words_in(&self, namespace: &str) -> Vec<&str> {
        let of = |key: &&Key| key.0 == namespace;
        let mut words: Vec<&str> =
            self.entries.keys().chain(self.preferred.keys()).filter(of).map(|key| key.1.as_str()).collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    /// The first word of [`Self::words_in`] that is not less than `from`, without a walk through the others.
    pub(crate) fn next_word(&self, namespace: &str, from: &str) -> Option<&str> {
        let start: Key = (namespace.to_owned(), from.to_owned());
        let alias = self.entries.range(&start..).next().map(|(key, _)| key);
        let preferred = self.preferred.range(&start..).next().map(|(key, _)| key);
        let word = alias.into_iter().chain(preferred).min()?;
        (word.0 == namespace).then_some(word.1.as_str())
    }

    fn step(&self, namespace: &str, word: &str) -> Option<&str> {
        keys(namespace, word).iter().find_map(|key| self.entries.get(key)).map(|entry| entry.target.as_str())
    }
}

fn split(word: &str) -> Option<(&str, &str)> {
    let (namespace, rest) = word.trim().split_once('.')?;
    (!namespace.is_empty() && !rest.is_empty()).then_some((namespace, rest))
}

/// The keys of a word: a word is found in any case, and by its normal form.
fn keys(namespace: &str, word: &str) -> [Key; 2] {
    let lower = word.trim().nfc().flat_map(char::to_lowercase).nfc().collect();
    [(namespace.to_owned(), lower), (namespace.to_owned(), normal(word))]
}

/// The normal form of each segment.
fn normal(word: &str) -> String {
    word.split('.').map(normal_form).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        let mut vocabulary = Vocabulary::default();
        let found = vocabulary.add_json(
            "vocab.json",
            r#"{"prompt.c": ["prompt.b", "prompt.SystemPrompt"], "prompt.b": ["prompt.a"],
                "prompt.one": ["prompt.two"], "prompt.two": ["prompt.one"],
                "tool.file_read": ["tool.fileRead", "tool.read_file"], "api.finish_reason": "api.stop_reason"}"#,
        );
        assert!(found.is_empty(), "{found:?}");
        vocabulary
    }

    #[test]
    fn aliases_are_followed_until_something_exists() {
        let vocabulary = vocabulary();
        assert_eq!(vocabulary.follow_aliases("prompt", "a", |word| word == "c"), Some("c"));
        assert_eq!(vocabulary.follow_aliases("prompt", "a", |word| word == "b"), Some("b"));
        assert_eq!(vocabulary.follow_aliases("prompt", "one", |_| false), None);
        assert_eq!(vocabulary.follow_aliases("prompt", "zzz", |_| true), None);
    }

    #[test]
    fn aliases_match_in_any_case_and_in_normal_form() {
        let vocabulary = vocabulary();
        for spelling in ["SystemPrompt", "systemprompt", "SYSTEMPROMPT", "system-prompt", "System Prompt"] {
            assert_eq!(
                vocabulary.follow_aliases("prompt", spelling, |word| word == "c"),
                Some("c"),
                "{spelling}"
            );
        }
    }

    #[test]
    fn other_namespaces_have_preferred_words() {
        let vocabulary = vocabulary();
        assert_eq!(vocabulary.preferred_word("tool", "readFile"), Some("file_read"));
        assert_eq!(vocabulary.preferred_word("tool", "FILE_READ"), Some("file_read"));
        assert_eq!(vocabulary.preferred_word("api", "stop_reason"), Some("finish_reason"));
        assert_eq!(vocabulary.preferred_word("prompt", "a"), Some("c"));
        assert_eq!(vocabulary.preferred_word("prompt", "one"), None);
        assert_eq!(vocabulary.preferred_word("tool", "unknown"), None);
    }

    #[test]
    fn chains_have_at_most_ten_steps() {
        let lines: String = (0..12).map(|n| format!("prompt.w{}, prompt.w{n}\n", n + 1)).collect();
        let mut vocabulary = Vocabulary::default();
        vocabulary.add_text("vocab.txt", &lines);
        assert_eq!(vocabulary.follow_aliases("prompt", "w0", |word| word == "w10"), Some("w10"));
        assert_eq!(vocabulary.follow_aliases("prompt", "w0", |word| word == "w11"), None);
    }

    #[test]
    fn the_first_file_wins() {
        let mut vocabulary = Vocabulary::default();
        vocabulary.add_json("user", r#"{"prompt.mine": ["prompt.x"]}"#);
        assert!(vocabulary.add_text("pack", "prompt.theirs, prompt.x, y").is_empty());
        assert_eq!(vocabulary.preferred_word("prompt", "x"), Some("mine"));
        assert_eq!(vocabulary.preferred_word("prompt", "y"), Some("theirs"));
    }

    #[test]
    fn broken_parts_are_reported_and_the_rest_is_used() {
        let mut vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.add_json("a.json", "{nonsense").len(), 1);
        assert_eq!(vocabulary.add_json("b.json", "[1]").len(), 1);
        let found = vocabulary.add_json(
            "c.json",
            r#"{"bare": ["prompt.a"], "prompt.x": [1], "prompt.y": ["tool.z", "prompt.q"]}"#,
        );
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(vocabulary.preferred_word("prompt", "q"), Some("y"));
    }
}
