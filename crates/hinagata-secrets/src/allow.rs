//! Exceptions: values that are known and may leave the machine.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::{names::PathSet, own::RuleProblem};

/// The comment that allows the secrets of its line.
pub(crate) const COMMENT: &str = "hina:allow-secret";

/// The start of the hash of a value.
const HASH: &str = "sha256:";

/// The fewest digits of a hash.
const FEWEST_DIGITS: usize = 16;

/// The SHA-256 of a value, as exceptions name it.
#[must_use]
pub fn hash_value(value: &[u8]) -> String {
    let mut text = HASH.to_owned();
    for byte in Sha256::digest(value) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The shortest start of a hash that an exception takes.
pub(crate) fn shorten_hash(hash: &str) -> &str {
    &hash[..hash.len().min(HASH.len() + FEWEST_DIGITS)]
}

/// An exception.
#[derive(Clone, Debug)]
pub struct Allowance(Allowed);

#[derive(Clone, Debug)]
enum Allowed {
    /// Values whose hash starts like this.
    Hash(String),
    /// What a rule finds in some files.
    Rule { rule: String, paths: PathSet },
}

impl Allowance {
    /// Allows the value with this hash: `sha256:` and at least 16 digits.
    ///
    /// # Errors
    /// It is not a hash.
    pub fn from_hash(hash: &str) -> Result<Self, RuleProblem> {
        let digits = hash.strip_prefix(HASH).unwrap_or_default().to_ascii_lowercase();
        let is_hash = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash || !(FEWEST_DIGITS..=64).contains(&digits.len()) {
            let message = format!("must be `sha256:` and {FEWEST_DIGITS} to 64 hexadecimal digits");
            return Err(RuleProblem::new("", message));
        }
        Ok(Self(Allowed::Hash(format!("{HASH}{digits}"))))
    }

    /// Allows what `rule` finds in files whose path matches `pattern`; a pattern without a slash is one of file names.
    ///
    /// # Errors
    /// The pattern is invalid.
    pub fn for_rule(rule: &str, pattern: &str) -> Result<Self, RuleProblem> {
        let paths = PathSet::new(&[pattern.to_owned()]);
        let paths =
            paths.map_err(|error| RuleProblem::new("path", format!("is not a pattern: {}", error.kind())))?;
        Ok(Self(Allowed::Rule { rule: rule.to_owned(), paths }))
    }

    /// The rule that it names.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        match &self.0 {
            Allowed::Rule { rule, .. } => Some(rule),
            Allowed::Hash(_) => None,
        }
    }
}

/// All exceptions.
#[derive(Debug, Default)]
pub(crate) struct Allowances {
    pub(crate) list: Vec<Allowance>,
    /// Whether comments count.
    pub(crate) comments: bool,
}

impl Allowances {
    /// Whether `value`, found by `rule` in `line` of the file at `path`, is allowed.
    pub(crate) fn is_allowed(&self, path: &str, rule: &str, value: &[u8], line: &[u8]) -> bool {
        if self.list.is_empty() && !self.comments {
            return false;
        }
        let has_comment = || line.windows(COMMENT.len()).any(|window| window == COMMENT.as_bytes());
        (self.comments && has_comment()) || self.is_rule_allowed(path, rule) || self.is_value_allowed(value)
    }

    /// Whether what `rule` finds in the file at `path` is allowed.
    pub(crate) fn is_rule_allowed(&self, path: &str, rule: &str) -> bool {
        self.list.iter().any(|allowance| match &allowance.0 {
            Allowed::Rule { rule: allowed, paths } => allowed == rule && paths.is_match(path),
            Allowed::Hash(_) => false,
        })
    }

    fn is_value_allowed(&self, value: &[u8]) -> bool {
        let hashes = || {
            self.list.iter().filter_map(|allowance| match &allowance.0 {
                Allowed::Hash(hash) => Some(hash),
                Allowed::Rule { .. } => None,
            })
        };
        hashes().next().is_some() && {
            let hash = hash_value(value);
            hashes().any(|start| hash.starts_with(start.as_str()))
        }
    }
}
