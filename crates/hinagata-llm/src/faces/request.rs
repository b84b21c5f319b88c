//! Requests of every face in one form.

use std::collections::BTreeMap;

use hinagata::{
    Error, Reason, Result,
    module::{Message, MessageFormat, MessageReader, Role},
};
use serde_json::{Map, Value};

use super::fields;
use crate::{Dialect, ProviderKind, failure::validation_error};

/// A request of a face, without what names the prompt: `model`, `stream`, `prompt`, `variables`.
#[derive(Clone, Debug)]
pub struct FaceRequest {
    dialect: Dialect,
    /// The texts of the caller's instructions.
    pub system: Vec<Message>,
    /// The caller's messages.
    pub messages: Vec<Message>,
    /// The options as the face names them, without the messages.
    native: Map<String, Value>,
    /// The options as OpenAI's chat completions name them.
    options: Map<String, Value>,
    /// The fields that only this face has.
    untranslated: BTreeMap<String, Untranslated>,
}

/// What becomes of a field that has no translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Untranslated {
    /// It is left out, and a note says so.
    LeftOut,
    /// The request means something else without it.
    Refused,
}

impl FaceRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// Code `validation`, with the field that is wrong.
    pub fn from_body(dialect: Dialect, mut body: Map<String, Value>) -> Result<Self> {
        let read = match dialect {
            Dialect::ChatCompletions => fields::take_chat_input(&mut body)?,
            Dialect::Responses => fields::take_responses_input(&mut body)?,
            Dialect::Messages => fields::take_messages_input(&mut body)?,
        };
        let (native, translated) = (body, read.translated);
        let mut request = Self {
            dialect,
            system: Vec::new(),
            messages: Vec::new(),
            native,
            options: translated.options,
            untranslated: translated.untranslated,
        };
        request.system.extend(read.system.into_iter().map(Message::system));
        let reader = MessageReader::new().with_format(dialect.message_format());
        let messages = reader.read_messages(&read.messages).map_err(|error| {
            validation_error(format!("invalid `{}`: {error}", dialect.messages_field()))
                .with_reason(Reason::Option)
                .with("option", dialect.messages_field())
        })?;
        let leading = messages.iter().take_while(|message| message.role() == Role::System).count();
        let mut messages = messages.into_iter();
        request.system.extend(messages.by_ref().take(leading));
        request.messages = messages.collect();
        request.check_tools()?;
        Ok(request)
    }

    /// The options of a request to a provider, and the fields that it does not get.
    ///
    /// # Errors
    /// Code `validation`, reason `option`, if the request means something else without a field.
    pub fn options_for(&self, provider: ProviderKind) -> Result<(Map<String, Value>, Vec<String>)> {
        let spec = provider.spec();
        if spec.dialect == Some(self.dialect) {
            return Ok((self.native.clone(), Vec::new()));
        }
        let mut notes = Vec::new();
        for (name, rule) in &self.untranslated {
            if *rule == Untranslated::Refused {
                return Err(self.unsupported_error(provider, name));
            }
            notes.push(format!("`{name}` has no translation for {}; it is left out", provider.name()));
        }
        let mut options = self.options.clone();
        options.retain(|name, _| {
            let known = spec.translation.as_ref().is_none_or(|translation| {
                fields::COMMON_OPTIONS.contains(&name.as_str())
                    || translation.options.contains(&name.as_str())
            });
            if !known {
                notes.push(format!("{} has no `{name}`; it is left out", provider.name()));
            }
            known
        });
        Ok((options, notes))
    }

    /// The options as OpenAI's chat completions name them.
    #[must_use]
    pub fn options(&self) -> &Map<String, Value> {
        &self.options
    }

    /// The fields that the caller sets, by the names of the face.
    pub fn field_names(&self) -> impl Iterator<Item = &str> {
        self.native.keys().map(String::as_str)
    }

    /// The dialect of the request.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The fields that an answer repeats.
    #[must_use]
    pub fn echo(&self) -> Map<String, Value> {
        if self.dialect != Dialect::Responses {
            return Map::new();
        }
        let repeated = |name: &&String| fields::ECHOED.contains(&name.as_str());
        self.native
            .iter()
            .filter(|(name, _)| repeated(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn unsupported_error(&self, provider: ProviderKind, name: &str) -> Error {
        validation_error(format!("`{name}` cannot be translated for {}", provider.name()))
            .with_reason(Reason::Option)
            .with("option", name)
            .with_hint("leave it out, or use a model whose provider has this API")
    }

    /// Refuses two tools with one name.
    fn check_tools(&self) -> Result<()> {
        let tools = self.native.get("tools").and_then(Value::as_array);
        let name = |tool: &Value| {
            let name = tool.get("name").or_else(|| tool.pointer("/function/name"));
            name.and_then(Value::as_str).map(str::to_owned)
        };
        let mut names: Vec<String> = tools.into_iter().flatten().filter_map(name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(pair) => Err(validation_error(format!("two tools are called `{}`", pair[0]))
                .with_reason(Reason::Option)
                .with("option", "tools")),
        }
    }
}

impl Dialect {
    /// The format of its messages.
    pub(crate) const fn message_format(self) -> MessageFormat {
        match self {
            Self::ChatCompletions => MessageFormat::OpenAi,
            Self::Responses => MessageFormat::OpenAiResponses,
            Self::Messages => MessageFormat::Anthropic,
        }
    }

    /// The field with the messages.
    #[must_use]
    pub const fn messages_field(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Messages => "messages",
            Self::Responses => "input",
        }
    }

    /// The field with the instructions; chat completions have them among the messages.
    #[must_use]
    pub const fn system_field(self) -> &'static str {
        match self {
            Self::ChatCompletions => "messages",
            Self::Responses => "instructions",
            Self::Messages => "system",
        }
    }
}
