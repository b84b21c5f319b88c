//! Patterns with groups: `@(a|b)`, `?(a)`, `*(a|b)`, `+(a)`, `!(a|b)` and `(a|b)`.
//!
//! The matcher tracks all positions of the path that a prefix of the pattern can reach. It does not backtrack, so
//! matching takes at most the length of the pattern times the square of the length of the path.

use crate::{Error, Result};

/// The limit of nested groups.
const DEEPEST: usize = 16;

/// A pattern with groups.
#[derive(Debug)]
pub(super) struct Extended(Vec<Part>);

#[derive(Debug)]
enum Part {
    Char(char),
    /// `?`
    Any,
    /// `*`
    Star,
    /// `**/`: any number of directories.
    Directories,
    /// `**` at the end.
    Everything,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    Group {
        kind: Kind,
        alternatives: Vec<Vec<Part>>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    One,
    Optional,
    Any,
    Some,
    Not,
}

/// Whether `pattern` has a group.
pub(super) fn has_group(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    let group = |(at, _)| {
        let behind = &pattern[at..];
        let marked = at > 0 && matches!(bytes[at - 1], b'@' | b'!' | b'+' | b'?' | b'*');
        behind.find(')').is_some_and(|close| marked || behind[..close].contains('|'))
    };
    pattern.match_indices('(').any(group)
}

impl Extended {
    pub(super) fn new(pattern: &str) -> Result<Self> {
        let mut reader = Reader { chars: pattern.chars().collect(), at: 0 };
        let pattern_error =
            |message: &str| Error::Pattern { pattern: pattern.to_owned(), message: message.to_owned() };
        let parts = reader.sequence(0).map_err(pattern_error)?;
        if reader.at < reader.chars.len() {
            return Err(pattern_error("unmatched `)`"));
        }
        Ok(Self(parts))
    }

    pub(super) fn is_match(&self, path: &str) -> bool {
        let text: Vec<char> = path.chars().collect();
        let mut starts = vec![false; text.len() + 1];
        starts[0] = true;
        run(&self.0, &text, starts)[text.len()]
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Reads up to the end of the pattern; inside a group, up to `|` or `)`.
    fn sequence(&mut self, depth: usize) -> Result<Vec<Part>, &'static str> {
        let mut parts = Vec::new();
        while let Some(next) = self.peek(0) {
            if depth > 0 && matches!(next, '|' | ')') {
                break;
            }
            if depth == 0 && next == ')' {
                return Err("unmatched `)`");
            }
            parts.push(self.part(next, depth)?);
        }
        Ok(parts)
    }

    fn part(&mut self, next: char, depth: usize) -> Result<Part, &'static str> {
        if let Some(kind) = kind(next).filter(|_| self.peek(1) == Some('(')) {
            self.at += 2;
            return self.group(kind, depth + 1);
        }
        self.at += 1;
        Ok(match next {
            '(' => return self.group(Kind::One, depth + 1),
            '?' => Part::Any,
            '*' => self.star(),
            '[' => self.class(),
            '\\' => {
                let escaped = self.peek(0).ok_or("trailing `\\`")?;
                self.at += 1;
                Part::Char(escaped)
            }
            other => Part::Char(other),
        })
    }

    fn star(&mut self) -> Part {
        let starts_part = self.at < 2 || self.chars[self.at - 2] == '/';
        if self.peek(0) != Some('*') || !starts_part {
            return Part::Star;
        }
        match self.peek(1) {
            Some('/') => {
                self.at += 2;
                Part::Directories
            }
            None => {
                self.at += 1;
                Part::Everything
            }
            Some(_) => Part::Star,
        }
    }

    /// A character class; an unclosed `[` is literal.
    fn class(&mut self) -> Part {
        let start = self.at;
        let negated = matches!(self.peek(0), Some('!' | '^'));
        self.at += usize::from(negated);
        let mut ranges = Vec::new();
        while let Some(from) = self.peek(0) {
            if from == ']' && !ranges.is_empty() {
                self.at += 1;
                return Part::Class { negated, ranges };
            }
            match (self.peek(1), self.peek(2)) {
                (Some('-'), Some(to)) if to != ']' => {
                    ranges.push((from, to));
                    self.at += 3;
                }
                _ => {
                    ranges.push((from, from));
                    self.at += 1;
                }
            }
        }
        self.at = start;
        Part::Char('[')
    }

    fn group(&mut self, kind: Kind, depth: usize) -> Result<Part, &'static str> {
        if depth > DEEPEST {
            return Err("groups are nested too deeply");
        }
        let mut alternatives = vec![self.sequence(depth)?];
        while self.peek(0) == Some('|') {
            self.at += 1;
            alternatives.push(self.sequence(depth)?);
        }
        if self.peek(0) != Some(')') {
            return Err("unclosed group");
        }
        self.at += 1;
        Ok(Part::Group { kind, alternatives })
    }
}

fn kind(mark: char) -> Option<Kind> {
    Some(match mark {
        '@' => Kind::One,
        '?' => Kind::Optional,
        '*' => Kind::Any,
        '+' => Kind::Some,
        '!' => Kind::Not,
        _ => return None,
    })
}

