//! Versions of packs, and ranges of them.

use std::fmt;

use hinagata_document::{Error, Reason, Result};
use semver::{Version, VersionReq};

/// A range of versions, such as `1.2`, `>=1.2, <3` or `=1.4.0`. `1.2` means: 1.2.0 and later, but before 2.0.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRange {
    text: String,
    range: VersionReq,
}

impl VersionRange {
    /// Reads a range.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`.
    pub fn parse(text: &str) -> Result<Self> {
        let range = VersionReq::parse(text).map_err(|error| {
            Error::definition(
                Reason::Settings,
                format!("invalid range of versions `{}`: {error}", shorten(text)),
            )
            .with_hint("write a range such as `1.2`, `>=1.2, <3` or `=1.4.0`")
        })?;
        Ok(Self { text: text.to_owned(), range })
    }

    /// Whether `version` is in the range. Only `*` contains a version that is not three numbers.
    #[must_use]
    pub fn contains_version(&self, version: &str) -> bool {
        match parse_version(version) {
            Some(version) => self.range.matches(&version),
            None => self.range == VersionReq::STAR,
        }
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The version for comparisons; missing numbers are zero.
pub(crate) fn parse_version(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    Version::parse(text).ok().or_else(|| {
        let missing = 2_usize.checked_sub(text.matches('.').count())?;
        Version::parse(&format!("{text}{}", ".0".repeat(missing))).ok()
    })
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_compatible_versions() {
        let contains = |range: &str, version: &str| {
            VersionRange::parse(range).expect("parses").contains_version(version)
        };
        assert!(contains("1.2", "1.2.0") && contains("1.2", "1.9.3") && contains("1.2", "1.2"));
        assert!(!contains("1.2", "1.1.9") && !contains("1.2", "2.0.0") && !contains("1.2", "nightly"));
        assert!(contains("*", "nightly") && contains(">=1, <3", "v2.5") && contains("=1.4.0", "1.4"));
        assert!(!contains("1", "1.5.0-beta.1") && contains("1.5.0-beta.1", "1.5.0-beta.2"));
        assert!(VersionRange::parse("one").is_err() && VersionRange::parse("").is_err());
    }
}
