//! A path as displayed, which the list of files and the report share: a project can have very many.

use std::{fmt, ops::Deref, path::Path, sync::Arc};

use serde::{Serialize, Serializer};

/// A path as displayed. A clone shares its text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShownPath(Arc<str>);

impl ShownPath {
    /// The path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for ShownPath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<Path> for ShownPath {
    fn as_ref(&self) -> &Path {
        Path::new(self.as_str())
    }
}

impl fmt::Display for ShownPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for ShownPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl Serialize for ShownPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for ShownPath {
    fn eq(&self, other: &T) -> bool {
        self.as_str() == other.as_ref()
    }
}

impl From<&str> for ShownPath {
    fn from(path: &str) -> Self {
        Self(path.into())
    }
}

impl From<String> for ShownPath {
    fn from(path: String) -> Self {
        Self(path.into())
    }
}

impl From<&String> for ShownPath {
    fn from(path: &String) -> Self {
        Self::from(path.as_str())
    }
}

impl From<&Self> for ShownPath {
    fn from(path: &Self) -> Self {
        path.clone()
    }
}

impl From<ShownPath> for String {
    fn from(path: ShownPath) -> Self {
        path.as_str().to_owned()
    }
}
