//! What an import or an export could not carry over unchanged, and where.

use hinagata_document::LineColumn;
use serde_json::{Value, json};

/// How much of something is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossLevel {
    /// It is gone.
    Lost,
    /// It works differently.
    Changed,
    /// It is carried along and not acted upon.
    Kept,
}

impl LossLevel {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Changed => "changed",
            Self::Kept => "kept",
        }
    }
}

macro_rules! loss_codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $level:ident;)*) => {
        /// What kind of thing is lost, changed or kept.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum LossCode {
            $($(#[$doc])* $variant,)*
        }

        impl LossCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in reports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// How much is left.
            #[must_use]
            pub const fn level(self) -> LossLevel {
                match self {
                    $(Self::$variant => LossLevel::$level,)*
                }
            }
        }
    };
}

loss_codes! {
    /// A program, which is never imported.
    Code "code" Lost;
    /// Addresses and keys of model providers.
    Connection "connection" Lost;
    /// Something outside of the files.
    Reference "reference" Lost;
    /// A named part of a template that does not exist.
    Partial "partial" Lost;
    /// A piece of a message that has no counterpart.
    Part "part" Lost;
    /// Older versions.
    Versions "versions" Lost;
    /// A check that cannot be carried over.
    Tests "tests" Lost;
    /// A function that the format does not define: a tool of that name is called.
    Helper "helper" Changed;
    /// A command, whose output is now a parameter.
    Shell "shell" Changed;
    /// A value of the host, which is now a parameter.
    Data "data" Changed;
    /// An id or a parameter with another name; the old name is an alias.
    Renamed "renamed" Changed;
    /// Another role.
    Role "role" Changed;
    /// Line breaks that are not `\n`.
    Newlines "newlines" Changed;
    /// A schema that is named, not given.
    Schema "schema" Changed;
    /// Something that breaks a rule of its own format.
    Invalid "invalid" Changed;
    /// Values may print differently.
    Print "print" Changed;
    /// Values are not escaped for HTML.
    Escape "escape" Changed;
    /// Other values count as true.
    Truth "truth" Changed;
    /// An expression that the target format cannot express.
    Expression "expression" Changed;
    /// Tools that the prompt may use.
    Tools "tools" Kept;
    /// Programs beside the prompt.
    Scripts "scripts" Kept;
    /// When a program applies the prompt by itself.
    Activation "activation" Kept;
    /// Keys that nobody knows.
    Unknown "unknown" Kept;
}

/// One entry of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The kind.
    pub code: LossCode,
    /// The file.
    pub file: String,
    /// The line and the column.
    pub at: LineColumn,
    /// The text at that place, shortened.
    pub excerpt: String,
    /// What is lost, changed or kept.
    pub what: String,
    /// What takes its place; empty if nothing does.
    pub instead: String,
}

impl Loss {
    /// The entry as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "code": self.code.as_str(),
            "level": self.code.level().as_str(),
            "file": self.file,
            "line": self.at.line,
            "column": self.at.column,
            "excerpt": self.excerpt,
            "what": self.what,
            "instead": self.instead,
        })
    }
}

/// Maximum number of entries; more are counted only.
const MOST_LOSSES: usize = 1_000;

/// The losses of one import or export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    losses: Vec<Loss>,
    left_out: usize,
}

impl Report {
    /// The entries in the order of their places.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// How many entries were left out because there were too many.
    #[must_use]
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// Adds an entry; a second one with the same code and place is left out.
    pub fn push(&mut self, loss: Loss) {
        let is_known =
            |known: &Loss| known.code == loss.code && known.at == loss.at && known.what == loss.what;
        if self.losses.iter().any(is_known) {
            return;
        }
        match self.losses.len() < MOST_LOSSES {
            true => self.losses.push(loss),
            false => self.left_out += 1,
        }
    }

    /// Adds the entries of another report.
    pub fn append(&mut self, other: Self) {
        self.left_out += other.left_out;
        other.losses.into_iter().for_each(|loss| self.push(loss));
    }

    /// Sorts the entries by file and place.
    pub fn sort(&mut self) {
        self.losses.sort_by(|a, b| {
            (&a.file, a.at.line, a.at.column, a.code).cmp(&(&b.file, b.at.line, b.at.column, b.code))
        });
    }

    /// The codes, each once, sorted by name.
    #[must_use]
    pub fn codes(&self) -> Vec<&'static str> {
        let mut codes: Vec<&'static str> = self.losses.iter().map(|loss| loss.code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// The entries as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.losses.iter().map(Loss::to_json).collect()
    }

    /// Changes the paths of the files.
    pub fn map_files(&mut self, change: impl Fn(&str) -> String) {
        for loss in &mut self.losses {
            loss.file = change(&loss.file);
        }
    }

    /// Whether something is lost or changed.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        self.left_out > 0 || self.losses.iter().any(|loss| loss.code.level() != LossLevel::Kept)
    }
}
