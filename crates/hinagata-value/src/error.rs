//! Errors of compiling and running templates.
//!
//! An [`Error`] is one pointer wide, so that `Result<Value, Error>` stays as small as a value. It contains
//! the message, the place and similar names. The doors turn it into an excerpt with a caret.

use std::fmt;

/// The class of an [`Error`], stable across doors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The template cannot be compiled.
    Syntax,
    /// An operation that an undefined value does not allow.
    Undefined,
    /// A template that does not exist.
    NotFound,
    /// The sandbox rejected an operation.
    Security,
    /// Any other failure of a run: a wrong type, a failing function, a division by zero.
    Runtime,
    /// A limit was reached; see [`Error::limit`].
    Limit,
    /// The deadline passed.
    Deadline,
    /// The caller stopped the run.
    Cancelled,
    /// A pass needs the result of a pending call; see [`crate::Calls`].
    ///
    /// Not a failure: the driver of the render waits for the calls and runs the template again.
    Suspended,
}

impl ErrorKind {
    /// The name of this kind in test vectors and at the doors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Undefined => "undefined",
            Self::NotFound => "not_found",
            Self::Security => "security",
            Self::Runtime => "runtime",
            Self::Limit => "limit",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::Suspended => "suspended",
        }
    }
}

/// The limit of an error of kind [`ErrorKind::Limit`]. All of them are fields of [`crate::Limits`], except the
/// size of integers, which has no setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitKind {
    /// Operations, and produced bytes and items.
    Steps,
    /// Bytes of produced values and captures.
    Bytes,
    /// Size of the output.
    Output,
    /// Nested calls and includes.
    Calls,
    /// Nested expressions and blocks.
    Nesting,
    /// Nested containers of a value that is printed, compared or written as JSON.
    ValueDepth,
    /// Bytes of stack of a run.
    Stack,
    /// Items of one `range`.
    RangeItems,
    /// Bytes that one repeat, pad or indent may add.
    Fill,
    /// Size of an integer.
    Integer,
    /// Size of one template source.
    Source,
    /// Templates loaded in one render.
    Templates,
    /// Passes that one render may take to wait for calls.
    Passes,
    /// Calls to other programs.
    Requests,
}

impl LimitKind {
    /// The name of the limit in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Bytes => "bytes",
            Self::Output => "output",
            Self::Calls => "calls",
            Self::Nesting => "nesting",
            Self::ValueDepth => "value_depth",
            Self::Stack => "stack",
            Self::RangeItems => "range_items",
            Self::Fill => "fill",
            Self::Integer => "integer",
            Self::Source => "source",
            Self::Templates => "templates",
            Self::Passes => "passes",
            Self::Requests => "requests",
        }
    }
}

/// A place in a template, which an error, a segment of the output or a call refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The name of the template.
    pub template: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1. 0 if only the line is known.
    pub column: u32,
    /// The bytes of the source that the place covers, if known.
    pub span: Option<(u32, u32)>,
    /// The text of the source line.
    pub excerpt: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.template, self.line)?;
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// The error of compiling or running a template.
///
/// `Display` writes the message without its place. [`Error::place`] is the innermost place, [`Error::chain`]
/// the includes, imports and calls that led there, the outermost last.
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    limit: Option<LimitKind>,
    message: String,
    place: Option<Place>,
    /// Whether the place is final; see [`Error::set_final_place`].
    settled: bool,
    /// The name that the error is about.
    subject: Option<String>,
    /// The reason, if the kind alone is not specific enough.
    reason: Option<&'static str>,
    chain: Vec<Place>,
    near: Vec<String>,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` with a message in lower case, without a full stop and without a place.
    #[cold]
    #[inline(never)]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            limit: None,
            message: message.into(),
            place: None,
            settled: false,
            subject: None,
            reason: None,
            chain: Vec::new(),
            near: Vec::new(),
            hint: None,
            source: None,
        }))
    }

    /// An error for a template that cannot be compiled.
    #[cold]
    pub fn syntax(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Syntax, message)
    }

    /// An error of a run without a more specific kind.
    #[cold]
    pub fn runtime(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Runtime, message)
    }

    /// An operation that an undefined value does not allow.
    #[cold]
    pub fn undefined(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Undefined, message)
    }

    /// An error for an operation that the sandbox rejects.
    #[cold]
    pub fn security(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Security, message)
    }

    /// An error for a reached limit.
    #[cold]
    pub fn limit_reached(limit: LimitKind, message: impl Into<String>) -> Self {
        let mut error = Self::new(ErrorKind::Limit, message);
        error.0.limit = Some(limit);
        error
    }

    /// Changes the kind. The limit is kept.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Sets the place, unless the error already has one: the innermost place wins.
    #[must_use]
    pub fn with_place(mut self, place: impl FnOnce() -> Place) -> Self {
        if self.0.place.is_none() {
            self.0.place = Some(place());
        }
        self
    }

    /// Sets the final place, computed from the current one.
    ///
    /// An expression knows the exact column, the enclosing statement knows which line is reported. Only the first
    /// call has an effect.
    #[must_use]
    pub fn set_final_place(mut self, place: impl FnOnce(Option<Place>) -> Place) -> Self {
        if !self.0.settled {
            self.0.settled = true;
            self.0.place = Some(place(self.0.place.take()));
        }
        self
    }

    /// Whether the place is final.
    #[must_use]
    pub fn has_final_place(&self) -> bool {
        self.0.settled
    }

    /// Sets the name that the error is about, to find similar ones.
    #[must_use]
    pub fn with_subject(mut self, subject: impl Into<String>) -> Self {
        self.0.subject = Some(subject.into());
        self
    }

    /// The name that the error is about.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.0.subject.as_deref()
    }

    /// Sets the reason, such as `unknown_filter`, which distinguishes errors of one kind.
    #[must_use]
    pub fn with_reason(mut self, reason: &'static str) -> Self {
        self.0.reason = Some(reason);
        self
    }

    /// The reason, if the kind alone is not specific enough.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        self.0.reason
    }

    /// Adds an outer step to the chain: an include, an import or a call.
    #[must_use]
    pub fn with_chain_step(mut self, place: Place) -> Self {
        self.0.chain.push(place);
        self
    }

    /// Sets similar names.
    #[must_use]
    pub fn with_near(mut self, near: Vec<String>) -> Self {
        self.0.near = near;
        self
    }

    /// Sets a hint on what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The class of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The reached limit, if the kind is [`ErrorKind::Limit`].
    #[must_use]
    pub fn limit(&self) -> Option<LimitKind> {
        self.0.limit
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The innermost place, if known.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// The includes, imports and calls around the place, innermost first.
    #[must_use]
    pub fn chain(&self) -> &[Place] {
        &self.0.chain
    }

    /// Known names similar to the one that was not found.
    #[must_use]
    pub fn near(&self) -> &[String] {
        &self.0.near
    }

    /// The hint on what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}

/// The result of compiling or running.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_pointer() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn the_innermost_place_wins() {
        let place = |template: &str| Place { template: template.into(), line: 1, ..Place::default() };
        let error = Error::runtime("no")
            .with_place(|| place("inner"))
            .with_place(|| place("outer"))
            .with_chain_step(place("outer"));
        assert_eq!(error.place().expect("was given").template, "inner");
        assert_eq!(error.chain()[0].template, "outer");
    }
}
