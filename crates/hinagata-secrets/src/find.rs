//! Finds the secrets of a text.

use std::ops::Range;

use regex::bytes::Regex;

use crate::{
    assignment::find_assigned,
    kubernetes::find_secret_values,
    placeholder::{MARK_START, is_example},
    rules::{Finder, PatternRule, Secrets},
    syntax::Syntax,
    url::find_url_secrets,
    value::{Writing, is_secret_value},
};

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSecret<'s> {
    /// The rule that found it.
    pub rule: &'s str,
    /// The bytes of its value.
    pub range: Range<usize>,
    /// The line in which the value starts, counted from 1.
    pub line: usize,
}

/// The secrets of one text, in the order of their places; none overlaps another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundSecrets<'s> {
    secrets: Vec<FoundSecret<'s>>,
    /// The places of values that exceptions allow.
    pub(crate) allowed: Vec<Range<usize>>,
}

impl<'s> FoundSecrets<'s> {
    /// Whether no secret was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The secrets.
    pub fn iter(&self) -> std::slice::Iter<'_, FoundSecret<'s>> {
        self.secrets.iter()
    }

    /// The first secret.
    #[must_use]
    pub fn first(&self) -> Option<&FoundSecret<'s>> {
        self.secrets.first()
    }
}

/// A place that a rule found.
struct Candidate {
    range: Range<usize>,
    rule: usize,
}

/// Which rules to try, and the places of the words of those that start at a word.
struct Hits {
    tried: Vec<bool>,
    words: Vec<(usize, Range<usize>)>,
}

impl Secrets {
    /// The secrets in the text of the file at `path`, from the workspace; `path` is empty for a text without a file.
    ///
    /// The path decides about exceptions, and whether a word without quotes is a name or a value.
    #[must_use]
    pub fn find_secrets(&self, path: &str, text: &[u8]) -> FoundSecrets<'_> {
        let hits = self.find_hits(text);
        let mut candidates = self.find_candidates(&hits, Syntax::from_path(path), text);
        if candidates.is_empty() {
            return FoundSecrets::default();
        }
        candidates.sort_by_key(|found| (found.range.start, found.rule));
        self.judge(merge_overlapping(candidates), path, text)
    }

    /// The name of the first rule that finds a secret in `content`.
    #[must_use]
    pub fn in_content(&self, content: &[u8]) -> Option<&str> {
        self.find_secrets("", content).first().map(|found| found.rule)
    }

    fn find_hits(&self, text: &[u8]) -> Hits {
        let mut hits = Hits { tried: vec![false; self.contents.len()], words: Vec::new() };
        for rule in &self.keywords.always {
            hits.tried[*rule] = true;
        }
        self.keywords.words.find_each(text, |word, end| {
            let (len, rules) = &self.keywords.rules_by_word[word];
            for rule in rules {
                hits.tried[*rule] = true;
                if matches!(self.contents[*rule].finder, Finder::Assignment { .. } | Finder::Url) {
                    hits.words.push((*rule, end - len..end));
                }
            }
        });
        hits
    }

    fn find_candidates(&self, hits: &Hits, syntax: Syntax, text: &[u8]) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (rule, word) in &hits.words {
            let ranges = match &self.contents[*rule].finder {
                Finder::Assignment { kind, unless } => {
                    find_assigned(text, word.clone(), *kind, unless, syntax)
                }
                _ => find_url_secrets(text, word.end),
            };
            candidates.extend(ranges.into_iter().map(|range| Candidate { range, rule: *rule }));
        }
        for (rule, content) in self.contents.iter().enumerate().filter(|(rule, _)| hits.tried[*rule]) {
            let ranges = content.finder.find_values(text);
            candidates.extend(ranges.into_iter().map(|range| Candidate { range, rule }));
        }
        candidates
    }

    /// Counts lines, and separates what exceptions allow.
    fn judge(&self, candidates: Vec<Candidate>, path: &str, text: &[u8]) -> FoundSecrets<'_> {
        let mut all = FoundSecrets::default();
        let mut lines = Lines { text, number: 1, range: 0..line_len(text) };
        for Candidate { range, rule } in candidates {
            lines.advance_to(range.start);
            let (rule, line) = (&*self.contents[rule].name, lines.number);
            match self.allowances.is_allowed(path, rule, &text[range.clone()], &text[lines.range.clone()]) {
                true => all.allowed.push(range),
                false => all.secrets.push(FoundSecret { rule, range, line }),
            }
        }
        all
    }
}

/// The lines of a text, one after the other.
struct Lines<'t> {
    text: &'t [u8],
    /// The number of the current line, counted from 1.
    number: usize,
    /// The current line, without its end.
    range: Range<usize>,
}

impl Lines<'_> {
    /// Goes on to the line of `place`.
    fn advance_to(&mut self, place: usize) {
        while place > self.range.end {
            let start = self.range.end + 1;
            self.range = start..start + line_len(&self.text[start..]);
            self.number += 1;
        }
    }
}

fn line_len(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len())
}

impl Finder {
    /// The values in the whole of `text`; none for a finder that starts at a word.
    fn find_values(&self, text: &[u8]) -> Vec<Range<usize>> {
        match self {
            Self::Pattern(pattern) => {
                let found = matches_of(pattern.regex(), text);
                found.filter(|range| pattern.is_secret(&text[range.clone()])).collect()
            }
            Self::Own(pattern) => {
                matches_of(pattern, text).filter(|range| !is_marked(&text[range.clone()])).collect()
            }
            Self::Kubernetes => find_secret_values(text),
            Self::Assignment { .. } | Self::Url => Vec::new(),
        }
    }
}

impl PatternRule {
    fn is_secret(&self, value: &[u8]) -> bool {
        match self.kind {
            Some(kind) => is_secret_value(value, kind, Writing::Literal),
            None => !is_example(value),
        }
    }
}

/// The values that a pattern matches: its group `value`, or else all of it.
fn matches_of<'p>(pattern: &'p Regex, text: &'p [u8]) -> Box<dyn Iterator<Item = Range<usize>> + 'p> {
    let is_value = |range: &Range<usize>| !range.is_empty();
    if pattern.capture_names().flatten().any(|name| name == "value") {
        let found = pattern.captures_iter(text);
        Box::new(found.filter_map(|found| found.name("value").map(|value| value.range())).filter(is_value))
    } else {
        Box::new(pattern.find_iter(text).map(|found| found.range()).filter(is_value))
    }
}

/// Whether a part was redacted before.
fn is_marked(value: &[u8]) -> bool {
    let mark = MARK_START.as_bytes();
    value.windows(mark.len()).any(|window| window == mark)
}

/// One place for those that overlap; the rule that comes first in the list counts.
fn merge_overlapping(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut merged: Vec<Candidate> = Vec::with_capacity(candidates.len());
    for found in candidates {
        match merged.last_mut().filter(|last| found.range.start < last.range.end) {
            Some(last) => {
                last.range.end = last.range.end.max(found.range.end);
                last.rule = last.rule.min(found.rule);
            }
            None => merged.push(found),
        }
    }
    merged
}
