//! Paths into the data of a template.

use std::{fmt, sync::Arc};

/// Deeper paths are cut: a template that calls itself on a part of its data would make longer and
/// longer ones.
const MOST_PARTS: usize = 16;

/// The most values that one variable is followed to, when the run decides which one it has.
const MOST_ALTERNATIVES: usize = 4;

/// The way from the data of a template to a part of it.
///
/// Prints as `user.profile.name`, `messages[0].content`, `tools[].name`; the data itself as `.`.
/// Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The steps; none for the data itself.
    pub parts: Arc<[PathPart]>,
}

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathPart {
    /// The entry of a map.
    Key(Arc<str>),
    /// The item with this number.
    Index(i64),
    /// Any item or entry, or one whose number or key is computed.
    Each,
}

impl Path {
    /// Whether this is the data itself.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.parts.is_empty()
    }

    fn with(&self, more: &[PathPart]) -> Self {
        Self { parts: self.parts.iter().chain(more).take(MOST_PARTS).cloned().collect() }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole() {
            return f.write_str(".");
        }
        for (at, part) in self.parts.iter().enumerate() {
            match part {
                PathPart::Key(key) if !is_plain(key) => write!(f, "[{key:?}]")?,
                PathPart::Key(key) if at == 0 => f.write_str(key)?,
                PathPart::Key(key) => write!(f, ".{key}")?,
                PathPart::Index(index) => write!(f, "[{index}]")?,
                PathPart::Each => f.write_str("[]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// Where a value may come from: parts of the data, none of them when it is computed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Origin(Vec<Path>);

impl Origin {
    pub(super) fn of(path: Path) -> Self {
        Self(vec![path])
    }

    pub(super) fn paths(&self) -> &[Path] {
        &self.0
    }

    pub(super) fn into_paths(self) -> Vec<Path> {
        self.0
    }

    /// Adds what else it may be; whether that was new.
    pub(super) fn add(&mut self, other: &Self) -> bool {
        let before = self.0.len();
        for path in &other.0 {
            if self.0.len() < MOST_ALTERNATIVES && !self.0.contains(path) {
                self.0.push(path.clone());
            }
        }
        self.0.len() > before
    }

    pub(super) fn with(&self, parts: &[PathPart]) -> Self {
        Self(self.0.iter().map(|path| path.with(parts)).collect())
    }
}
