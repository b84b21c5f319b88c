//! What a check reports.

use hinagata_document::{Diagnostic, Error, LineColumn, Place};

use crate::{codes::CodeSpec, level::Level};

/// A finding about one place of a template, before the place is known in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What kind it is.
    pub code: &'static CodeSpec,
    /// How serious it is here; the table has the usual level.
    pub level: Level,
    /// The joined name of the template.
    pub template: Box<str>,
    /// The first byte of the place and the byte behind it, in the template.
    pub span: (u32, u32),
    /// One sentence, in lower case, without a full stop.
    pub message: String,
    /// Names that may have been meant, the most similar first.
    pub near: Vec<String>,
    /// What to do.
    pub help: Option<String>,
}

/// A finding about a file of the workspace.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What kind it is.
    pub code: &'static CodeSpec,
    /// How serious it is.
    pub level: Level,
    /// The prompt, pack or file that it is about, as a path from the workspace root.
    pub source: String,
    /// The message, the place, similar names and a hint.
    pub error: Error,
    /// How many bytes of the template the place covers, if known.
    pub length: Option<u32>,
    /// Where the place ends in the file, if known.
    pub end: Option<LineColumn>,
}

impl Finding {
    /// A finding at the place of `error`.
    pub(crate) fn new(
        code: &'static CodeSpec,
        level: Level,
        source: impl Into<String>,
        error: Error,
    ) -> Self {
        Self { code, level, source: source.into(), error, length: None, end: None }
    }

    /// The place in a file, if it is known.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.error.place()
    }

    /// The file of the place, or the source.
    #[must_use]
    pub fn file(&self) -> &str {
        self.place().map_or(&self.source, |place| &place.file)
    }

    /// The finding as a diagnostic, whose details have its code as `check`.
    #[must_use]
    pub fn to_diagnostic(&self) -> Diagnostic {
        let error = self.error.clone().with("check", self.code.code);
        match self.level {
            Level::Error => Diagnostic::error(&*self.source, error),
            Level::Warning | Level::Hint => Diagnostic::warning(&*self.source, error),
        }
    }

    /// What findings are sorted by.
    pub(crate) fn sort_key(&self) -> (&str, u32, u32, &str, &str) {
        let (line, column) = self.place().map_or((0, 0), |place| (place.line, place.column));
        (self.file(), line, column, self.code.code, self.error.message())
    }
}
