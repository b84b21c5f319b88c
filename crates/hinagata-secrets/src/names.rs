//! Rules for names of files.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

/// A rule for names, as `secrets.toml` has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NameEntry {
    pub(crate) name: String,
    files: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test uses the examples"))]
    pub(crate) matches: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test uses the examples"))]
    pub(crate) misses: Vec<String>,
}

/// The rules for names of files.
#[derive(Debug)]
pub(crate) struct NameRules {
    rules: Vec<(Box<str>, NameRule)>,
    /// All of `rules` in one: most files match none, so one test is enough for them.
    any: NameRule,
}

#[derive(Debug)]
struct NameRule {
    files: PathSet,
    unless: PathSet,
}

impl NameRules {
    pub(crate) fn new(entries: &[NameEntry]) -> Result<Self, globset::Error> {
        let rule =
            |entry: &NameEntry| Ok((entry.name.as_str().into(), NameRule::new(&entry.files, &entry.unless)?));
        let all: Vec<String> = entries.iter().flat_map(|entry| entry.files.clone()).collect();
        Ok(Self {
            rules: entries.iter().map(rule).collect::<Result<_, _>>()?,
            any: NameRule::new(&all, &[])?,
        })
    }

    /// The names of the rules that match the file at `path`.
    pub(crate) fn matching<'r>(&'r self, path: &'r str) -> impl Iterator<Item = &'r str> {
        let rules = if self.any.is_match(path) { self.rules.as_slice() } else { &[] };
        rules.iter().filter(|(_, rule)| rule.is_match(path)).map(|(name, _)| &**name)
    }

    pub(crate) fn rule_names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|(name, _)| &**name)
    }
}

impl NameRule {
    fn new(files: &[String], unless: &[String]) -> Result<Self, globset::Error> {
        Ok(Self { files: PathSet::new(files)?, unless: PathSet::new(unless)? })
    }

    fn is_match(&self, path: &str) -> bool {
        self.files.is_match(path) && !self.unless.is_match(path)
    }
}

/// Patterns of paths; one without a slash is a pattern of names. Wildcards do not match `/`.
#[derive(Clone, Debug)]
pub(crate) struct PathSet {
    names: GlobSet,
    paths: GlobSet,
}

impl PathSet {
    pub(crate) fn new(patterns: &[String]) -> Result<Self, globset::Error> {
        let (paths, names): (Vec<&String>, Vec<&String>) =
            patterns.iter().partition(|pattern| pattern.contains('/'));
        Ok(Self { names: compile_globs(&names)?, paths: compile_globs(&paths)? })
    }

    pub(crate) fn is_match(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        self.names.is_match(name) || self.paths.is_match(path)
    }
}

fn compile_globs(patterns: &[&String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
    }
    set.build()
}
