//! Why a tokenizer file cannot be used.

use std::{
    error::Error,
    fmt,
    path::{Path, PathBuf},
};

/// Why a tokenizer file cannot be used.
#[derive(Debug)]
pub struct TokenizerError {
    path: PathBuf,
    problem: String,
    hint: &'static str,
}

impl TokenizerError {
    /// An error about a file; `problem` goes on after its name.
    pub(crate) fn new(path: &Path, problem: impl Into<String>, hint: &'static str) -> Self {
        Self { path: path.to_owned(), problem: problem.into(), hint }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        self.hint
    }
}

impl fmt::Display for TokenizerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tokenizer `{}` {}", self.path.display(), self.problem)
    }
}

impl Error for TokenizerError {}
