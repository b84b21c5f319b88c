//! The rules: built-in ones from `secrets.toml`, and those of one's own.

use std::sync::{Arc, LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::{
    allow::{Allowance, Allowances},
    keywords::Keywords,
    names::{NameEntry, NameRules},
    own::{OwnRule, RuleProblem},
    value::NameKind,
};

/// The built-in rules.
static BUILT_IN: LazyLock<Secrets> = LazyLock::new(|| {
    Secrets::parse_rules(include_str!("secrets.toml")).expect("a test parses the built-in rules")
});

/// Rules that detect secrets, and exceptions from them.
#[derive(Debug)]
pub struct Secrets {
    pub(crate) contents: Vec<Arc<ContentRule>>,
    pub(crate) keywords: Arc<KeywordIndex>,
    pub(crate) names: Arc<NameRules>,
    pub(crate) allowances: Allowances,
}

/// A rule for contents.
#[derive(Debug)]
pub(crate) struct ContentRule {
    pub(crate) name: Box<str>,
    keywords: Vec<String>,
    pub(crate) finder: Finder,
}

/// How a rule finds secrets.
#[derive(Debug)]
pub(crate) enum Finder {
    /// By a pattern.
    Pattern(PatternRule),
    /// By a pattern of one's own.
    Own(Regex),
    /// By the name that a value is assigned to.
    Assignment { kind: NameKind, unless: Vec<String> },
    /// In addresses.
    Url,
    /// In Kubernetes secrets.
    Kubernetes,
}

/// A built-in pattern.
#[derive(Debug)]
pub(crate) struct PatternRule {
    text: String,
    /// Compiled when a keyword is found for the first time: few texts need more than a few of the patterns.
    compiled: OnceLock<Regex>,
    /// What a value must look like; `None` if the pattern says enough.
    pub(crate) kind: Option<NameKind>,
}

impl PatternRule {
    pub(crate) fn regex(&self) -> &Regex {
        self.compiled
            .get_or_init(|| compile_pattern(&self.text).expect("a test compiles the built-in patterns"))
    }
}

/// A pattern over bytes, because files are searched before they are decoded.
fn compile_pattern(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).unicode(false).build()
}

/// The pattern of a rule whose name no built-in rule has.
fn compile_rule(rule: &OwnRule) -> Result<Regex, RuleProblem> {
    let pattern = rule.compile()?;
    match Secrets::built_in().rule_names().any(|name| name == rule.name) {
        true => Err(RuleProblem::new("name", "is the name of a built-in rule")),
        false => Ok(pattern),
    }
}

/// The keywords of all rules.
#[derive(Debug)]
pub(crate) struct KeywordIndex {
    pub(crate) words: Keywords,
    /// Each keyword's length and the rules to try for it.
    pub(crate) rules_by_word: Vec<(usize, Vec<usize>)>,
    /// Rules without keywords.
    pub(crate) always: Vec<usize>,
}

