//! Compiled prompts as requests: the exact body that a provider takes.
//!
//! A driver decides who says what. Instructions become the rules of the conversation, data and output turns of
//! the person, and messages turns of their own role, in place. Whatever the data says, it stays what it is: the
//! number, the order and the roles of the turns depend on the elements alone, never on their texts.

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
mod request;
mod responses;
mod schema;

use request::Notes;

use crate::{CompiledPrompt, Error, Problem, TextOptions, format, json::Writer};

pub use media::{Files, encode_base64};
pub use messages::{ChatMessage, ChatPart, chat_messages};
pub use output_format::OutputFormat;
pub use request::{DataRole, Formatted, RequestOptions, Tool};

/// Writes the requests of a model provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// Chat completions of OpenAI, and of the many who speak the same.
    OpenAi,
    /// Responses of OpenAI.
    OpenAiResponses,
    /// Messages of Anthropic.
    Anthropic,
    /// `generateContent` of Gemini; Vertex AI takes the same body at another address.
    Gemini,
    /// `/api/chat` of Ollama.
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

    /// The driver called `name`; `vertex` and `vertexai` are other names of `gemini`.
    ///
    /// # Errors
    /// When there is none, with near names.
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
    /// When the prompt holds something that the provider cannot be given.
    pub fn format(self, prompt: &CompiledPrompt, options: &RequestOptions) -> Result<Formatted, Error> {
        let mut body = String::new();
        let notes = self.format_into(prompt, options, &mut body)?;
        Ok(Formatted { body, notes })
    }

    /// Makes `body` the body of a request, and gives what the provider has no place for.
    ///
    /// What `body` had allocated is used again: for who makes many requests, new memory costs more than filling it.
    ///
    /// # Errors
    /// As [`Driver::format`]; then `body` holds what was written until there.
    pub fn format_into(
        self,
        prompt: &CompiledPrompt,
        options: &RequestOptions,
        body: &mut String,
    ) -> Result<Vec<String>, Error> {
        body.clear();
        body.reserve(conversation::estimate_bytes(prompt));
        let mut writer = Writer::from_buffer(std::mem::take(body));
        let written = (self.spec().write)(prompt, options, &mut writer);
        *body = writer.into_string();
        Ok(written?.into_messages())
    }
}

/// The prompt as one text.
#[must_use]
pub fn format_text(prompt: &CompiledPrompt, options: &TextOptions) -> Formatted {
    Formatted { body: format::prompt_text(prompt, options), notes: Vec::new() }
}

/// Makes `body` the text of the prompt; as [`Driver::format_into`], it uses the memory of `body` again.
pub fn format_text_into(prompt: &CompiledPrompt, options: &TextOptions, body: &mut String) {
    body.clear();
    format::write_prompt(prompt, options, body);
}

macro_rules! drivers {
    ($($(#[$doc:meta])* $name:ident: $driver:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// When the prompt holds something that the provider cannot be given.
        pub fn $name(prompt: &CompiledPrompt, options: &RequestOptions) -> Result<Formatted, Error> {
            Driver::$driver.format(prompt, options)
        }
    )*};
}

drivers! {
    /// The body of a chat completion of OpenAI.
    openai: OpenAi;
    /// The body of a response of OpenAI.
    openai_responses: OpenAiResponses;
    /// The body of a message of Anthropic.
    anthropic: Anthropic;
    /// The body of `generateContent` of Gemini and Vertex AI.
    gemini: Gemini;
    /// The body of `/api/chat` of Ollama.
    ollama: Ollama;
}
