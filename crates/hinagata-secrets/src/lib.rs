//! Detects files that should not leave the machine, by name and by content.
//!
//! The rules are in `secrets.toml`. One pass over a file searches for the keywords of all rules; only rules whose
//! keyword was found are tried, so a file without keywords is scanned at several bytes per nanosecond.
//!
//! ```
//! use hinagata_secrets::Secrets;
//!
//! let rules = Secrets::built_in();
//! assert_eq!(rules.in_name("conf/.env"), Some("environment-file"));
//! assert_eq!(rules.in_name("conf/.env.example"), None);
//! let key = b"-----BEGIN PRIVATE KEY-----\nePpX6N1NF2XV54wca+7E56w8ZniqT3Ul4ffqkOkgWrdioyq+KvCiSGuPJ6sG9AHE";
//! assert_eq!(rules.in_content(key), Some("private-key"));
//! ```

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

/// The built-in rules.
static RULES: LazyLock<Secrets> = LazyLock::new(|| {
    Secrets::parse_rules(include_str!("secrets.toml")).expect("a test parses the built-in rules")
});

/// Rules that detect secrets.
#[derive(Debug)]
pub struct Secrets {
    contents: Vec<(String, Regex)>,
    keywords: AhoCorasick,
    /// The rules to try for each keyword.
    rules_by_keyword: Vec<Vec<usize>>,
    names: Vec<NameRule>,
    /// All of `names` in one rule: most files match none, so one test is enough for them.
    any_name: NameRule,
}

#[derive(Debug)]
struct NameRule {
    name: String,
    files: GlobSet,
    paths: GlobSet,
    unless: GlobSet,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    content: Vec<Content>,
    name: Vec<Name>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    name: String,
    keywords: Vec<String>,
    pattern: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test uses the examples"))]
    matches: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test uses the examples"))]
    misses: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
    files: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test uses the examples"))]
    matches: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test uses the examples"))]
    misses: Vec<String>,
}

impl Secrets {
    /// The built-in rules.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &RULES
    }

    fn parse_rules(text: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let file: File = toml::from_str(text)?;
        let contents =
            file.content.iter().map(|rule| Ok((rule.name.clone(), compile_pattern(&rule.pattern)?)));
        let contents = contents.collect::<Result<_, regex::Error>>()?;
        let (keywords, rules_by_keyword) = collect_keywords(&file.content);
        let keywords = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(keywords)?;
        let names = file.name.iter().map(|rule| NameRule::new(&rule.name, &rule.files, &rule.unless));
        let names = names.collect::<Result<_, _>>()?;
        let all: Vec<String> = file.name.iter().flat_map(|rule| rule.files.clone()).collect();
        let any_name = NameRule::new("any", &all, &[])?;
        Ok(Self { contents, keywords, rules_by_keyword, names, any_name })
    }

    /// The name of the first rule that finds a secret in `content`.
    #[must_use]
    pub fn in_content(&self, content: &[u8]) -> Option<&str> {
        let mut tried = Vec::new();
        let mut from = 0;
        // Keywords may overlap, so the search continues one byte after the start of a match.
        while let Some(found) =
            self.keywords.find(aho_corasick::Input::new(content).span(from..content.len()))
        {
            from = found.start() + 1;
            for &rule in &self.rules_by_keyword[found.pattern().as_usize()] {
                if tried.contains(&rule) {
                    continue;
                }
                let (name, pattern) = &self.contents[rule];
                if pattern.is_match(content) {
                    return Some(name);
                }
                tried.push(rule);
            }
        }
        None
    }

    /// The name of the first rule by which a file at `path` contains secrets; `/` separates the parts of the path.
    #[must_use]
    pub fn in_name(&self, path: &str) -> Option<&str> {
        let name = path.rsplit('/').next().unwrap_or_default();
        if !self.any_name.is_match(path, name) {
            return None;
        }
        self.names.iter().find(|rule| rule.is_match(path, name)).map(|rule| rule.name.as_str())
    }
}

