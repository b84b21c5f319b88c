//! Fallbacks: which models are called where one cannot answer, before the first byte of an answer.

use hinagata::{Code, Error, Reason, Result};
use hinagata_value::near_names;
use serde_json::Value;

use crate::endpoint::setting_error;

/// Why another model is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The provider cannot be reached, or its calls are suspended.
    Connect,
    Timeout,
    /// The provider has too many requests, or this program has for it.
    RateLimit,
    /// The provider failed.
    ServerError,
    /// The request is longer than the model's context.
    Context,
}

impl Cause {
    const NAMES: [(&str, Self); 5] = [
        ("connect", Self::Connect),
        ("timeout", Self::Timeout),
        ("429", Self::RateLimit),
        ("5xx", Self::ServerError),
        ("context", Self::Context),
    ];
}

/// The fallbacks of a model.
#[derive(Debug, Default)]
pub(crate) struct Fallbacks {
    /// The names of the models that are called instead, in order.
    pub(crate) models: Vec<String>,
    causes: Vec<Cause>,
    /// Most tokens of a request.
    pub(crate) context: Option<u64>,
}

impl Fallbacks {
    /// Reads the settings of the model in `setting`; by default, every cause counts.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, for an unknown cause.
    pub(crate) fn from_settings(
        setting: &str,
        models: Vec<String>,
        causes: Option<Vec<String>>,
        context: Option<u64>,
    ) -> Result<Self> {
        let names = || Cause::NAMES.iter().map(|(name, _)| *name);
        let read = |name: &String| {
            let found = Cause::NAMES.iter().find(|(known, _)| known == name).map(|(_, cause)| *cause);
            found.ok_or_else(|| {
                setting_error(setting, format!("unknown cause `{name}` in `{setting}.fallback_on`"))
                    .with_near(near_names(name, names()))
                    .with_hint(format!("use {}", names().collect::<Vec<_>>().join(", ")))
            })
        };
        let causes = match causes {
            Some(causes) => causes.iter().map(read).collect::<Result<_>>()?,
            None => Cause::NAMES.map(|(_, cause)| cause).to_vec(),
        };
        Ok(Self { models, causes, context })
    }

    /// Whether another model is called after `error`. A request that a model surely cannot take goes to the next one.
    pub(crate) fn apply_to(&self, error: &Error) -> bool {
        let status = || error.details().get("provider_status").and_then(Value::as_u64).unwrap_or_default();
        let cause = match (error.code(), error.reason()) {
            (Code::Validation | Code::Definition, _) => return true,
            (Code::Model, Some(Reason::Connect | Reason::Request | Reason::Down)) => Cause::Connect,
            (Code::Model, Some(Reason::Timeout)) => Cause::Timeout,
            (Code::Model, Some(Reason::Busy)) => Cause::RateLimit,
            (Code::Model, Some(Reason::Status)) if status() == 429 => Cause::RateLimit,
            (Code::Model, Some(Reason::Status)) if status() >= 500 => Cause::ServerError,
            _ => return false,
        };
        self.causes.contains(&cause)
    }

    /// Whether a request with this many tokens goes to the next model.
    pub(crate) fn is_too_long(&self, tokens: u64) -> bool {
        self.causes.contains(&Cause::Context) && self.context.is_some_and(|most| tokens > most)
    }
}
