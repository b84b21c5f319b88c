//! Dotted paths to data.

use std::{fmt, sync::Arc};

/// Deeper paths are cut: assigning a name to a part of itself again and again must not cost the
/// square of the source.
const MAX_PARTS: usize = 16;

/// A variable and the way to a part of its value.
///
/// Prints as `user.profile.name`, `messages[0].content`, `tools[].name`. Cheap to clone: many uses
/// share one path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The variable.
    pub root: Arc<str>,
    /// The way, of limited length.
    pub parts: Arc<[PathPart]>,
}

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathPart {
    /// An attribute or a key.
    Key(Arc<str>),
    /// The item with this number; from the end if negative.
    Index(i64),
    /// Any item, or one whose number or key is computed.
    Each,
}

impl Path {
    pub(super) fn new(root: &str) -> Self {
        Self { root: root.into(), parts: Arc::new([]) }
    }

    /// The path some steps further, as far as its length allows.
    pub(super) fn with(&self, more: impl IntoIterator<Item = PathPart>) -> Self {
        let parts = self.parts.iter().cloned().chain(more).take(MAX_PARTS);
        Self { root: Arc::clone(&self.root), parts: parts.collect() }
    }

    /// The path of a variable `other` whose variables are the entries of the value at this path.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        self.with([PathPart::Key(other.root.clone())].into_iter().chain(other.parts.iter().cloned()))
    }

    /// The path to what `attribute` names in filters: keys and numbers with dots between them.
    pub(super) fn with_attribute(&self, attribute: &str) -> Self {
        let part = |part: &str| part.parse().map_or_else(|_| PathPart::Key(part.into()), PathPart::Index);
        self.with(attribute.split('.').map(part))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)?;
        self.parts.iter().try_for_each(|part| part.fmt(f))
    }
}

impl fmt::Display for PathPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) if is_plain(key) => write!(f, ".{key}"),
            Self::Key(key) => write!(f, "[{key:?}]"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Each => f.write_str("[]"),
        }
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}