impl KeywordIndex {
    fn new(rules: &[Arc<ContentRule>]) -> Result<Self, aho_corasick::BuildError> {
        let mut words: Vec<String> =
            rules.iter().flat_map(|rule| &rule.keywords).map(|word| word.to_ascii_lowercase()).collect();
        words.sort_unstable();
        words.dedup();
        let has_word =
            |rule: &ContentRule, word: &str| rule.keywords.iter().any(|own| own.eq_ignore_ascii_case(word));
        let select = |test: &dyn Fn(&ContentRule) -> bool| {
            rules
                .iter()
                .enumerate()
                .filter(|(_, rule)| test(rule))
                .map(|(place, _)| place)
                .collect::<Vec<_>>()
        };
        let rules_by_word =
            words.iter().map(|word| (word.len(), select(&|rule| has_word(rule, word)))).collect();
        Ok(Self {
            words: Keywords::new(&words)?,
            rules_by_word,
            always: select(&|rule| rule.keywords.is_empty()),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    content: Vec<ContentEntry>,
    name: Vec<NameEntry>,
}

/// A rule for contents, as `secrets.toml` has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContentEntry {
    name: String,
    keywords: Vec<String>,
    pattern: Option<String>,
    detector: Option<Detector>,
    names: Option<NameKind>,
    #[serde(default)]
    unless: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test uses the examples"))]
    matches: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test uses the examples"))]
    misses: Vec<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Detector {
    Assignment,
    Url,
    Kubernetes,
}

impl ContentEntry {
    fn into_rule(self) -> Result<Arc<ContentRule>, String> {
        let Self { name, keywords, pattern, detector, names, unless, .. } = self;
        let finder = match (pattern, detector, names) {
            (Some(text), None, kind) => {
                Finder::Pattern(PatternRule { text, compiled: OnceLock::new(), kind })
            }
            (None, Some(Detector::Assignment), Some(kind)) => Finder::Assignment { kind, unless },
            (None, Some(Detector::Url), None) => Finder::Url,
            (None, Some(Detector::Kubernetes), None) => Finder::Kubernetes,
            _ => return Err(format!("the rule `{name}` needs a pattern or a detector")),
        };
        Ok(Arc::new(ContentRule { name: name.into(), keywords, finder }))
    }
}

impl Secrets {
    /// The built-in rules.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    fn parse_rules(text: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let file: RuleFile = toml::from_str(text)?;
        let contents =
            file.content.into_iter().map(ContentEntry::into_rule).collect::<Result<Vec<_>, _>>()?;
        let keywords = Arc::new(KeywordIndex::new(&contents)?);
        let names = Arc::new(NameRules::new(&file.name)?);
        Ok(Self { contents, keywords, names, allowances: Allowances::default() })
    }

    /// Checks a rule.
    ///
    /// # Errors
    /// The first problem.
    pub fn check_rule(rule: &OwnRule) -> Result<(), RuleProblem> {
        compile_rule(rule).map(drop)
    }

    /// The built-in rules and `rules`.
    ///
    /// # Errors
    /// The number of the first invalid rule, counted from 0, and its problem.
    pub fn with_rules(rules: &[OwnRule]) -> Result<Self, (usize, RuleProblem)> {
        let built_in = Self::built_in();
        let mut contents = built_in.contents.clone();
        for (place, rule) in rules.iter().enumerate() {
            let pattern = compile_rule(rule).map_err(|problem| (place, problem))?;
            contents.push(Arc::new(ContentRule {
                name: rule.name.as_str().into(),
                keywords: rule.keywords.clone(),
                finder: Finder::Own(pattern),
            }));
        }
        let keywords = match rules {
            [] => built_in.keywords.clone(),
            _ => {
                let index = KeywordIndex::new(&contents);
                Arc::new(index.expect("the number and the length of keywords are limited"))
            }
        };
        Ok(Self { contents, keywords, names: built_in.names.clone(), allowances: Allowances::default() })
    }

    /// Exempts `allowed`; `comments` says whether `hina:allow-secret` in a line counts.
    #[must_use]
    pub fn with_allowances(mut self, allowed: Vec<Allowance>, comments: bool) -> Self {
        self.allowances = Allowances { list: allowed, comments };
        self
    }

    /// The names of all rules.
    pub fn rule_names(&self) -> impl Iterator<Item = &str> {
        self.contents.iter().map(|rule| &*rule.name).chain(self.names.rule_names())
    }

    /// The name of the first rule by which a file at `path` contains secrets; `/` separates the parts of the path.
    #[must_use]
    pub fn in_name(&self, path: &str) -> Option<&str> {
        let rule = self.names.matching(path).find(|rule| !self.allowances.is_rule_allowed(path, rule))?;
        self.names.rule_names().find(|name| *name == rule)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn file() -> RuleFile {
        toml::from_str(include_str!("secrets.toml")).expect("the built-in rules are TOML")
    }

    fn examples_of(name: &str) -> Vec<String> {
        file().content.into_iter().find(|rule| rule.name == name).expect("is there").matches
    }

    #[test]
    fn every_rule_finds_its_examples_and_leaves_the_others_alone() {
        let file = file();
        assert!(file.content.len() >= 25, "{}", file.content.len());
        for rule in &file.content {
            assert!(!rule.matches.is_empty() && !rule.misses.is_empty(), "{}", rule.name);
            for example in &rule.matches {
                let text = format!("before\n{example}\nbehind");
                assert_eq!(BUILT_IN.in_content(text.as_bytes()), Some(rule.name.as_str()), "{example}");
            }
            for example in &rule.misses {
                assert_eq!(BUILT_IN.in_content(example.as_bytes()), None, "{} {example}", rule.name);
            }
        }
    }

    #[test]
    fn every_keyword_of_a_pattern_is_in_an_example_or_could_be() {
        for rule in &file().content {
            for example in &rule.matches {
                let lower = example.to_ascii_lowercase();
                let has = |word: &String| lower.contains(&word.to_ascii_lowercase());
                assert!(rule.keywords.iter().any(has), "{} {example}", rule.name);
            }
        }
    }

    #[test]
    fn names_of_files_with_secrets_are_known() {
        for rule in &file().name {
            assert!(!rule.matches.is_empty() && !rule.misses.is_empty(), "{}", rule.name);
            for example in &rule.matches {
                assert_eq!(BUILT_IN.in_name(example), Some(rule.name.as_str()), "{example}");
            }
            for example in &rule.misses {
                assert_eq!(BUILT_IN.in_name(example), None, "{} {example}", rule.name);
            }
        }
    }

    #[test]
    fn every_rule_has_a_name_of_its_own_that_can_be_in_a_mark() {
        let mut seen = HashSet::new();
        for name in BUILT_IN.rule_names() {
            assert!(seen.insert(name), "{name}");
            let number = name.rsplit('-').next().unwrap_or_default();
            assert!(number.parse::<u32>().is_err(), "{name} looks like the mark of another value");
        }
    }

    #[test]
    fn a_keyword_inside_of_another_one_is_found() {
        let example = &examples_of("npm-token")[0];
        assert_eq!(BUILT_IN.in_content(format!("key-{example}").as_bytes()), Some("npm-token"));
        let hidden = format!("-----BEGIN {example}");
        assert_eq!(BUILT_IN.in_content(hidden.as_bytes()), Some("npm-token"));
    }

    #[test]
    fn bytes_that_are_not_text_are_searched_too() {
        let example = &examples_of("age-secret-key")[0];
        let bytes = [b"\xff\xfe\n".as_slice(), example.as_bytes(), b"\n\xff"].concat();
        assert_eq!(BUILT_IN.in_content(&bytes), Some("age-secret-key"));
        assert_eq!(BUILT_IN.in_content(b""), None);
    }
}
