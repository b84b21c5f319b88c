//! The languages that providers speak.

pub(crate) mod anthropic;
pub(crate) mod gemini;
pub(crate) mod ollama;

use hinagata::module::driver::Driver;
use serde::{Deserialize, Serialize};

/// A language that providers speak; many speak that of OpenAI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Chat completions of OpenAI.
    OpenAi,
    /// Messages of Anthropic.
    Anthropic,
    /// `generateContent` of Gemini.
    Gemini,
    /// `/api/chat` of Ollama.
    Ollama,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// The name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// What makes requests of prompts.
    #[must_use]
    pub const fn driver(self) -> Driver {
        match self {
            Self::OpenAi => Driver::OpenAi,
            Self::Anthropic => Driver::Anthropic,
            Self::Gemini => Driver::Gemini,
            Self::Ollama => Driver::Ollama,
        }
    }

    /// The address of the provider that the language is called after.
    pub(crate) const fn address(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// The variable of the environment with another address.
    pub(crate) const fn address_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::Gemini => "GEMINI_BASE_URL",
            Self::Ollama => "OLLAMA_HOST",
        }
    }

    /// The variables of the environment with its key, the first that is there counts.
    pub(crate) const fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["OPENAI_API_KEY"],
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::Ollama => &["OLLAMA_API_KEY"],
        }
    }

    /// Header of the key, and what stands before the key in it.
    pub(crate) const fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenAi | Self::Ollama => ("authorization", "Bearer "),
            Self::Anthropic => ("x-api-key", ""),
            Self::Gemini => ("x-goog-api-key", ""),
        }
    }

    /// The provider that has a model of this name, going by how such names begin.
    pub(crate) fn guessed(model: &str) -> Self {
        match model {
            _ if model.starts_with("claude-") => Self::Anthropic,
            _ if model.starts_with("gemini-") || model.starts_with("gemma-") => Self::Gemini,
            _ => Self::OpenAi,
        }
    }

    /// The path behind the address that a chat is sent to.
    pub(crate) fn path(self, model: &str, stream: bool) -> String {
        match (self, stream) {
            (Self::OpenAi, _) => "chat/completions".to_owned(),
            (Self::Anthropic, _) => "v1/messages".to_owned(),
            (Self::Ollama, _) => "api/chat".to_owned(),
            (Self::Gemini, stream) => {
                let model = model.strip_prefix("models/").unwrap_or(model);
                let method = if stream { "streamGenerateContent" } else { "generateContent" };
                format!("models/{}:{method}", segment(model))
            }
        }
    }
}

/// `text` as one segment of a path: names of models come from callers and lead nowhere else.
fn segment(text: &str) -> String {
    use std::fmt::Write as _;
    let mut all = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => all.push(char::from(byte)),
            // Two of them alone would lead one directory up.
            b'.' if text.bytes().any(|other| other != b'.') => all.push('.'),
            _ => {
                let _ = write!(all, "%{byte:02X}");
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models_cannot_lead_elsewhere() {
        assert_eq!(
            Provider::Gemini.path("models/gemini-2.5-pro", true),
            "models/gemini-2.5-pro:streamGenerateContent"
        );
        assert_eq!(Provider::Gemini.path("../x?y#z", false), "models/..%2Fx%3Fy%23z:generateContent");
        assert_eq!(segment(".."), "%2E%2E");
    }
}
