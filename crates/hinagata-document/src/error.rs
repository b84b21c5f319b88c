//! The one error type of the engine: every door shows it, none has to guess what it means.

use std::fmt;

use serde_json::{Map, Value};

use crate::{Code, Hint, Reason, place::Place};

/// The result of the engine's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the engine could not do what was asked. One pointer wide.
///
/// `Display` is one sentence without the place and the cause; the rest is read from the accessors.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: Code,
    reason: Option<Reason>,
    message: String,
    details: Map<String, Value>,
    place: Option<Place>,
    /// The includes, imports and calls around the place, innermost first.
    chain: Vec<Place>,
    near: Vec<String>,
    hint: Option<Hint>,
    source: Option<std::sync::Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error with its sentence: lower case, without a period.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            reason: None,
            message: message.into(),
            details: Map::new(),
            place: None,
            chain: Vec::new(),
            near: Vec::new(),
            hint: None,
            source: None,
        }))
    }

    /// A definition error with its reason.
    #[must_use]
    pub fn definition(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Code::Definition, message).with_reason(reason)
    }

    /// The same error with its reason, which the details name too.
    #[must_use]
    pub fn with_reason(mut self, reason: Reason) -> Self {
        self.0.reason = Some(reason);
        self.with("reason", reason.as_str())
    }

    /// The same error in other words.
    #[must_use]
    pub fn map_message(mut self, change: impl FnOnce(&str) -> String) -> Self {
        self.0.message = change(&self.0.message);
        self
    }

    /// The same error with one more detail for machines.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// The same error with a detail that stays as it is where it is known already.
    #[must_use]
    pub fn with_default(mut self, key: &str, value: impl Into<Value>) -> Self {
        if !self.0.details.contains_key(key) {
            self.0.details.insert(key.to_owned(), value.into());
        }
        self
    }

    /// The same error with another code.
    #[must_use]
    pub fn with_code(mut self, code: Code) -> Self {
        self.0.code = code;
        self
    }

    /// The same error with the way to its place, innermost first.
    #[must_use]
    pub fn with_chain(mut self, chain: Vec<Place>) -> Self {
        self.0.chain = chain;
        self
    }

    /// The same error with all its texts as `change` makes them; what caused it is left out, as its texts cannot
    /// be changed.
    #[must_use]
    pub fn map_texts(mut self, change: impl Fn(&str) -> String) -> Self {
        let inner = &mut *self.0;
        inner.message = change(&inner.message);
        inner.hint = inner.hint.take().map(|hint| hint.map_texts(&change));
        inner.source = None;
        for value in inner.details.values_mut() {
            change_texts(value, &change);
        }
        for near in &mut inner.near {
            *near = change(near);
        }
        self
    }

    /// The same error, at a place of a source text.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.0.place = Some(place);
        self
    }

    /// The same error, in the file that it is about unless its place is known better.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.0.place.get_or_insert_with(|| Place::of_file(file));
        self
    }

    /// The same error with names that may have been meant.
    #[must_use]
    pub fn with_near(mut self, near: Vec<String>) -> Self {
        self.0.near = near;
        self
    }

    /// The same error with a suggested next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error with what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(std::sync::Arc::new(source));
        self
    }

    /// The stable name of what went wrong.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The HTTP status of a response with this error: that of the reason, else that of the code.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        self.0.reason.and_then(|reason| reason.http_status(self.0.code)).unwrap_or(self.0.code.spec().http)
    }

    /// The exit code of a command that ends with this error: that of the reason, else that of the code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.0.reason.and_then(|reason| reason.exit_code(self.0.code)).unwrap_or(self.0.code.spec().exit)
    }

    /// The sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What the error tells a machine, by name.
    #[must_use]
    pub fn details(&self) -> &Map<String, Value> {
        &self.0.details
    }

    /// The reason within the code, such as [`Reason::Unresolved`] of a conflict.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.0.reason
    }

    /// Where in a source text it went wrong.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// The includes, imports and calls around the place, innermost first.
    #[must_use]
    pub fn chain(&self) -> &[Place] {
        &self.0.chain
    }

    /// Names that may have been meant, the nearest first.
    #[must_use]
    pub fn near(&self) -> &[String] {
        &self.0.near
    }

    /// The suggested next step.
    #[must_use]
    pub fn hint(&self) -> Option<&Hint> {
        self.0.hint.as_ref()
    }
}

fn change_texts(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| change_texts(item, change)),
        Value::Object(map) => map.values_mut().for_each(|value| change_texts(value, change)),
        _ => {}
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Error");
        debug.field("code", &self.0.code.as_str()).field("message", &self.0.message);
        debug.field("details", &self.0.details);
        if let Some(place) = &self.0.place {
            debug.field("place", &place.to_string());
        }
        if !self.0.near.is_empty() {
            debug.field("near", &self.0.near);
        }
        if let Some(hint) = &self.0.hint {
            debug.field("hint", &hint.to_string());
        }
        debug.finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<hinagata_value::Error> for Error {
    /// The error of a template as one of the engine, with `reason`, `line` and `template` as details.
    fn from(error: hinagata_value::Error) -> Self {
        use hinagata_value::ErrorKind as Kind;
        let (code, reason) = match error.kind() {
            Kind::Syntax => (Code::RenderSyntax, Reason::Syntax),
            Kind::Undefined => (Code::RenderUndefined, Reason::Undefined),
            Kind::NotFound => (Code::RenderTemplateNotFound, Reason::TemplateNotFound),
            Kind::Security => (Code::RenderSecurity, Reason::Security),
            // Endless recursion is a runtime error as in Jinja2, and names its limit: the limit decides.
            Kind::Runtime if error.limit().is_some() => (Code::RenderLimit, Reason::SandboxLimit),
            Kind::Limit => (Code::RenderLimit, Reason::SandboxLimit),
            Kind::Deadline | Kind::Cancelled => (Code::Deadline, Reason::Deadline),
            _ => (Code::RenderRuntime, Reason::Runtime),
        };
        let placed = |place: &hinagata_value::Place| Place {
            file: place.template.clone(),
            line: place.line,
            column: place.column,
            excerpt: place.excerpt.clone(),
        };
        let reason = error.reason().and_then(Reason::from_name).unwrap_or(reason);
        let mut ours = Self::new(code, error.message()).with_reason(reason);
        if let Some(place) = error.place() {
            ours = ours.with("line", place.line).at(placed(place));
        }
        ours.0.chain = error.chain().iter().map(placed).collect();
        if let (Code::RenderTemplateNotFound, Some(subject)) = (code, error.subject()) {
            ours = ours.with("template", subject);
        }
        ours.0.near = error.near().to_vec();
        ours.0.hint = error.hint().map(Hint::from);
        ours.with_source(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_that_does_not_parse_is_the_callers_mistake() {
        assert_eq!(Error::definition(Reason::Syntax, "no").http_status(), 400);
        assert_eq!(Error::definition(Reason::ExtendsCycle, "no").http_status(), 500);
    }

    #[test]
    fn a_template_error_keeps_its_place() {
        let error = Error::from(hinagata_value::Error::syntax("no end"));
        assert_eq!((error.code(), error.reason()), (Code::RenderSyntax, Some(Reason::Syntax)));
    }
}
