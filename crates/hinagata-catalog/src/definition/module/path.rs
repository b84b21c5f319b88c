//! Paths into the context.

use std::fmt;

use serde_json::Value;

/// A path to a value: the name of a variable, then names of entries or indexes of lists, joined by dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(Box<str>);

impl Path {
    /// Parses a path; `None` when `text` is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let is_path = parts.next().is_some_and(is_name)
            && parts
                .all(|part| is_name(part) || (!part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())));
        is_path.then(|| Self(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of its variable.
    pub(crate) fn root(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }

    /// The steps after the variable.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &str> {
        self.0.split('.').skip(1)
    }

    /// The value that its steps lead to from the value of its variable.
    pub(crate) fn follow<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.steps().try_fold(root, |value, step| match value {
            Value::Object(map) => map.get(step),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether `text` can be the name of a variable in a template.
pub(crate) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && characters.all(|next| next == '_' || next.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_names_and_places_joined_by_dots() {
        for text in ["a", "a.b", "docs.0.title", "_x.ß"] {
            assert!(Path::parse(text).is_some(), "{text}");
        }
        for text in ["", ".", "a.", "a..b", "0.a", "a b", "a-b", "a.-1", "a[0]", "{{ a }}"] {
            assert!(Path::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_path_is_followed_through_maps_and_lists() {
        let root = json!({"list": [{"t": 1}]});
        let path = Path::parse("docs.list.0.t").expect("is a path");
        assert_eq!((path.root(), path.follow(&root)), ("docs", Some(&json!(1))));
        assert_eq!(Path::parse("docs.list.x").expect("is a path").follow(&root), None);
    }
}
