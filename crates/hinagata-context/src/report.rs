//! The report of packing: the outcome for every file.

use serde::Serialize;

/// Why a file is not in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// It does not fit into the budget.
    Budget,
    /// An ignore file excludes it.
    Ignored,
    /// An exclude pattern or the built-in list excludes it.
    Excluded,
    /// It contains a secret.
    Secret,
    /// It is not a text file.
    Binary,
    /// It cannot be read.
    Unreadable,
    /// A link leads out of the base directory.
    Outside,
}

impl LeftOutReason {
    /// The name in reports.
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

    /// A description for people.
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

    /// All reasons, in the order of reports.
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

/// The outcome for a file, a skipped directory or a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The path from the base directory; the path of a directory ends with a slash.
    pub path: String,
    /// The resource it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The size, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The number of tokens, if counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// Why it is not in the context; `None` if it is packed.
    #[serde(rename = "left_out", skip_serializing_if = "Option::is_none")]
    pub reason: Option<LeftOutReason>,
    /// The details: the rule, the limit or the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Entry {
    /// An entry that is left out.
    pub(crate) fn left_out(
        path: impl Into<String>,
        reason: LeftOutReason,
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

    /// An entry that is packed.
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

/// The outcome for everything that packing examined.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// One entry for each file, in the order of packing; files that the search left out come first.
    pub entries: Vec<Entry>,
    /// Patterns that no file matched.
    pub unmatched: Vec<String>,
    /// Notices about requested files that are missing or changed in the context.
    #[serde(rename = "warnings")]
    pub notices: Vec<Notice>,
    /// Files in the context, without those of resources.
    pub file_count: usize,
    /// Bytes of all file contents.
    pub total_bytes: u64,
    /// Tokens of the text, if counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<usize>,
    /// Whether the tokens are only estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_estimated: Option<bool>,
    /// How far an estimate may be off, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_error_percent: Option<u8>,
}

impl Report {
    /// The number of files that are left out for `reason`.
    #[must_use]
    pub fn count(&self, reason: LeftOutReason) -> usize {
        self.entries.iter().filter(|entry| entry.reason == Some(reason)).count()
    }
}

/// A notice about a requested file that is missing or changed in the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Its subject: a path or a pattern.
    pub about: String,
    /// Why the file is not in the context, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<LeftOutReason>,
    /// The message.
    pub message: String,
}

impl Notice {
    pub(crate) fn new(
        about: impl Into<String>,
        reason: impl Into<Option<LeftOutReason>>,
        message: impl Into<String>,
    ) -> Self {
        Self { about: about.into(), reason: reason.into(), message: message.into() }
    }

    /// The notice about a named file that is left out.
    pub(crate) fn for_entry(entry: &Entry, reason: LeftOutReason) -> Self {
        let path = &entry.path;
        let why = entry.detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})"));
        Self::new(path, reason, format!("`{path}` is left out: {}{why}", reason.describe()))
    }
}

/// The first few paths, and the number of the others.
pub(crate) fn summarize_paths<P: AsRef<str>>(paths: &[P]) -> String {
    const FEW: usize = 5;
    let shown: Vec<&str> = paths.iter().take(FEW).map(AsRef::as_ref).collect();
    match paths.len().saturating_sub(FEW) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
