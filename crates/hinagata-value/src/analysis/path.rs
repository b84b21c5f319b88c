//! Dotted paths to data.

use std::{fmt, sync::Arc};

/// Maximum length of a path. Longer ones are truncated: repeatedly assigning a part of a variable to itself
/// must not take quadratic time, and the analysis of a recursive template must end.
const MAX_PARTS: usize = 16;

/// A variable and the path to a part of its value.
///
/// Prints as `user.profile.name`, `messages[0].content`, `tools[].name`. Cheap to clone: many uses
/// share one path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariablePath {
    /// The variable, or [`VariablePath::WHOLE`].
    pub root: Arc<str>,
    /// The steps from there, of limited number.
    pub parts: Arc<[PathPart]>,
}

/// One step of a [`VariablePath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathPart {
    /// An attribute or a key.
    Key(Arc<str>),
    /// The item with this number; from the end if negative.
    Index(i64),
    /// Any item, or one whose number or key is computed.
    Each,
}

impl VariablePath {
    /// The root of the path to all variables together: what a Go template reads as `.`.
    pub const WHOLE: &str = ".";

    /// The variable called `root`.
    #[must_use]
    pub fn new(root: &str) -> Self {
        Self { root: root.into(), parts: Arc::new([]) }
    }

    /// All variables together.
    #[must_use]
    pub fn whole_data() -> Self {
        Self::new(Self::WHOLE)
    }

    /// Whether this is all variables together.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.parts.is_empty() && &*self.root == Self::WHOLE
    }

    /// The path with further steps, up to the maximum length. A key of all variables is a variable.
    #[must_use]
    pub fn with_parts(&self, more: impl IntoIterator<Item = PathPart>) -> Self {
        let mut more = more.into_iter().peekable();
        let mut root = Arc::clone(&self.root);
        if self.is_whole()
            && let Some(PathPart::Key(key)) = more.next_if(|part| matches!(part, PathPart::Key(_)))
        {
            root = key;
        }
        let parts = self.parts.iter().cloned().chain(more).take(MAX_PARTS);
        Self { root, parts: parts.collect() }
    }

    /// The path of the variable `other` in a template whose variables are the entries of the value at this path.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let root = (&*other.root != Self::WHOLE).then(|| PathPart::Key(Arc::clone(&other.root)));
        self.with_parts(root.into_iter().chain(other.parts.iter().cloned()))
    }
}

impl fmt::Display for VariablePath {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> PathPart {
        PathPart::Key(name.into())
    }

    #[test]
    fn a_path_prints_as_it_is_written() {
        let path =
            VariablePath::new("m").with_parts([PathPart::Index(-1), key("a b"), PathPart::Each, key("c")]);
        assert_eq!(path.to_string(), "m[-1][\"a b\"][].c");
        assert_eq!(VariablePath::whole_data().to_string(), ".");
    }

    #[test]
    fn a_key_of_all_variables_is_a_variable() {
        let whole = VariablePath::whole_data();
        assert_eq!(whole.with_parts([key("user"), key("name")]).to_string(), "user.name");
        assert_eq!(whole.with_parts([PathPart::Each, key("name")]).to_string(), ".[].name");
        assert!(whole.with_parts([]).is_whole());
    }

    #[test]
    fn a_variable_of_a_used_template_is_a_part_of_what_it_gets() {
        let (user, name) = (VariablePath::new("user"), VariablePath::new("name"));
        assert_eq!(user.join(&name).to_string(), "user.name");
        assert_eq!(user.join(&VariablePath::whole_data()), user);
        assert_eq!(VariablePath::whole_data().join(&name), name);
        let item = VariablePath::whole_data().with_parts([PathPart::Each]);
        assert_eq!(user.join(&item).to_string(), "user[]");
    }

    #[test]
    fn paths_have_a_limited_length() {
        let long = (0..100).fold(VariablePath::new("x"), |path, _| path.with_parts([key("a")]));
        assert_eq!(long.parts.len(), MAX_PARTS);
    }
}
