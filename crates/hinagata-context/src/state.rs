//! What becomes of a file, in one word.

use serde::{Deserialize, Serialize};

use crate::kinds::FileKind;

/// Why a file is not in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
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
    /// It has the exact versions of dependencies.
    Lock,
    /// A program wrote it.
    Generated,
    /// It is copied from another project.
    Vendored,
    /// Its code is in very long lines.
    Minified,
    /// It is a large table, record or snapshot.
    Data,
    /// It is a link to a file that is in.
    Duplicate,
    /// It is a pipe, a socket or a device.
    Special,
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
            Self::Lock => "lock",
            Self::Generated => "generated",
            Self::Vendored => "vendored",
            Self::Minified => "minified",
            Self::Data => "data",
            Self::Duplicate => "duplicate",
            Self::Special => "special",
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
            Self::Lock => "it is a lock file",
            Self::Generated => "it is generated",
            Self::Vendored => "it is copied from another project",
            Self::Minified => "it is minified",
            Self::Data => "it is data",
            Self::Duplicate => "it is a link to a file that is in",
            Self::Special => "it is not a regular file",
        }
    }

    /// All reasons, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::Budget,
        Self::Ignored,
        Self::Excluded,
        Self::Secret,
        Self::Binary,
        Self::Unreadable,
        Self::Outside,
        Self::Lock,
        Self::Generated,
        Self::Vendored,
        Self::Minified,
        Self::Data,
        Self::Duplicate,
        Self::Special,
    ];
}

impl From<FileKind> for LeftOutReason {
    fn from(kind: FileKind) -> Self {
        match kind {
            FileKind::Lock => Self::Lock,
            FileKind::Generated => Self::Generated,
            FileKind::Vendored => Self::Vendored,
            FileKind::Minified => Self::Minified,
            FileKind::Data => Self::Data,
        }
    }
}

/// How a file is in the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackedForm {
    /// The whole text.
    #[default]
    Taken,
    /// The text without the bodies of functions.
    Outlined,
    /// The name only: the text does not fit.
    Named,
    /// The start and the end of the text.
    Cut,
    /// The whole text, with marks in place of secrets.
    Redacted,
}

impl PackedForm {
    /// All forms, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Taken, Self::Outlined, Self::Named, Self::Cut, Self::Redacted];

    /// Whether it is the whole text.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        *self == Self::Taken
    }

    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Outlined => "outlined",
            Self::Named => "named",
            Self::Cut => "cut",
            Self::Redacted => "redacted",
        }
    }
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum FileState {
    /// It is in the context, at least its name.
    #[serde(rename = "state")]
    Packed(PackedForm),
    /// It is not in the context.
    #[serde(rename = "left_out")]
    LeftOut(LeftOutReason),
}

impl FileState {
    /// The word in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Packed(form) => form.as_str(),
            Self::LeftOut(reason) => reason.as_str(),
        }
    }

    /// All states, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        let packed = PackedForm::ALL.into_iter().map(Self::Packed);
        packed.chain(LeftOutReason::ALL.into_iter().map(Self::LeftOut))
    }
}
