//! The report of packing: the outcome for every file.

use std::collections::BTreeMap;

use hinagata_secrets::RedactedFile;
use hinagata_tokens::TokenCount;
use serde::Serialize;

pub(crate) use crate::state::{FileState, LeftOutReason, PackedForm};
use crate::{detail::Detail, options::TextForm, shown_path::ShownPath};

/// The outcome for a file, a skipped directory or a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The path from the base directory; the path of a directory ends with a slash.
    pub path: ShownPath,
    /// The resource it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The number of files in a directory that is not entered, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// The size of the packed text, or of the file that is left out, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The number of tokens, with the lines around the text, if counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// What became of it.
    #[serde(flatten)]
    pub state: FileState,
    /// The encoding of the file, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
    /// The details: the rule, the limit or the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

impl Entry {
    /// An entry that is left out.
    pub(crate) fn left_out(
        path: impl Into<ShownPath>,
        reason: LeftOutReason,
        detail: impl Into<Option<String>>,
    ) -> Self {
        Self::new(path, FileState::LeftOut(reason)).with_detail(detail.into().map(Detail::from))
    }

    /// An entry in the context.
    pub(crate) fn packed(path: impl Into<ShownPath>, form: PackedForm) -> Self {
        Self::new(path, FileState::Packed(form))
    }

    fn new(path: impl Into<ShownPath>, state: FileState) -> Self {
        Self {
            path: path.into(),
            resource: None,
            files: None,
            bytes: None,
            tokens: None,
            state,
            encoding: None,
            detail: None,
        }
    }

    pub(crate) fn with_size(mut self, bytes: Option<u64>) -> Self {
        self.bytes = bytes;
        self
    }

    pub(crate) fn with_tokens(mut self, tokens: Option<usize>) -> Self {
        self.tokens = tokens;
        self
    }

    pub(crate) fn with_files(mut self, files: Option<u64>) -> Self {
        self.files = files;
        self
    }

    pub(crate) fn with_detail(mut self, detail: Option<Detail>) -> Self {
        self.detail = detail;
        self
    }

    /// How it is in the context, if it is.
    pub(crate) fn form(&self) -> Option<PackedForm> {
        match self.state {
            FileState::Packed(form) => Some(form),
            FileState::LeftOut(_) => None,
        }
    }

    /// Says which secrets are redacted.
    pub(crate) fn mark_redacted(&mut self, redacted: &RedactedFile) {
        let summary = match self.form() {
            Some(PackedForm::Taken | PackedForm::Redacted) => redacted.summary(),
            _ => format!("redacted: {}", redacted.summary()),
        };
        if self.form() == Some(PackedForm::Taken) {
            self.state = FileState::Packed(PackedForm::Redacted);
        }
        self.detail = Some(match &self.detail {
            Some(detail) => format!("{detail}, {summary}").into(),
            None => summary.into(),
        });
    }

    /// Whether its text is in the context, at least in parts.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        matches!(self.state, FileState::Packed(form) if form != PackedForm::Named)
    }

    /// Whether all of its text is in the context.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.state, FileState::Packed(PackedForm::Taken | PackedForm::Redacted))
    }

    /// Whether all of its text is in the context, or its outline where `form` asks for that.
    pub(crate) fn is_in_form(&self, form: TextForm) -> bool {
        self.is_whole() || form.compress && self.form() == Some(PackedForm::Outlined)
    }

    /// Whether it is not in the context as asked for, because it does not fit.
    pub(crate) fn is_lowered(&self, form: TextForm) -> bool {
        self.reason() == Some(LeftOutReason::Budget) || self.form().is_some() && !self.is_in_form(form)
    }

    /// Why it is not in the context; `None` if it is, at least its name.
    #[must_use]
    pub fn reason(&self) -> Option<LeftOutReason> {
        match self.state {
            FileState::Packed(_) => None,
            FileState::LeftOut(reason) => Some(reason),
        }
    }

    /// Whether U+FFFD replaces bytes of its text.
    pub(crate) fn has_replaced_bytes(&self) -> bool {
        matches!(&self.detail, Some(Detail::Text(detail)) if detail.contains("replaced by U+FFFD"))
    }

    /// The number of files that the entry stands for.
    #[must_use]
    pub fn file_count(&self) -> u64 {
        self.files.unwrap_or(1)
    }
}

