//! Compiled prompts as requests: the exact body that a provider accepts.
//!
//! A driver assigns roles. Instructions become the system text, data and output become user turns, and messages keep their
//! role and their place. The number, the order and the roles of turns depend only on the elements, never on their texts, so
//! data cannot imitate a turn.

mod anthropic;
mod body;
mod conversation;
mod dialect;
mod gemini;
mod media;
mod messages;
mod ollama;
mod openai;
mod output_format;
mod parts;
mod request;
mod responses;
mod schema;

use request::Notes;

use crate::{CompiledPrompt, Error, Problem, TextOptions, TextRecord, format, json::Writer};

pub use media::{Files, encode_base64};
pub use messages::{MadeText, chat_messages, recorded_messages};
pub use output_format::OutputFormat;
pub use request::{DataRole, Formatted, RequestOptions, Tool, TurnRule};

/// Writes the requests of a model provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// OpenAI's chat completions, which many other providers accept too.
    OpenAi,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `generateContent`; Vertex AI accepts the same body at another address.
    Gemini,
    /// Ollama's `/api/chat`.
    Ollama,
}

type WriteRequest = fn(&CompiledPrompt, &RequestOptions, &mut Writer) -> Result<Notes, Error>;

/// Everything that differs from one driver to another.
struct DriverSpec {
    name: &'static str,
    description: &'static str,
    write: WriteRequest,
}

impl Driver {
    /// All drivers.
    pub const ALL: [Self; 5] =
        [Self::OpenAi, Self::OpenAiResponses, Self::Anthropic, Self::Gemini, Self::Ollama];

    const fn spec(self) -> DriverSpec {
        match self {
            Self::OpenAi => DriverSpec {
                name: "openai",
                description: "Request body for OpenAI chat completions",
                write: openai::write_request,
            },
            Self::OpenAiResponses => DriverSpec {
                name: "openai-responses",
                description: "Request body for OpenAI responses",
                write: responses::write_request,
            },
            Self::Anthropic => DriverSpec {
                name: "anthropic",
                description: "Request body for Anthropic messages",
                write: anthropic::write_request,
            },
            Self::Gemini => DriverSpec {
                name: "gemini",
                description: "Request body for generateContent of Gemini and Vertex AI",
                write: gemini::write_request,
            },
            Self::Ollama => DriverSpec {
                name: "ollama",
                description: "Request body for /api/chat of Ollama",
                write: ollama::write_request,
            },
        }
    }

    /// The name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// One sentence about the request, without a full stop.
    #[must_use]
    pub const fn description(self) -> &'static str {
        self.spec().description
    }

    /// The driver with this name; `vertex` and `vertexai` are aliases of `gemini`.
    ///
    /// # Errors
    /// If the name is unknown, with similar names.
    pub fn from_name(name: &str) -> Result<Self, Error> {
        if let Some(driver) = Self::ALL.into_iter().find(|driver| driver.name() == name) {
            return Ok(driver);
        }
        match name {
            "vertex" | "vertexai" => Ok(Self::Gemini),
            _ => {
                let names = Self::ALL.map(Self::name);
                Err(Problem::new("", format!("unknown driver `{name}`"))
                    .with_near(name, names)
                    .with_hint(format!("use one of {}", names.join(", ")))
                    .into())
            }
        }
    }

    /// The body of a request.
    ///
    /// # Errors
    /// If the prompt contains something that the provider does not accept.
    pub fn format(self, prompt: &CompiledPrompt, options: &RequestOptions) -> Result<Formatted, Error> {
        let mut body = String::new();
        let notes = self.format_into(prompt, options, &mut body)?;
        Ok(Formatted { body, notes })
    }

    /// The body of a request, and what was written where. The addresses of the record are those of the texts of `prompt`.
    ///
    /// # Errors
    /// As [`Driver::format`].
    pub fn format_recorded(
        self,
        prompt: &CompiledPrompt,
        options: &RequestOptions,
    ) -> Result<(Formatted, TextRecord), Error> {
        let mut writer = Writer::new().with_record();
        let filled = parts::fill_call_ids(prompt);
        let notes = (self.spec().write)(filled.as_ref().unwrap_or(prompt), options, &mut writer)?;
        let (body, record) = writer.into_recorded();
        Ok((Formatted { body, notes: notes.into_messages() }, record))
    }

    /// Replaces `body` by the body of a request; returns notes about what the provider does not support.
    ///
    /// The memory of `body` is reused: programs with many requests spend more time on new memory than on writing.
    ///
    /// # Errors
    /// As [`Driver::format`]; `body` is then incomplete.
    pub fn format_into(
        self,
        prompt: &CompiledPrompt,
        options: &RequestOptions,
        body: &mut String,
    ) -> Result<Vec<String>, Error> {
        body.clear();
        body.reserve(conversation::estimate_bytes(prompt));
        let mut writer = Writer::from_buffer(std::mem::take(body));
        let filled = parts::fill_call_ids(prompt);
        let written = (self.spec().write)(filled.as_ref().unwrap_or(prompt), options, &mut writer);
        *body = writer.into_string();
        Ok(written?.into_messages())
    }
}

/// The prompt as one text.
#[must_use]
pub fn format_text(prompt: &CompiledPrompt, options: &TextOptions) -> Formatted {
    Formatted { body: format::prompt_text(prompt, options), notes: Vec::new() }
}

/// Replaces `body` by the text of the prompt; as [`Driver::format_into`], it reuses the memory of `body`.
pub fn format_text_into(prompt: &CompiledPrompt, options: &TextOptions, body: &mut String) {
    body.clear();
    format::write_prompt(prompt, options, body);
}

macro_rules! drivers {
    ($($(#[$doc:meta])* $name:ident: $driver:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// If the prompt contains something that the provider does not accept.
        pub fn $name(prompt: &CompiledPrompt, options: &RequestOptions) -> Result<Formatted, Error> {
            Driver::$driver.format(prompt, options)
        }
    )*};
}

drivers! {
    /// The request body for OpenAI chat completions.
    openai: OpenAi;
    /// The request body for OpenAI responses.
    openai_responses: OpenAiResponses;
    /// The request body for Anthropic messages.
    anthropic: Anthropic;
    /// The request body for `generateContent` of Gemini and Vertex AI.
    gemini: Gemini;
    /// The request body for `/api/chat` of Ollama.
    ollama: Ollama;
}
