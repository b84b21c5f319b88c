//! The variables of a template.

use serde_json::{Map, Value as Json};

use crate::Key;

/// The variables of a render, by name.
///
/// Layers of variables are looked up one after the other; nothing is merged for a render.
pub trait Variables {
    /// The value of the variable `key`.
    fn find(&self, key: &Key) -> Option<&Json>;

    /// All names, to find similar ones if a variable is undefined.
    fn names(&self) -> Vec<&str>;

    /// The object whose entries are the variables, if there is one.
    fn as_json(&self) -> Option<&Json> {
        None
    }
}

impl Variables for Map<String, Json> {
    #[inline]
    fn find(&self, key: &Key) -> Option<&Json> {
        key.find_in(self)
    }

    fn names(&self) -> Vec<&str> {
        self.keys().map(String::as_str).collect()
    }
}

/// An object's entries are the variables; any other document has none.
impl Variables for Json {
    #[inline]
    fn find(&self, key: &Key) -> Option<&Json> {
        match self {
            Json::Object(map) => key.find_in(map),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        self.as_object().map(Variables::names).unwrap_or_default()
    }

    fn as_json(&self) -> Option<&Json> {
        Some(self)
    }
}

/// Layers of variables: the first one that has a name wins.
impl<V: Variables + ?Sized> Variables for [&V] {
    fn find(&self, key: &Key) -> Option<&Json> {
        self.iter().find_map(|layer| layer.find(key))
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.iter().flat_map(|layer| layer.names()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
