//! The two languages, and how the one of a template is found out.

use std::fmt;

/// A template language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Engine {
    /// Jinja2, as known from Python.
    #[default]
    Jinja,
    /// Go's `text/template`.
    Go,
}

impl Engine {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Jinja, Self::Go];

    /// The engine that settings call `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.as_str() == name)
    }

    /// The engine that a file of this name is written for: Go for `.gotmpl` and `.tmpl`, else Jinja.
    #[must_use]
    pub fn of_file(name: &str) -> Self {
        match name.rsplit_once('.') {
            Some((_, "gotmpl" | "tmpl")) => Self::Go,
            _ => Self::Jinja,
        }
    }

    /// The name that settings have for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Jinja => "jinja",
            Self::Go => "go",
        }
    }
}

impl fmt::Display for Engine {
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
            ("greeting.md", Engine::Jinja),
            ("greeting.j2", Engine::Jinja),
            ("greeting", Engine::Jinja),
            ("a.gotmpl", Engine::Go),
            ("dir.tmpl/a.md", Engine::Jinja),
            ("dir/a.md.tmpl", Engine::Go),
        ];
        for (name, engine) in cases {
            assert_eq!(Engine::of_file(name), engine, "{name}");
        }
    }

    #[test]
    fn engines_are_found_by_their_names() {
        for engine in Engine::ALL {
            assert_eq!(Engine::named(engine.as_str()), Some(engine));
        }
        assert_eq!(Engine::named("Jinja"), None);
    }
}