impl NameRule {
    fn new(name: &str, files: &[String], unless: &[String]) -> Result<Self, globset::Error> {
        let (paths, files): (Vec<&String>, Vec<&String>) = files.iter().partition(|file| file.contains('/'));
        Ok(Self {
            name: name.to_owned(),
            files: compile_globs(files)?,
            paths: compile_globs(paths)?,
            unless: compile_globs(unless)?,
        })
    }

    fn is_match(&self, path: &str, name: &str) -> bool {
        (self.files.is_match(name) || self.paths.is_match(path)) && !self.unless.is_match(name)
    }
}

/// A set of patterns whose wildcards do not match `/`.
fn compile_globs<'p>(patterns: impl IntoIterator<Item = &'p String>) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
    }
    set.build()
}

/// A pattern over bytes, because files are searched before they are decoded.
fn compile_pattern(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).unicode(false).build()
}

/// The keywords of all rules, without those that start with another one, and the rules to try for each.
fn collect_keywords(rules: &[Content]) -> (Vec<&str>, Vec<Vec<usize>>) {
    let mut shortest: Vec<&str> = Vec::new();
    for rule in rules {
        for word in &rule.keywords {
            if !shortest.iter().any(|known| word.starts_with(known)) {
                shortest.retain(|known| !known.starts_with(word.as_str()));
                shortest.push(word);
            }
        }
    }
    let rules_by_keyword = |keyword: &&str| {
        let has = |rule: &Content| rule.keywords.iter().any(|word| word.starts_with(keyword));
        rules.iter().enumerate().filter(|(_, rule)| has(rule)).map(|(place, _)| place).collect()
    };
    let rules_by_keyword = shortest.iter().map(rules_by_keyword).collect();
    (shortest, rules_by_keyword)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn file() -> File {
        toml::from_str(include_str!("secrets.toml")).expect("the built-in rules are TOML")
    }

    #[test]
    fn every_rule_finds_its_examples_and_leaves_the_others_alone() {
        let file = file();
        assert!(file.content.len() >= 25, "{}", file.content.len());
        for rule in &file.content {
            assert!(!rule.matches.is_empty() && !rule.misses.is_empty(), "{}", rule.name);
            for example in &rule.matches {
                let text = format!("before\n{example}\nbehind");
                assert_eq!(RULES.in_content(text.as_bytes()), Some(rule.name.as_str()), "{example}");
            }
            for example in &rule.misses {
                assert_eq!(RULES.in_content(example.as_bytes()), None, "{} {example}", rule.name);
            }
        }
    }

    #[test]
    fn names_of_files_with_secrets_are_known() {
        for rule in &file().name {
            assert!(!rule.matches.is_empty() && !rule.misses.is_empty(), "{}", rule.name);
            for example in &rule.matches {
                assert_eq!(RULES.in_name(example), Some(rule.name.as_str()), "{example}");
            }
            for example in &rule.misses {
                assert_eq!(RULES.in_name(example), None, "{} {example}", rule.name);
            }
        }
    }

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let file = file();
        let names = file.content.iter().map(|rule| &rule.name).chain(file.name.iter().map(|rule| &rule.name));
        let mut seen = HashSet::new();
        for name in names {
            assert!(seen.insert(name.clone()), "{name}");
        }
    }

    #[test]
    fn a_keyword_inside_of_another_one_is_found() {
        let example = &file().content.iter().find(|rule| rule.name == "npm-token").expect("is there").matches
            [0]
        .clone();
        assert_eq!(RULES.in_content(format!("key-{example}").as_bytes()), Some("npm-token"));
        let hidden = format!("-----BEGIN {example}");
        assert_eq!(RULES.in_content(hidden.as_bytes()), Some("npm-token"));
    }

    #[test]
    fn bytes_that_are_not_text_are_searched_too() {
        let example = &file().content[0].matches[0];
        let bytes = [b"\xff\xfe\n".as_slice(), example.as_bytes(), b"\n\xff"].concat();
        assert_eq!(RULES.in_content(&bytes), Some(file().content[0].name.as_str()));
        assert_eq!(RULES.in_content(b""), None);
    }
}
