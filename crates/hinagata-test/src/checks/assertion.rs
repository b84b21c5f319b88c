//! Assertions: a check, and what it looks at.

use std::sync::Arc;

use hinagata::{Code, Place, module::driver::OutputFormat};

use super::Check;

/// Something that has to hold for the result of a case.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// Where it is in the file.
    pub place: Place,
    /// What it looks at; what suits the check if `None`.
    pub target: Option<Target>,
    /// What it selects in the target, as JSON.
    pub path: Option<Arc<PathQuery>>,
    /// Whether it has to fail.
    pub is_negated: bool,
    /// What has to hold.
    pub check: Check,
    /// Its share of the score; 0 if it cannot fail the case.
    pub weight: f64,
    /// The name of a figure that it belongs to.
    pub metric: Option<String>,
}

/// A query of RFC 9535, with its text.
#[derive(Clone, Debug)]
pub struct PathQuery {
    /// The text.
    pub text: String,
    /// The parsed query.
    pub path: serde_json_path::JsonPath,
}

/// What an assertion looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The rendered text.
    Text,
    /// The rendered messages.
    Messages,
    /// The body of the request of a provider.
    Request(OutputFormat),
    /// The answer of the model.
    Answer,
}

impl Target {
    /// The target with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "messages" => Some(Self::Messages),
            "answer" => Some(Self::Answer),
            _ => {
                let format = OutputFormat::from_name(name.strip_prefix("request.")?)?;
                format.driver().map(|_| Self::Request(format))
            }
        }
    }

    /// The name in test files.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Messages => "messages".to_owned(),
            Self::Answer => "answer".to_owned(),
            Self::Request(format) => format!("request.{}", format.name()),
        }
    }

    /// The names of all targets.
    #[must_use]
    pub fn all_names() -> Vec<String> {
        let requests = OutputFormat::ALL.into_iter().filter(|format| format.driver().is_some());
        let plain = [Self::Text, Self::Messages, Self::Answer].into_iter();
        plain.chain(requests.map(Self::Request)).map(Self::name).collect()
    }
}

/// The error that a render has to end with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedError {
    /// Its code.
    pub code: Code,
    /// A text that its message contains.
    pub message: Option<String>,
}
