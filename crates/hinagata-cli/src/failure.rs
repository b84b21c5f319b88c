//! What a command can fail with: each failure has one code for scripts and one exit code.

use std::{error::Error as _, io};

use hinagata::Code;
use hinagata_value::{Error, ErrorKind, Place};

use crate::{
    diagnostic::{Base, Diagnostic, Level},
    exit,
};

/// Why a command ended without its result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something to tell the user.
    Told(Box<Diagnostic>),
    /// The result was printed, and what it tells is a failure.
    Printed(exit::Code),
    /// The result could not be written.
    Output(io::Error),
}

impl Failure {
    /// The arguments of a call cannot be followed.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Told(Box::new(Diagnostic::new("usage", exit::Code::Usage, message)))
    }

    /// The system does not let us.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Told(Box::new(Diagnostic::new(Code::System.as_str(), exit::Code::Failed, message)))
    }

    /// What was asked for is not there.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::Told(Box::new(Diagnostic::new(Code::NotFound.as_str(), exit::Code::NotFound, message)))
    }

    /// A template failed; `path` turns the name of a template into what the user calls it.
    pub(crate) fn template(error: &Error, path: impl Fn(&str) -> String) -> Self {
        let shown = |place: &Place| Place { template: path(&place.template), ..place.clone() };
        let code = code_of(error);
        let exit = exit::Code::numbered(code.spec().exit);
        let mut diagnostic = Diagnostic::new(code.as_str(), exit, error.message());
        diagnostic.place = error.place().map(shown);
        diagnostic.chain = error.chain().iter().map(shown).collect();
        diagnostic.near = error.near().to_vec();
        diagnostic.advice.extend(error.hint().map(str::to_owned));
        Self::Told(Box::new(diagnostic))
    }

    fn change(mut self, change: impl FnOnce(&mut Diagnostic)) -> Self {
        if let Self::Told(diagnostic) = &mut self {
            change(diagnostic);
        }
        self
    }

    /// The same failure with more advice.
    pub(crate) fn advise(self, advice: impl Into<String>) -> Self {
        self.change(|diagnostic| diagnostic.advice.push(advice.into()))
    }

    /// The same failure with names that may have been meant.
    pub(crate) fn near(self, near: Vec<String>) -> Self {
        self.change(|diagnostic| diagnostic.near = near)
    }

    /// The same failure at a place in a file.
    pub(crate) fn at(self, place: Place) -> Self {
        self.change(|diagnostic| diagnostic.place = Some(place))
    }

    /// The exit code that tells a script of it.
    pub(crate) fn exit(&self) -> exit::Code {
        match self {
            Self::Told(diagnostic) => diagnostic.exit,
            Self::Printed(code) => *code,
            // The reader has seen enough, as in `hina … | head`: no failure of ours.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::Code::Fine,
            Self::Output(_) => exit::Code::Failed,
        }
    }
}

/// The code of an error of a template language.
///
/// Endless recursion is an error of kind `runtime` that names its limit: the limit decides.
fn code_of(error: &Error) -> Code {
    match error.kind() {
        ErrorKind::Deadline => Code::Deadline,
        _ if error.limit().is_some() => Code::RenderLimit,
        ErrorKind::Syntax => Code::RenderSyntax,
        ErrorKind::Undefined => Code::RenderUndefined,
        ErrorKind::NotFound => Code::RenderTemplateNotFound,
        ErrorKind::Security => Code::RenderSecurity,
        ErrorKind::Limit => Code::RenderLimit,
        _ => Code::RenderRuntime,
    }
}

impl From<hinagata::Error> for Failure {
    fn from(error: hinagata::Error) -> Self {
        Self::Told(Box::new(Diagnostic::from(&error)))
    }
}

impl From<io::Error> for Failure {
    /// Only results are written where nothing else words the error.
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<&hinagata::Error> for Diagnostic {
    fn from(error: &hinagata::Error) -> Self {
        let exit = exit::Code::numbered(error.exit_code());
        let mut diagnostic = Self::new(error.code().as_str(), exit, error.message());
        let cause = error.source().and_then(|cause| cause.downcast_ref::<Error>());
        diagnostic.base = Base::Workspace;
        diagnostic.details = error.details().clone();
        // Only the template knows how much of the line is meant.
        let span = cause.and_then(|cause| cause.place()?.span);
        diagnostic.place = error.place().map(|place| Place { span, ..place_of(place) });
        diagnostic.chain = error.chain().iter().map(place_of).collect();
        diagnostic.near = error.near().to_vec();
        diagnostic.advice.extend(error.hint().map(str::to_owned));
        if cause.is_none() {
            diagnostic.cause = error.source().map(ToString::to_string);
        }
        diagnostic
    }
}

/// A place of the engine as one of templates, which excerpts are made from.
pub(crate) fn place_of(place: &hinagata::Place) -> Place {
    Place {
        template: place.file.clone(),
        line: place.line,
        column: place.column,
        span: None,
        excerpt: place.excerpt.clone(),
    }
}

impl From<&hinagata::Diagnostic> for Diagnostic {
    fn from(found: &hinagata::Diagnostic) -> Self {
        let mut diagnostic = Self::from(&found.error);
        diagnostic.level = match found.severity {
            hinagata::Severity::Error => Level::Error,
            hinagata::Severity::Warning => Level::Warning,
        };
        if diagnostic.place.is_none() {
            diagnostic.about = Some(found.source.clone());
        }
        diagnostic
    }
}
