//! A complete answer.

use std::sync::Arc;

use bytes::Bytes;
use hinagata::{
    Error, Result,
    module::{Message, MessageReader},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use crate::{
    ChosenModel, Dialect, ProviderFailure,
    completion::{self, invalid_response},
    event_reader::completion_events,
};

/// Most bytes of an invalid response that are searched for a message.
const MOST_OF_AN_ERROR: usize = 64 << 10;

/// The complete answer of a model.
#[derive(Clone, Debug)]
pub struct Answer {
    choice: ChosenModel,
    status: u16,
    raw: Bytes,
    /// The translated answer of a provider with an API of its own.
    translated: Option<Arc<Value>>,
}

/// What every completion contains.
#[derive(Deserialize)]
struct CompletionShape {
    #[serde(rename = "choices")]
    _choices: Vec<IgnoredAny>,
}

impl Answer {
    /// The answer in a response with a success status.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, if it contains none: gateways return pages and empty bodies with status 200.
    pub(crate) fn from_response(choice: ChosenModel, status: u16, raw: Bytes) -> Result<Self> {
        let translated = match choice.kind().spec().translation {
            None => {
                // A list of one list would also have the shape.
                let is_object = raw.trim_ascii_start().starts_with(b"{");
                let has_shape = is_object && serde_json::from_slice::<CompletionShape>(&raw).is_ok();
                has_shape.then_some(None)
            }
            Some(_) => {
                let parsed = serde_json::from_slice(&raw).ok();
                let completion = parsed
                    .map(|parsed: Value| completion::to_completion(choice.kind(), &parsed, choice.model()));
                completion.and_then(Result::ok).map(|completion| Some(Arc::new(completion)))
            }
        };
        match translated {
            Some(translated) => Ok(Self { choice, status, raw, translated }),
            None => Err(invalid_answer(&choice, &raw)),
        }
    }

    /// An answer that was recorded: the bytes that the provider sent.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, if it contains none.
    pub fn from_recording(choice: ChosenModel, status: u16, raw: Bytes) -> Result<Self> {
        Self::from_response(choice, status, raw)
    }

    /// The HTTP status of the response; always a success.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The model that answered.
    #[must_use]
    pub fn chosen_model(&self) -> &ChosenModel {
        &self.choice
    }

    /// The bytes that the provider sent.
    #[must_use]
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The answer as an OpenAI chat completion: unchanged from a provider with that API, otherwise translated, with the original
    /// response as `provider_answer`.
    ///
    #[must_use]
    pub fn to_openai(&self) -> Bytes {
        match &self.translated {
            None => self.raw.clone(),
            Some(completion) => completion.to_string().into(),
        }
    }

    /// The answer in a dialect: unchanged from a provider with that API, otherwise translated. `echo` are the fields of the
    /// request that the answer repeats.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, if the response is not valid.
    pub fn to_dialect(&self, dialect: Dialect, echo: &Map<String, Value>) -> Result<Bytes> {
        if self.choice.kind().spec().dialect == Some(dialect) {
            return Ok(self.raw.clone());
        }
        let mut completion = self.to_completion()?;
        if dialect == Dialect::ChatCompletions {
            // Clients that check answers know no such field.
            if let Some(fields) = completion.as_object_mut() {
                fields.shift_remove("provider_answer");
            }
            return Ok(completion.to_string().into());
        }
        let events = completion_events(&completion).ok_or_else(|| invalid_answer(&self.choice, &self.raw))?;
        Ok(dialect.to_document(echo, events).to_string().into())
    }

    /// The answer as a parsed OpenAI chat completion.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, if the response is not valid.
    pub fn to_completion(&self) -> Result<Value> {
        match &self.translated {
            None => serde_json::from_slice(&self.raw).map_err(|_| invalid_answer(&self.choice, &self.raw)),
            Some(completion) => Ok(Value::clone(completion)),
        }
    }

    /// The text of the answer; empty if the model only calls tools.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, if the response is not valid.
    pub fn text(&self) -> Result<String> {
        let completion = self.to_completion()?;
        let message = completion.pointer("/choices/0/message");
        let message = message.ok_or_else(|| invalid_answer(&self.choice, &self.raw))?;
        Ok(match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
            }
            _ => String::new(),
        })
    }
}

impl Answer {
    /// The answer as a message, with everything that the provider expects to get back.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, if the response is not valid.
    pub fn to_message(&self) -> Result<Message> {
        let invalid = || invalid_answer(&self.choice, &self.raw);
        let spec = self.choice.kind().spec();
        let answer: Value = serde_json::from_slice(&self.raw).map_err(|_| invalid())?;
        let message = (spec.answer_message)(&answer).ok_or_else(invalid)?;
        let reader = MessageReader::new().with_format(spec.message_format);
        reader.read_message(&message).map_err(|error| invalid().with_source(error))
    }

    /// Whether the model calls tools.
    #[must_use]
    pub fn has_tool_calls(&self) -> bool {
        let completion = self.to_completion().ok();
        let calls =
            completion.as_ref().and_then(|completion| completion.pointer("/choices/0/message/tool_calls"));
        calls.and_then(Value::as_array).is_some_and(|calls| !calls.is_empty())
    }

    /// The tokens of the answer, if the provider reports them.
    pub(crate) fn answer_tokens(&self) -> Option<u64> {
        completion::count_at(&self.to_completion().ok()?, "/usage/completion_tokens")
    }
}

/// The error of a response with a success status that is not an answer. It contains what the provider says instead.
pub(crate) fn invalid_answer(choice: &ChosenModel, body: &Bytes) -> Error {
    let start = body.slice(..body.len().min(MOST_OF_AN_ERROR));
    let failure = ProviderFailure::new(200, None, start, choice.endpoint.key.as_ref());
    let error =
        invalid_response(choice.provider()).with("provider", choice.provider()).with("model", choice.model());
    match failure.message() {
        "" => error.map_message(|message| format!("{message}: it is empty")),
        message => error.with("provider_message", message),
    }
}
