//! Failures of commands. Each has a code and an exit code.

use std::{error::Error as _, io};

use hinagata::Code;
use hinagata_value::{Error, ErrorKind, Place};

use crate::{
    diagnostic::{Base, Diagnostic, Level},
    exit,
    hints::hint_text,
};

/// Why a command ended without its result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error for the user.
    Reported(Box<Diagnostic>),
    /// The printed result is a failure.
    Printed(exit::Code),
    /// The result could not be written.
    Output(io::Error),
}

impl Failure {
    /// The arguments of a call cannot be followed.
    pub(crate) fn usage_error(message: impl Into<String>) -> Self {
        Self::Reported(Box::new(Diagnostic::new("usage", exit::Code::Usage, message)))
    }

    /// The system does not let us.
    pub(crate) fn system_error(message: impl Into<String>) -> Self {
        Self::Reported(Box::new(Diagnostic::new(Code::System.as_str(), exit::Code::Failed, message)))
    }

    /// The requested object does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::Reported(Box::new(Diagnostic::new(Code::NotFound.as_str(), exit::Code::NotFound, message)))
    }

    /// The error of a template. `path` converts the name of a template to the path on the command line.
    pub(crate) fn from_template(error: &Error, path: impl Fn(&str) -> String) -> Self {
        let displayed = |place: &Place| Place { template: path(&place.template), ..place.clone() };
        let code = template_code(error);
        let exit = exit::Code::from_number(code.spec().exit);
        let mut diagnostic = Diagnostic::new(code.as_str(), exit, error.message());
        diagnostic.place = error.place().map(displayed);
        diagnostic.chain = error.chain().iter().map(displayed).collect();
        diagnostic.near = error.near().to_vec();
        diagnostic.advice.extend(error.hint().map(str::to_owned));
        Self::Reported(Box::new(diagnostic))
    }

    fn change(mut self, change: impl FnOnce(&mut Diagnostic)) -> Self {
        if let Self::Reported(diagnostic) = &mut self {
            change(diagnostic);
        }
        self
    }

    /// The same failure with more advice.
    pub(crate) fn with_hint(self, advice: impl Into<String>) -> Self {
        self.change(|diagnostic| diagnostic.advice.push(advice.into()))
    }

    /// The same failure with names that may have been meant.
    pub(crate) fn with_near(self, near: Vec<String>) -> Self {
        self.change(|diagnostic| diagnostic.near = near)
    }

    /// The same failure at a place in a file.
    pub(crate) fn at_place(self, place: Place) -> Self {
        self.change(|diagnostic| diagnostic.place = Some(place))
    }

    /// The exit code for scripts.
    pub(crate) fn exit_code(&self) -> exit::Code {
        match self {
            Self::Reported(diagnostic) => diagnostic.exit,
            Self::Printed(code) => *code,
            // The reader closed the pipe, as in `hina … | head`. That is not a failure.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::Code::Success,
            Self::Output(_) => exit::Code::Failed,
        }
    }
}

/// The code of an error of a template language.
///
/// Endless recursion is an error of kind `runtime` that names its limit: the limit decides.
fn template_code(error: &Error) -> Code {
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
        Self::Reported(Box::new(Diagnostic::from(&error)))
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
        let exit = exit::Code::from_number(error.exit_code());
        let mut diagnostic = Self::new(error.code().as_str(), exit, error.message());
        let cause = error.source().and_then(|cause| cause.downcast_ref::<Error>());
        diagnostic.base = Base::Workspace;
        diagnostic.details = error.details().clone();
        // Only the template knows how much of the line is meant.
        let span = cause.and_then(|cause| cause.place()?.span);
        diagnostic.place = error.place().map(|place| Place { span, ..template_place(place) });
        diagnostic.chain = error.chain().iter().map(template_place).collect();
        diagnostic.near = error.near().to_vec();
        diagnostic.advice.extend(error.hint().map(hint_text));
        if cause.is_none() {
            diagnostic.cause = error.source().map(ToString::to_string);
        }
        diagnostic
    }
}

/// Converts a place of the engine to one of templates, for excerpts.
pub(crate) fn template_place(place: &hinagata::Place) -> Place {
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
