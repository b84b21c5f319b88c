//! Problems of modules, each with its path.

use std::fmt;

/// A problem in a module or a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its path, such as `materials[2].title`; empty for the whole document.
    pub path: String,
    /// The message: lower case, without a full stop.
    pub message: String,
    /// Similar names, the nearest first.
    pub near: Vec<String>,
    /// What to do next.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem at `path`.
    #[must_use]
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), near: Vec::new(), hint: None }
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds those of `names` that are similar to `word`.
    #[must_use]
    pub fn with_near<'n>(mut self, word: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.near = nearest_names(word, names);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match self.near.first() {
            Some(near) => write!(f, " (did you mean `{near}`?)"),
            None => Ok(()),
        }
    }
}

/// The error of reading, merging, compiling or formatting a module: one or more problems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<[Problem]>);

impl Error {
    /// The problems, at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }

    /// The error of `problems`, if there are any.
    pub(crate) fn from_problems(problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self(problems.into())) }
    }

    /// Prefixes every path with `path`.
    #[must_use]
    pub fn prefix_path(mut self, path: &str) -> Self {
        for problem in &mut self.0 {
            problem.path = join_paths(path, &problem.path);
        }
        self
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self(Box::new([problem]))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Joins two paths.
fn join_paths(outer: &str, inner: &str) -> String {
    match inner.chars().next() {
        None => outer.to_owned(),
        Some('[') => format!("{outer}{inner}"),
        Some(_) if outer.is_empty() => inner.to_owned(),
        Some(_) => format!("{outer}.{inner}"),
    }
}

/// Those of `names` that differ from `word` by few characters, the nearest first.
#[must_use]
pub fn nearest_names<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let most = (word.chars().count() / 3).max(1);
    let lower = word.to_lowercase();
    let mut found: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (edit_distance(&lower, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// The number of insertions, deletions, substitutions and swaps between two words.
fn edit_distance(left: &str, right: &str) -> usize {
    /// Longer words are not compared.
    const LONGEST: usize = 64;
    let (left, right): (Vec<char>, Vec<char>) =
        (left.chars().take(LONGEST).collect(), right.chars().take(LONGEST).collect());
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for (index, row) in rows.iter_mut().enumerate() {
        row[0] = index;
    }
    rows[0] = (0..=right.len()).collect();
    for i in 1..=left.len() {
        for j in 1..=right.len() {
            let same = usize::from(left[i - 1] != right[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_meant_are_found() {
        assert_eq!(nearest_names("materails", ["materials", "messages"]), ["materials"]);
        assert_eq!(nearest_names("Objectve", ["objective", "output"]), ["objective"]);
        assert!(nearest_names("footer", ["objective", "cue"]).is_empty());
    }

    #[test]
    fn paths_are_put_together() {
        let inner = Error::from(Problem::new("[2].title", "no"));
        assert_eq!(inner.prefix_path("materials").problems()[0].path, "materials[2].title");
        assert_eq!(Error::from(Problem::new("title", "no")).prefix_path("a").problems()[0].path, "a.title");
        assert_eq!(Error::from(Problem::new("", "no")).prefix_path("a").to_string(), "a: no");
    }
}
