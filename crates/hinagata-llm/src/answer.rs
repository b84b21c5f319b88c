//! A whole answer.

use bytes::Bytes;
use hinagata::Result;
use serde_json::Value;

use crate::{
    Choice,
    completion::{self, not_understood},
};

/// The whole answer of a model.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) choice: Choice,
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
    pub fn choice(&self) -> &Choice {
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
    pub fn openai(&self) -> Result<Bytes> {
        match self.choice.language().spec().translation {
            None => Ok(self.raw.clone()),
            Some(_) => Ok(self.completion()?.to_string().into()),
        }
    }

    /// The answer as a chat completion of OpenAI.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, when it is no answer.
    pub fn completion(&self) -> Result<Value> {
        let parsed: Value =
            serde_json::from_slice(&self.raw).map_err(|_| not_understood(self.choice.provider()))?;
        completion::whole(self.choice.language(), &parsed, self.choice.model())
    }

    /// What the model said; nothing where it only calls tools.
    ///
    /// # Errors
    /// Code `model`, reason `answer`, when it is no answer.
    pub fn text(&self) -> Result<String> {
        let completion = self.completion()?;
        let message = completion.pointer("/choices/0/message");
        let message = message.ok_or_else(|| not_understood(self.choice.provider()))?;
        Ok(match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
            }
            _ => String::new(),
        })
    }
}
