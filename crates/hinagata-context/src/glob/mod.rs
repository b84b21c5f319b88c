//! Patterns of paths: braces, wildcards, classes and extended groups.
//!
//! `globset` matches plain patterns, all at once. It does not support groups such as `@(a|b)`; the module `extended`
//! matches such patterns one by one. Braces are expanded first: each result can be a plain path or a pattern.

mod braces;
mod extended;

use globset::{Candidate, Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{Error, Result};

pub(crate) use braces::expand_braces;
use extended::Extended;

/// Whether a pattern without braces has wildcards or groups.
pub(crate) fn is_dynamic(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '\\']) || extended::has_group(pattern)
}

/// The directory before the first component with a wildcard; empty for the base directory.
pub(crate) fn leading_directory(pattern: &str) -> &str {
    let mut end = 0;
    for part in pattern.split_inclusive('/') {
        if is_dynamic(part) || !part.ends_with('/') {
            break;
        }
        end += part.len();
    }
    let leading = &pattern[..end];
    if leading == "/" { leading } else { leading.trim_end_matches('/') }
}

/// A set of patterns.
#[derive(Debug, Default)]
pub(crate) struct Globs {
    plain: GlobSet,
    /// The indices of the patterns in `plain`.
    places: Vec<usize>,
    extended: Vec<(usize, Extended)>,
    len: usize,
}

impl Globs {
    /// Compiles `patterns`, whose braces are already expanded.
    pub(crate) fn new<P: AsRef<str>>(patterns: &[P]) -> Result<Self> {
        let mut plain = GlobSetBuilder::new();
        let (mut places, mut groups) = (Vec::new(), Vec::new());
        for (place, pattern) in patterns.iter().enumerate() {
            let pattern = pattern.as_ref();
            if extended::has_group(pattern) {
                groups.push((place, Extended::new(pattern)?));
            } else {
                plain.add(glob(pattern)?);
                places.push(place);
            }
        }
        let plain = plain.build().map_err(|error| {
            pattern_error(&patterns.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" "), &error)
        })?;
        Ok(Self { plain, places, extended: groups, len: patterns.len() })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn is_match(&self, path: &str) -> bool {
        self.len > 0 && self.is_match_candidate(&Candidate::new(path), path)
    }

    /// As [`Self::is_match`], for a path that is matched against several sets.
    pub(crate) fn is_match_candidate(&self, candidate: &Candidate<'_>, path: &str) -> bool {
        self.plain.is_match_candidate(candidate)
            || self.extended.iter().any(|(_, pattern)| pattern.is_match(path))
    }

    /// Writes the indices of the matching patterns to `into`, which is cleared first.
    pub(crate) fn matches_into(&self, candidate: &Candidate<'_>, path: &str, into: &mut Vec<usize>) {
        self.plain.matches_candidate_into(candidate, into);
        into.iter_mut().for_each(|place| *place = self.places[*place]);
        into.extend(
            self.extended.iter().filter(|(_, pattern)| pattern.is_match(path)).map(|(place, _)| *place),
        );
    }
}

fn glob(pattern: &str) -> Result<Glob> {
    // Braces that cannot be expanded are literal.
    let literal = match pattern.contains(['{', '}']) {
        true => pattern.replace("\\{", "{").replace("\\}", "}").replace('{', "[{]").replace('}', "[}]"),
        false => pattern.to_owned(),
    };
    let built = GlobBuilder::new(&literal).literal_separator(true).backslash_escape(true).build();
    built.map_err(|error| pattern_error(pattern, &error))
}

fn pattern_error(pattern: &str, error: &globset::Error) -> Error {
    Error::Pattern { pattern: pattern.to_owned(), message: error.kind().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let patterns = expand_braces(pattern).expect("expands");
        Globs::new(&patterns).expect("is a pattern").is_match(path)
    }

    #[test]
    fn wildcards_stay_within_a_directory_and_match_dot_files() {
        for (pattern, path, expected) in [
            ("*.ts", "a.ts", true),
            ("*.ts", "src/a.ts", false),
            ("*.ts", ".ts", true),
            ("src/**/*.ts", "src/a.ts", true),
            ("src/**/*.ts", "src/x/y/a.ts", true),
            ("src/**", "src/a", true),
            ("src/**", "src", false),
            ("**", "a/b/c", true),
            ("a[0-9].{ts,js}", "a1.js", true),
            ("a[!0-9].ts", "a1.ts", false),
            ("b?.ts", "b1.ts", true),
            ("\\[id\\].ts", "[id].ts", true),
            ("app/(group)/page.ts", "app/(group)/page.ts", true),
            ("{x}.ts", "{x}.ts", true),
            ("../shared/*.md", "../shared/i.md", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_leading_directory_ends_before_the_first_wildcard() {
        for (pattern, expected) in [
            ("*.md", ""),
            ("src/**/*.ts", "src"),
            ("a/b/c*.md", "a/b"),
            ("../s/*.md", "../s"),
            ("/x/*", "/x"),
            ("/*", "/"),
        ] {
            assert_eq!(leading_directory(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_plain_path_has_no_wildcards() {
        assert!(!is_dynamic("a/x+y (1).ts") && !is_dynamic("none"));
        assert!(is_dynamic("[id].ts") && is_dynamic("@(a|b).ts") && is_dynamic("(a|b).ts"));
    }
}
