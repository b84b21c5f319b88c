//! The formats in which programs keep messages.

use crate::driver::Driver;

/// A format of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageFormat {
    /// Our own: `toolCalls`, `toolCallId`, attachments.
    Own,
    /// OpenAI's chat completions, which many other providers and programs use too.
    OpenAi,
    /// OpenAI's responses: a list of items.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's contents.
    Gemini,
    /// Ollama's `/api/chat`.
    Ollama,
    /// The Model Context Protocol.
    Mcp,
}

impl MessageFormat {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Own,
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::Mcp,
    ];

    /// The name; that of the driver, if there is one.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "hinagata",
            Self::OpenAi => Driver::OpenAi.name(),
            Self::OpenAiResponses => Driver::OpenAiResponses.name(),
            Self::Anthropic => Driver::Anthropic.name(),
            Self::Gemini => Driver::Gemini.name(),
            Self::Ollama => Driver::Ollama.name(),
            Self::Mcp => "mcp",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FormatSet(u8);

impl FormatSet {
    pub(crate) const fn from_formats(formats: &[MessageFormat]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < formats.len() {
            bits |= formats[index].bit();
            index += 1;
        }
        Self(bits)
    }

    pub(crate) const fn contains(self, format: MessageFormat) -> bool {
        self.0 & format.bit() != 0
    }

    pub(crate) const fn with(self, format: MessageFormat) -> Self {
        Self(self.0 | format.bit())
    }
}
