//! Models for the engine: `llm_call` in hooks.

use std::sync::Arc;

use hinagata::{
    Reason, Result,
    module::{CompiledPrompt, Element, driver::RequestOptions},
    ports::{Model, ModelRequest, PortFuture},
};
use serde_json::{Map, Value};

use crate::{ChatCall, Llm, failure::model_error};

impl Llm {
    /// The call for a request of a hook.
    ///
    /// # Errors
    /// As [`Llm::choose_model`].
    pub fn build_hook_call(&self, request: ModelRequest) -> Result<ChatCall> {
        let choice = self.choose_model(request.model.as_deref(), None)?;
        let data = request.messages.into_iter().map(Element::Message).collect();
        let schema = request.schema.map(Arc::new);
        let prompt = Arc::new(CompiledPrompt { data, schema, ..CompiledPrompt::default() });
        let most = self.0.hook_tokens;
        let max_tokens = Some(request.max_tokens.map_or(most, |asked| asked.min(most)));
        let base = RequestOptions { max_tokens, ..RequestOptions::default() };
        Ok(ChatCall { choice, prompt, base, options: Map::new() })
    }

    async fn answer_hook(self, call: ChatCall) -> Result<Value> {
        let reply = self.send_checked(call).await?;
        match reply.checked {
            Some(checked) => Ok(checked.value),
            None => reply.answer.text().map(Value::String),
        }
    }
}

impl Model for Llm {
    fn call_model(&self, request: ModelRequest) -> PortFuture<'_, Result<Value>> {
        let call = match self.build_hook_call(request) {
            Ok(call) => call,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        // It runs on its own threads, because the caller may have no tokio runtime.
        let running = self.0.runtime.spawn(self.clone().answer_hook(call));
        Box::pin(async move {
            running.await.unwrap_or_else(|stopped| Err(model_error(Reason::Runtime, stopped.to_string())))
        })
    }
}
