//! The built-in model providers: one table, and one file for each provider.
//!
//! To add a provider, write a file with its [`ProviderSpec`] and add it to [`PROVIDERS`]; no other file of this crate
//! knows providers by name. A provider with a request format of its own also needs a driver in
//! [`hinagata::module::driver`].

mod anthropic;
mod completions;
mod gemini;
mod ollama;
mod openai;

use std::{fmt, sync::LazyLock};

use hinagata::module::{MessageFormat, driver::Driver};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use crate::{dialect::Dialect, events::AnswerEvents, options::RequestFields};

/// All providers. The first one gets the models that no other provider claims by their names.
static PROVIDERS: &[&ProviderSpec] = &[&openai::SPEC, &anthropic::SPEC, &gemini::SPEC, &ollama::SPEC];

/// The API of a model provider; many providers have that of OpenAI.
///
/// Serialized as its name.
#[derive(Clone, Copy)]
pub struct ProviderKind(&'static ProviderSpec);

impl ProviderKind {
    /// All kinds of providers.
    pub fn all() -> impl Iterator<Item = Self> {
        PROVIDERS.iter().map(|spec| Self(spec))
    }

    /// The provider with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// The completion endpoints of a provider with the API of OpenAI, which take a text instead of messages.
    pub(crate) fn completions(self) -> Option<Self> {
        (self.name() == PROVIDERS[0].name).then_some(Self(&completions::SPEC))
    }

    /// The provider of a model, judged by how the model's name starts.
    pub(crate) fn from_model(model: &str) -> Self {
        let owns = |kind: &Self| kind.0.model_prefixes.iter().any(|prefix| model.starts_with(prefix));
        Self::all().find(owns).unwrap_or(Self(PROVIDERS[0]))
    }

    /// The name in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The driver that writes its requests.
    #[must_use]
    pub fn driver(self) -> Driver {
        self.0.driver
    }

    /// Whether answers of the provider are those of a dialect, byte for byte.
    #[must_use]
    pub fn has_dialect(self, dialect: Dialect) -> bool {
        self.0.dialect == Some(dialect)
    }

    /// Everything known about the provider.
    pub(crate) fn spec(self) -> &'static ProviderSpec {
        self.0
    }
}

impl PartialEq for ProviderKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for ProviderKind {}

impl fmt::Debug for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for ProviderKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ProviderKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static NAMES: LazyLock<Vec<&str>> =
            LazyLock::new(|| PROVIDERS.iter().map(|spec| spec.name).collect());
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

/// Everything that differs from one provider to another.
pub(crate) struct ProviderSpec {
    /// The name in settings.
    pub(crate) name: &'static str,
    /// The name in traces, as OpenTelemetry spells it.
    pub(crate) telemetry_name: &'static str,
    /// The driver that writes its requests.
    pub(crate) driver: Driver,
    /// The format of its messages.
    pub(crate) message_format: MessageFormat,
    /// The message in an answer.
    pub(crate) answer_message: fn(&Value) -> Option<Value>,
    /// The address of the provider's own service.
    pub(crate) base_url: &'static str,
    /// The environment variable that replaces [`Self::base_url`].
    pub(crate) base_url_env: &'static str,
    /// Turns the value of [`Self::base_url_env`] into an address.
    pub(crate) parse_base_url: fn(&str) -> String,
    /// The environment variables that may hold the key; the first one that is set counts.
    pub(crate) key_env: &'static [&'static str],
    /// Whether the provider's own service requires a key.
    pub(crate) needs_key: bool,
    /// The header with the key, and the text before the key in its value.
    pub(crate) key_header: (&'static str, &'static str),
    /// Headers of every request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// How names of its models start.
    pub(crate) model_prefixes: &'static [&'static str],
    /// The path of a chat, relative to the address.
    pub(crate) chat_path: ChatPath,
    /// The query of a request whose answer is streamed.
    pub(crate) stream_query: &'static [(&'static str, &'static str)],
    /// How the body of a request says whether its answer is streamed.
    pub(crate) stream_field: StreamField,
    /// A reader for one streamed answer.
    pub(crate) new_translator: fn() -> Box<dyn StreamTranslator>,
    /// How a streamed answer is split into pieces.
    pub(crate) framing: Framing,
    /// The face whose answers are those of the provider, byte for byte.
    pub(crate) dialect: Option<Dialect>,
    /// How options and answers are translated; `None` for a provider with the API of OpenAI.
    pub(crate) translation: Option<Translation>,
}

/// The path of a chat, relative to the address of the provider.
pub(crate) enum ChatPath {
    /// The same path for every model.
    Fixed(&'static str),
    /// The path for a model, and for whether the answer is streamed.
    PerModel(fn(&str, bool) -> String),
}

/// How the body of a request says whether its answer is streamed.
pub(crate) enum StreamField {
    /// Not at all: the address says it.
    Absent,
    /// `stream` is true, or missing.
    OnlyIfTrue,
    /// `stream` is true or false.
    Always,
}

/// How a provider with an API of its own is translated from and to the API of OpenAI.
pub(crate) struct Translation {
    /// Adds a caller's option, which no [`hinagata::module::driver::RequestOptions`] covers, to the fields of the request.
    pub(crate) translate_option: fn(&mut RequestFields, &str, Value),
    /// The names of the options that this translates. It passes on others, which only the provider itself can know.
    pub(crate) options: &'static [&'static str],
    /// Requests an answer in JSON without a schema, if the provider supports that.
    pub(crate) json_mode: Option<fn(&mut RequestFields)>,
    /// The chat completion of a response of the model with this name; `None` if the response is not valid.
    pub(crate) to_completion: fn(&Value, &str) -> Option<Value>,
}

/// How a streamed answer is split into pieces of JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    ServerSentEvents,
    /// One piece on each line.
    JsonLines,
}

/// Reads one streamed answer, piece by piece.
pub(crate) trait StreamTranslator: Send {
    /// Adds the events of `piece`.
    fn translate_piece(&mut self, piece: &Value, events: &mut AnswerEvents);

    /// Adds the events that only the end of the stream tells.
    fn end_stream(&mut self, _events: &mut AnswerEvents) {}
}

/// The provider whose API the answers of others are translated to.
pub(crate) fn openai_spec() -> &'static ProviderSpec {
    &openai::SPEC
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_has_a_name_of_its_own_and_the_models_that_start_like_its_prefixes() {
        for kind in ProviderKind::all() {
            assert_eq!(ProviderKind::all().filter(|other| *other == kind).count(), 1, "{kind:?}");
            for prefix in kind.spec().model_prefixes {
                assert_eq!(ProviderKind::from_model(&format!("{prefix}x")), kind, "{prefix}");
            }
        }
        assert_eq!(ProviderKind::from_model("any-model").name(), "openai");
    }

    #[test]
    fn a_provider_is_its_name_in_settings() {
        for kind in ProviderKind::all() {
            let text = serde_json::to_string(&kind).expect("is a string");
            assert_eq!(serde_json::from_str::<ProviderKind>(&text).expect("is a provider"), kind);
        }
        let error = serde_json::from_str::<ProviderKind>("\"opnai\"").expect_err("is unknown");
        assert!(error.to_string().contains("`openai`, `anthropic`"), "{error}");
    }
}