/// The positions that `parts` reach from the positions in `starts`.
fn run(parts: &[Part], text: &[char], starts: Vec<bool>) -> Vec<bool> {
    parts.iter().fold(starts, |starts, part| step(part, text, &starts))
}

fn step(part: &Part, text: &[char], starts: &[bool]) -> Vec<bool> {
    match part {
        Part::Char(wanted) => match_one(text, starts, |found| found == *wanted),
        Part::Any => match_one(text, starts, |found| found != '/'),
        Part::Class { negated, ranges } => match_one(text, starts, |found| {
            let inside = ranges.iter().any(|(from, to)| (*from..=*to).contains(&found));
            found != '/' && inside != *negated
        }),
        Part::Star => match_run(text, starts, |found| found != '/'),
        Part::Everything => match_run(text, starts, |_| true),
        Part::Directories => match_directories(text, starts),
        Part::Group { kind, alternatives } => match_group(*kind, alternatives, text, starts),
    }
}

fn match_one(text: &[char], starts: &[bool], fits: impl Fn(char) -> bool) -> Vec<bool> {
    let mut ends = vec![false; starts.len()];
    for (at, found) in text.iter().enumerate() {
        ends[at + 1] = starts[at] && fits(*found);
    }
    ends
}

fn match_run(text: &[char], starts: &[bool], fits: impl Fn(char) -> bool) -> Vec<bool> {
    let mut ends = starts.to_vec();
    for (at, found) in text.iter().enumerate() {
        ends[at + 1] |= ends[at] && fits(*found);
    }
    ends
}

fn match_directories(text: &[char], starts: &[bool]) -> Vec<bool> {
    let mut ends = starts.to_vec();
    let mut open = false;
    for (at, found) in text.iter().enumerate() {
        open |= starts[at];
        ends[at + 1] |= open && *found == '/';
    }
    ends
}

fn match_group(kind: Kind, alternatives: &[Vec<Part>], text: &[char], starts: &[bool]) -> Vec<bool> {
    let once = |starts: &[bool]| {
        let mut ends = vec![false; starts.len()];
        for alternative in alternatives {
            join(&mut ends, &run(alternative, text, starts.to_vec()));
        }
        ends
    };
    match kind {
        Kind::One => once(starts),
        Kind::Optional => {
            let mut ends = once(starts);
            join(&mut ends, starts);
            ends
        }
        Kind::Any | Kind::Some => {
            let mut ends = once(starts);
            let mut all = ends.clone();
            if kind == Kind::Any {
                join(&mut all, starts);
            }
            // Each round reaches a new position or is the last, so the loop ends.
            loop {
                ends = once(&ends);
                if !join(&mut all, &ends) {
                    return all;
                }
            }
        }
        Kind::Not => match_none_of(&once, text, starts),
    }
}

/// Matches text up to the next slash, except the alternatives.
fn match_none_of(once: &impl Fn(&[bool]) -> Vec<bool>, text: &[char], starts: &[bool]) -> Vec<bool> {
    let mut ends = vec![false; starts.len()];
    for (start, _) in starts.iter().enumerate().filter(|(_, starts)| **starts) {
        let mut only = vec![false; starts.len()];
        only[start] = true;
        let refused = once(&only);
        let length = text[start..].iter().position(|found| *found == '/').unwrap_or(text.len() - start);
        for at in start..=start + length {
            ends[at] |= !refused[at];
        }
    }
    ends
}

/// Adds `more` to `all`; returns whether this changed `all`.
fn join(all: &mut [bool], more: &[bool]) -> bool {
    let mut new = false;
    for (known, more) in all.iter_mut().zip(more) {
        new |= *more && !*known;
        *known |= *more;
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_match_as_shells_do() {
        for (pattern, path, expected) in [
            ("@(c|d).*.ts", "c.test.ts", true),
            ("@(c|d).*.ts", "e.test.ts", false),
            ("?(a)b", "b", true),
            ("?(a)b", "aab", false),
            ("*(a|b)c", "ababc", true),
            ("*(a|b)c", "c", true),
            ("+(a)c", "c", false),
            ("+(a|)c", "aaac", true),
            ("!(a|b).ts", "c.ts", true),
            ("!(a|b).ts", "a.ts", false),
            ("!(a|b).ts", "x/c.ts", false),
            ("**/!(*.test).ts", "x/y/c.ts", true),
            ("**/!(*.test).ts", "x/y/c.test.ts", false),
            ("src/**/(a|b)?.rs", "src/a1.rs", true),
            ("@(src|lib)/**", "lib/x/y", true),
            ("@([a-c]|\\()x", "(x", true),
            ("@(a|@(b|c))", "c", true),
        ] {
            assert_eq!(Extended::new(pattern).expect(pattern).is_match(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn broken_groups_are_errors() {
        assert!(Extended::new("@(a|b").is_err());
        assert!(Extended::new(&"@(".repeat(100)).is_err());
        assert!(Extended::new("@(a))").is_err());
        assert!(!has_group("app/(group)/x") && has_group("(a|b)") && has_group("!(a)"));
    }

    #[test]
    fn no_pattern_takes_long() {
        let path = "a".repeat(300);
        assert!(!Extended::new(&format!("{}b", "*(*(a))".repeat(10))).expect("reads").is_match(&path));
    }
}
