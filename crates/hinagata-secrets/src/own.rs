//! Rules of one's own. They may come from strangers, so their size is limited; the time of a search is linear.

use std::fmt;

use regex::bytes::{Regex, RegexBuilder};

/// The longest pattern, in bytes.
const LONGEST_PATTERN: usize = 4 << 10;

/// The longest name or keyword, in bytes.
const LONGEST_WORD: usize = 40;

/// Most keywords of a rule.
const MOST_KEYWORDS: usize = 8;

/// The largest compiled pattern, in bytes.
const LARGEST_PROGRAM: usize = 256 << 10;

/// Nested groups of a pattern, at most.
const DEEPEST: u32 = 50;

/// A rule of one's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnRule {
    /// The name in marks and reports: lower-case letters, digits and dashes.
    pub name: String,
    /// A regular expression over bytes. Its group `value`, or else the whole match, is the secret.
    pub pattern: String,
    /// Words, one of which is in every match, in upper or lower case; texts without one are not searched. Without
    /// keywords every text is searched.
    pub keywords: Vec<String>,
}

/// A problem of a rule or an exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleProblem {
    /// The field, or empty.
    pub field: String,
    /// What is wrong with it, without its name: `is missing`.
    pub message: String,
}

impl RuleProblem {
    pub(crate) fn new(field: &str, message: impl Into<String>) -> Self {
        Self { field: field.to_owned(), message: message.into() }
    }
}

impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => f.write_str(&self.message),
            field => write!(f, "`{field}` {}", self.message),
        }
    }
}

impl std::error::Error for RuleProblem {}

impl OwnRule {
    /// Checks the rule and compiles its pattern.
    pub(crate) fn compile(&self) -> Result<Regex, RuleProblem> {
        if !is_rule_name(&self.name) {
            let message = format!(
                "must be at most {LONGEST_WORD} lower-case letters, digits and dashes, without a number at the end"
            );
            return Err(RuleProblem::new("name", message));
        }
        let is_keyword = |word: &String| !word.is_empty() && word.len() <= LONGEST_WORD;
        if self.keywords.len() > MOST_KEYWORDS || !self.keywords.iter().all(is_keyword) {
            let message = format!("must be at most {MOST_KEYWORDS} words of 1 to {LONGEST_WORD} bytes");
            return Err(RuleProblem::new("keywords", message));
        }
        self.compile_pattern().map_err(|message| RuleProblem::new("pattern", message))
    }

    fn compile_pattern(&self) -> Result<Regex, String> {
        if self.pattern.is_empty() {
            return Err("must not be empty".to_owned());
        }
        if self.pattern.len() > LONGEST_PATTERN {
            return Err(format!("must have at most {LONGEST_PATTERN} bytes"));
        }
        let pattern = RegexBuilder::new(&self.pattern)
            .unicode(false)
            .size_limit(LARGEST_PROGRAM)
            .dfa_size_limit(1 << 20)
            .nest_limit(DEEPEST)
            .build();
        pattern.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "is too large; use smaller repetitions".to_owned(),
            error => format!("is not a regular expression: {}", last_line(&error.to_string())),
        })
    }
}

/// Whether a name can stand in a mark. A number at the end of a mark counts values.
fn is_rule_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let number = name.rsplit('-').next().unwrap_or_default();
    let ends_with_number =
        name.contains('-') && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    name.bytes().all(allowed)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.len() <= LONGEST_WORD
        && !ends_with_number
}

/// The cause: the lines before it show the pattern.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(name: &str, pattern: &str) -> OwnRule {
        OwnRule { name: name.to_owned(), pattern: pattern.to_owned(), keywords: Vec::new() }
    }

    #[test]
    fn a_bad_rule_says_which_field_is_wrong() {
        for (name, pattern, problem) in [
            ("Acme", "x", "`name` must be"),
            ("", "x", "`name` must be"),
            ("acme-2", "x", "without a number at the end"),
            ("acme»", "x", "`name` must be"),
            ("acme", "", "`pattern` must not be empty"),
            ("acme", "a(b", "`pattern` is not a regular expression: unclosed group"),
            ("acme", "(?:a{1000}){1000}", "`pattern` is too large"),
        ] {
            let found = rule(name, pattern).compile().expect_err("is wrong").to_string();
            assert!(found.contains(problem), "{found}");
        }
        let deep = format!("{}a{}", "(".repeat(100), ")".repeat(100));
        assert!(rule("acme", &deep).compile().is_err());
        assert!(rule("acme", &"a".repeat(5_000)).compile().is_err());
        assert!(rule("acme-v2x", "acme_(?<value>[a-z0-9]{32})").compile().is_ok());
        let many = OwnRule { keywords: vec!["x".repeat(65)], ..rule("acme", "x") };
        assert!(many.compile().is_err());
    }
}
