//! The two template languages.

use std::fmt;

/// A template language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// Jinja2, as in Python.
    #[default]
    Jinja,
    /// Go's `text/template`.
    Go,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::Jinja, Self::Go];

    /// The language with this name in settings.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.as_str() == name)
    }

    /// The language of a file with this name: Go for `.gotmpl` and `.tmpl`, else Jinja.
    #[must_use]
    pub fn from_file_name(name: &str) -> Self {
        match name.rsplit_once('.') {
            Some((_, "gotmpl" | "tmpl")) => Self::Go,
            _ => Self::Jinja,
        }
    }

    /// The name in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Jinja => "jinja",
            Self::Go => "go",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_file_name_decides() {
        let cases = [
            ("greeting.md", Language::Jinja),
            ("greeting.j2", Language::Jinja),
            ("greeting", Language::Jinja),
            ("a.gotmpl", Language::Go),
            ("dir.tmpl/a.md", Language::Jinja),
            ("dir/a.md.tmpl", Language::Go),
        ];
        for (name, language) in cases {
            assert_eq!(Language::from_file_name(name), language, "{name}");
        }
    }

    #[test]
    fn engines_are_found_by_their_names() {
        for language in Language::ALL {
            assert_eq!(Language::from_name(language.as_str()), Some(language));
        }
        assert_eq!(Language::from_name("Jinja"), None);
    }
}
