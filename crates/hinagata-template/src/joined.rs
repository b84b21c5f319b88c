//! The joined names of templates.

use std::collections::HashMap;

/// The joined names of uses of templates, by the template that contains the use and by the name as written.
///
/// Joining may mean looking at files, so a name is joined once: an analysis keeps the names that it joins in
/// [`Graph::joined`](crate::Graph::joined), and a render keeps those that it joins itself.
#[derive(Clone, Debug, Default)]
pub struct JoinedNames {
    names: HashMap<Box<str>, HashMap<Box<str>, Box<str>>>,
    len: usize,
}

impl JoinedNames {
    /// The joined name of the template that `from` calls `name`.
    #[must_use]
    pub fn get(&self, from: &str, name: &str) -> Option<&str> {
        if self.len == 0 {
            return None;
        }
        Some(self.names.get(from)?.get(name)?)
    }

    /// Adds the names of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (from, names) in &other.names {
            for (name, joined) in names {
                self.insert(from, name, joined);
            }
        }
    }

    pub(crate) fn insert(&mut self, from: &str, name: &str, joined: &str) {
        self.names.entry(from.into()).or_default().insert(name.into(), joined.into());
        self.len += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}
