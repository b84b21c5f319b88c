//! What became of every file.

use serde::Serialize;

/// Why a file is not in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// It did not fit.
    Budget,
    /// An ignore file names it.
    Ignored,
    /// A pattern to leave out, or the built-in list, names it.
    Excluded,
    /// It holds a secret.
    Secret,
    /// It is no text.
    Binary,
    /// It could not be read.
    Unreadable,
    /// A link leads out of the base directory.
    Outside,
}

impl Reason {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Ignored => "ignored",
            Self::Excluded => "excluded",
            Self::Secret => "secret",
            Self::Binary => "binary",
            Self::Unreadable => "unreadable",
            Self::Outside => "outside",
        }
    }

    /// What it means, for people.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Budget => "it does not fit",
            Self::Ignored => "an ignore file excludes it",
            Self::Excluded => "a pattern or the built-in list excludes it",
            Self::Secret => "it contains a secret",
            Self::Binary => "it is not a text file",
            Self::Unreadable => "it cannot be read",
            Self::Outside => "a link leads out of the base directory",
        }
    }

    /// All reasons, in the order in which they are told.
    pub const ALL: [Self; 7] = [
        Self::Budget,
        Self::Ignored,
        Self::Excluded,
        Self::Secret,
        Self::Binary,
        Self::Unreadable,
        Self::Outside,
    ];
}

/// What became of a file, a directory that was not entered, or a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The path from the base directory; that of a directory ends with a slash.
    pub path: String,
    /// The resource it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The size, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The tokens, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// Why it is not in the context; none for one that is.
    #[serde(rename = "left_out", skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// What exactly: the rule, the limit, the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Entry {
    /// Something that is left out.
    pub(crate) fn left_out(
        path: impl Into<String>,
        reason: Reason,
        detail: impl Into<Option<String>>,
    ) -> Self {
        Self {
            path: path.into(),
            resource: None,
            bytes: None,
            tokens: None,
            reason: Some(reason),
            detail: detail.into(),
        }
    }

    /// Something that is in the context.
    pub(crate) fn in_context(path: impl Into<String>, bytes: u64, tokens: Option<usize>) -> Self {
        Self { path: path.into(), resource: None, bytes: Some(bytes), tokens, reason: None, detail: None }
    }

    pub(crate) fn with_size(mut self, bytes: Option<u64>) -> Self {
        self.bytes = bytes;
        self
    }

    /// Whether it is in the context.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.reason.is_none()
    }
}

/// What became of everything that was looked at.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// One entry for each file, in the order in which they were tried; what was left out while looking for files comes
    /// first.
    pub entries: Vec<Entry>,
    /// Patterns that no file matched.
    pub unmatched: Vec<String>,
    /// What was asked for by name and is not in the context, or not as it was asked for.
    #[serde(rename = "warnings")]
    pub notices: Vec<Notice>,
    /// Files in the context, without those of resources.
    pub file_count: usize,
    /// Bytes of all contents.
    pub total_bytes: u64,
    /// Tokens of the text, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<usize>,
    /// Whether the tokens are only estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_estimated: Option<bool>,
}

impl Report {
    /// How many files were left out for `reason`.
    #[must_use]
    pub fn count(&self, reason: Reason) -> usize {
        self.entries.iter().filter(|entry| entry.reason == Some(reason)).count()
    }
}

/// Something that was asked for and is not in the context, or not as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// What it is about: a path or a pattern.
    pub about: String,
    /// Why it is not in the context, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The sentence.
    pub message: String,
}

impl Notice {
    pub(crate) fn new(
        about: impl Into<String>,
        reason: impl Into<Option<Reason>>,
        message: impl Into<String>,
    ) -> Self {
        Self { about: about.into(), reason: reason.into(), message: message.into() }
    }

    /// That of a file that was named and left out.
    pub(crate) fn for_entry(entry: &Entry, reason: Reason) -> Self {
        let path = &entry.path;
        let why = entry.detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})"));
        Self::new(path, reason, format!("`{path}` is left out: {}{why}", reason.describe()))
    }
}

/// The first few of many paths.
pub(crate) fn summarize_paths<P: AsRef<str>>(paths: &[P]) -> String {
    const FEW: usize = 5;
    let shown: Vec<&str> = paths.iter().take(FEW).map(AsRef::as_ref).collect();
    match paths.len().saturating_sub(FEW) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
