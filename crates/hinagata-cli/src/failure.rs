//! What a command can fail with: each failure has one code for scripts and one exit code.

use std::io;

use hinagata_value::{Error, ErrorKind, Place};

use crate::{diagnostic::Diagnostic, exit};

/// The stable name of a failure, the same through every door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Usage,
    NotFound,
    Syntax,
    Undefined,
    TemplateNotFound,
    Security,
    Runtime,
    Limit,
    Deadline,
}

impl Code {
    /// The code of an error of an engine.
    ///
    /// Endless recursion is an error of kind `runtime` that names its limit: the limit decides.
    fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::Deadline => Self::Deadline,
            _ if error.limit().is_some() => Self::Limit,
            ErrorKind::Syntax => Self::Syntax,
            ErrorKind::Undefined => Self::Undefined,
            ErrorKind::NotFound => Self::TemplateNotFound,
            ErrorKind::Security => Self::Security,
            ErrorKind::Limit => Self::Limit,
            _ => Self::Runtime,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::Syntax => "render.syntax",
            Self::Undefined => "render.undefined",
            Self::TemplateNotFound => "render.template_not_found",
            Self::Security => "render.security",
            Self::Runtime => "render.runtime",
            Self::Limit => "render.limit",
            Self::Deadline => "deadline",
        }
    }

    const fn exit(self) -> exit::Code {
        match self {
            Self::Usage => exit::Code::Usage,
            Self::NotFound => exit::Code::NotFound,
            Self::Syntax | Self::Undefined | Self::TemplateNotFound | Self::Security | Self::Runtime => {
                exit::Code::Failed
            }
            Self::Limit | Self::Deadline => exit::Code::Limit,
        }
    }
}

/// Why a command ended without its result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something to tell the user.
    Told(Box<Diagnostic>),
    /// The result could not be written.
    Output(io::Error),
}

impl Failure {
    /// The command was called in a way that it cannot follow.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Told(Box::new(Diagnostic::new(Code::Usage, message)))
    }

    /// What the command was to work on does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::Told(Box::new(Diagnostic::new(Code::NotFound, message)))
    }

    /// A template failed; `path` turns the name of a template into what the user calls it.
    pub(crate) fn template(error: &Error, path: impl Fn(&str) -> String) -> Self {
        let shown = |place: &Place| Place { template: path(&place.template), ..place.clone() };
        let mut diagnostic = Diagnostic::new(Code::of(error), error.message());
        diagnostic.place = error.place().map(shown);
        diagnostic.chain = error.chain().iter().map(shown).collect();
        diagnostic.near = error.near().to_vec();
        diagnostic.advice.extend(error.hint().map(str::to_owned));
        Self::Told(Box::new(diagnostic))
    }

    /// The same failure with more advice.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        if let Self::Told(diagnostic) = &mut self {
            diagnostic.advice.push(advice.into());
        }
        self
    }

    /// The same failure with names that may have been meant.
    pub(crate) fn near(mut self, near: Vec<String>) -> Self {
        if let Self::Told(diagnostic) = &mut self {
            diagnostic.near = near;
        }
        self
    }

    /// The same failure at a place in a file.
    pub(crate) fn at(mut self, place: Place) -> Self {
        if let Self::Told(diagnostic) = &mut self {
            diagnostic.place = Some(place);
        }
        self
    }

    /// The exit code that tells a script of it.
    pub(crate) fn exit(&self) -> exit::Code {
        match self {
            Self::Told(diagnostic) => diagnostic.code.exit(),
            // The reader has seen enough, as in `hina … | head`: no failure of ours.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::Code::Fine,
            Self::Output(_) => exit::Code::Failed,
        }
    }
}
