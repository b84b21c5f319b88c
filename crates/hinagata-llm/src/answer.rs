//! A whole answer.

use bytes::Bytes;
use hinagata::Result;
use serde_json::Value;

use crate::{
    ChosenModel,
    completion::{self, invalid_response},
};

/// The whole answer of a model.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) choice: ChosenModel,
    pub(crate) status: u16,
    pub(crate) raw: Bytes,
}

impl Answer {
    /// The status of the provider, one of success.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The model that answered.
    #[must_use]
    pub fn chosen_model(&self) -> &ChosenModel {
        &self.choice
    }

    /// What the provider sent, byte by byte.
    #[must_use]
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The answer as a chat completion of OpenAI: what was sent, where the provider speaks that language, else translated, with the
    /// whole answer as `provider_answer`.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, when it has to be translated and is no answer.
    pub fn to_openai(&self) -> Result<Bytes> {
        match self.choice.kind().spec().translation {
            None => Ok(self.raw.clone()),
            Some(_) => Ok(self.to_completion()?.to_string().into()),
        }
    }

    /// The answer as a chat completion of OpenAI.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, when it is no answer.
    pub fn to_completion(&self) -> Result<Value> {
        let parsed: Value =
            serde_json::from_slice(&self.raw).map_err(|_| invalid_response(self.choice.provider()))?;
        completion::to_completion(self.choice.kind(), &parsed, self.choice.model())
    }

    /// What the model said; nothing where it only calls tools.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, when it is no answer.
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
