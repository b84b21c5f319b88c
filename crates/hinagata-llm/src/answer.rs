//! A complete answer.

use bytes::Bytes;
use hinagata::Result;
use serde_json::Value;

use crate::{
    ChosenModel,
    completion::{self, invalid_response},
};

/// The complete answer of a model.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) choice: ChosenModel,
    pub(crate) status: u16,
    pub(crate) raw: Bytes,
}

impl Answer {
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
    /// # Errors
    /// Code `model`, reason `answer`, if the response has to be translated and is not valid.
    pub fn to_openai(&self) -> Result<Bytes> {
        match self.choice.kind().spec().translation {
            None => Ok(self.raw.clone()),
            Some(_) => Ok(self.to_completion()?.to_string().into()),
        }
    }

    /// The answer as a parsed OpenAI chat completion.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, if the response is not valid.
    pub fn to_completion(&self) -> Result<Value> {
        let parsed: Value =
            serde_json::from_slice(&self.raw).map_err(|_| invalid_response(self.choice.provider()))?;
        completion::to_completion(self.choice.kind(), &parsed, self.choice.model())
    }

    /// The text of the answer; empty if the model only calls tools.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, if the response is not valid.
    pub fn text(&self) -> Result<String> {
        let completion = self.to_completion()?;
        let message = completion.pointer("/choices/0/message");
        let message = message.ok_or_else(|| invalid_response(self.choice.provider()))?;
        Ok(match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
            }
            _ => String::new(),
        })
    }
}
