//! Sections of the text that are not files.

/// A section of the text that is not a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SectionKind {
    /// The caller's text at the start.
    Header,
    /// The tree of files.
    Tree,
    /// The last commits.
    Commits,
    /// Changes between two revisions.
    Changes,
    /// Changes that are staged.
    Staged,
    /// Changes that are not staged.
    Unstaged,
    /// The caller's text at the end.
    Instruction,
}

impl SectionKind {
    /// The name in reports, and in frames for programs.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Tree => "tree",
            Self::Commits => "commits",
            Self::Changes => "changes",
            Self::Staged => "staged_changes",
            Self::Unstaged => "unstaged_changes",
            Self::Instruction => "instruction",
        }
    }

    /// The name in frames for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Header => "Header",
            Self::Tree => "Tree",
            Self::Commits => "Commits",
            Self::Changes => "Changes",
            Self::Staged => "Staged changes",
            Self::Unstaged => "Unstaged changes",
            Self::Instruction => "Instructions",
        }
    }

    /// Whether its text has changes of files.
    pub(crate) const fn is_changes(self) -> bool {
        matches!(self, Self::Changes | Self::Staged | Self::Unstaged)
    }

    /// Whether its text comes from git.
    pub(crate) const fn is_git(self) -> bool {
        matches!(self, Self::Commits) || self.is_changes()
    }

    /// Whether it stands before the files.
    pub(crate) const fn is_before_files(self) -> bool {
        matches!(self, Self::Header | Self::Tree)
    }
}

/// A section with its text.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) kind: SectionKind,
    pub(crate) text: String,
    /// Whether the text is cut.
    pub(crate) cut: bool,
}
