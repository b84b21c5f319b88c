//! Levels of findings.

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Every render that reaches the place fails, or the definition cannot be used.
    Error,
    /// It renders, but probably not as the author meant it.
    Warning,
    /// Of interest while editing.
    Hint,
}

impl Level {
    /// All levels, the most serious first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Hint];

    /// The name for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Hint => "hint",
        }
    }

    /// The level called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}