/// A section of the text that is not a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SectionEntry {
    /// Its name.
    pub name: &'static str,
    /// The size of its text.
    pub bytes: u64,
    /// The number of tokens, with the lines around the text, if counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// What it takes from the budget in tokens.
    #[serde(skip)]
    pub(crate) cost: usize,
    /// Whether its text is cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Whether its text comes from git.
    #[serde(skip)]
    pub(crate) from_git: bool,
}

/// The outcome for everything that packing examined.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// One entry for each file, by path; resources follow the files.
    pub entries: Vec<Entry>,
    /// The sections of the text that are not files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionEntry>,
    /// Patterns that no file matched.
    pub unmatched: Vec<String>,
    /// Notices about requested files that are missing or changed in the context.
    #[serde(rename = "warnings")]
    pub notices: Vec<Notice>,
    /// Texts whose secrets are redacted.
    #[serde(skip)]
    pub redacted: Vec<RedactedFile>,
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
    /// The number of files that are left out for `reason`, as far as directories that are not entered were counted.
    #[must_use]
    pub fn count(&self, reason: LeftOutReason) -> u64 {
        self.count_state(FileState::LeftOut(reason))
    }

    /// The number of files in `state`.
    #[must_use]
    pub fn count_state(&self, state: FileState) -> u64 {
        self.entries.iter().filter(|entry| entry.state == state).map(Entry::file_count).sum()
    }

    /// Adds the tokens of the text, if counted.
    pub(crate) fn set_tokens(&mut self, counted: Option<TokenCount>) {
        self.total_tokens = counted.map(|counted| counted.tokens);
        self.tokens_estimated = counted.map(TokenCount::is_estimated);
        self.tokens_error_percent = counted.and_then(|counted| counted.error_percent);
    }

    /// Whether the text has at least one file or resource, or a text of git.
    #[must_use]
    pub fn has_packed(&self) -> bool {
        self.entries.iter().any(Entry::is_packed) || self.sections.iter().any(|section| section.from_git)
    }

    /// Files and directories whose text is not in the context, by state.
    pub(crate) fn missing(&self) -> Missing {
        let mut missing = Missing::default();
        for entry in self.entries.iter().filter(|entry| !entry.is_packed()) {
            let counts = missing.by_state.entry(entry.state).or_default();
            let is_directory = entry.path.ends_with('/');
            *if is_directory { &mut counts.directories } else { &mut counts.files } += 1;
        }
        missing
    }
}

/// The numbers of files and directories whose text is not in the context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) by_state: BTreeMap<FileState, MissingCounts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingCounts {
    pub(crate) files: u64,
    pub(crate) directories: u64,
}

impl Missing {
    /// The longest that can be missing of `count` files, of which some are in `known` states.
    pub(crate) fn at_most(known: impl Iterator<Item = FileState>, count: u64) -> Self {
        let possible =
            [LeftOutReason::Budget, LeftOutReason::Binary, LeftOutReason::Secret].map(FileState::LeftOut);
        let possible = possible.into_iter().chain([FileState::Packed(PackedForm::Named)]).chain(known);
        let counts = MissingCounts { files: count, directories: 0 };
        Self { by_state: possible.map(|state| (state, counts)).collect() }
    }

    /// Says what is missing; `None` if nothing is.
    pub(crate) fn describe(&self) -> Option<String> {
        let parts: Vec<String> = [
            (self.sum(|counts| counts.files), "file", "files", self.words(|counts| counts.files)),
            (
                self.sum(|counts| counts.directories),
                "directory",
                "directories",
                self.words(|counts| counts.directories),
            ),
        ]
        .into_iter()
        .filter(|(sum, ..)| *sum > 0)
        .map(|(sum, one, many, words)| format!("{sum} {} ({words})", if sum == 1 { one } else { many }))
        .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn sum(&self, count: impl Fn(&MissingCounts) -> u64) -> u64 {
        self.by_state.values().map(count).sum()
    }

    fn words(&self, count: impl Fn(&MissingCounts) -> u64) -> String {
        let counted = self.by_state.iter().map(|(state, counts)| (state, count(counts)));
        let words = counted.filter(|(_, count)| *count > 0);
        words.map(|(state, count)| format!("{count} {}", state.as_str())).collect::<Vec<_>>().join(", ")
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
        let path = entry.path.as_str();
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
