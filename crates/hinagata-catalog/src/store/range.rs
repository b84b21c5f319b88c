//! Ranges of versions, as extensions write them.

use semver::{Comparator, Op, Version, VersionReq};

/// A range such as `^1.2.0`, `>=1.0.0 <2.0.0` or `1.x || 2.x`.
#[derive(Clone, Debug)]
pub(super) struct Range(Vec<VersionReq>);

impl Range {
    /// Parses a range; `None` when `text` is not one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.split("||").map(alternative).collect::<Option<Vec<_>>>().map(Self)
    }

    pub(super) fn contains(&self, version: &Version) -> bool {
        self.0.iter().any(|range| range.matches(version))
    }

    /// Whether some version with this major number is in the range.
    pub(super) fn reaches_major(&self, major: u64) -> bool {
        let first = Version::new(major, 0, 0);
        let last = Version::new(major, u64::from(u32::MAX), 0);
        // Between those two it suffices to test the versions that a comparator names, or the ones next to them.
        let named = |comparator: &Comparator| {
            let (minor, patch) = (comparator.minor.unwrap_or(0), comparator.patch.unwrap_or(0));
            let next = if comparator.op == Op::Greater { patch.saturating_add(1) } else { patch };
            (comparator.major == major).then(|| Version::new(major, minor, next))
        };
        let named = self.0.iter().flat_map(|range| &range.comparators).filter_map(named);
        [first, last].into_iter().chain(named).any(|version| self.contains(&version))
    }
}

/// Parses an alternative: all its comparators must match; spaces and commas separate them.
fn alternative(text: &str) -> Option<VersionReq> {
    let mut joined = String::new();
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        // `>= 1.0.0` is one comparator.
        let open = joined.is_empty() || joined.ends_with(['<', '>', '=', '^', '~']);
        if !open {
            joined.push(',');
        }
        joined.push_str(word.strip_prefix('v').unwrap_or(word));
    }
    if joined.is_empty() || joined == "latest" {
        joined = "*".to_owned();
    }
    VersionReq::parse(&joined).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(range: &str, version: &str) -> bool {
        Range::parse(range).expect("a range").contains(&Version::parse(version).expect("a version"))
    }

    #[test]
    fn ranges_are_read_as_authors_write_them() {
        assert!(within("^1.0.0", "1.9.3") && !within("^1.0.0", "2.0.0"));
        assert!(within(">=1.0.0 <2.0.0", "1.5.0") && !within(">=1.0.0 <2.0.0", "2.0.0"));
        assert!(within(">= 1.0.0", "3.0.0") && within("", "0.1.0") && within("*", "9.0.0"));
        assert!(within("1.x || 3.x", "3.1.0") && !within("1.x || 3.x", "2.1.0"));
        assert!(Range::parse("newest").is_none() && Range::parse("1.2.three").is_none());
    }

    #[test]
    fn a_major_number_is_reached_when_one_of_its_versions_is() {
        for (range, reached) in [
            (">=1.0.0", true),
            ("^1.7", true),
            ("~1.2.3", true),
            ("=1.4.9", true),
            (">1.4.9 <1.5.0", true),
            ("<1.0.0", false),
            ("^2", false),
            ("0.9 || 1.1", true),
        ] {
            assert_eq!(Range::parse(range).expect("a range").reaches_major(1), reached, "{range}");
        }
    }
}
