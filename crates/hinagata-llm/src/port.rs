//! Models for the engine: `llm_call` in hooks.

use std::sync::Arc;

use hinagata::{
    Reason, Result,
    module::{CompiledPrompt, Element, driver::RequestOptions},
    ports::{Model, ModelRequest, PortFuture},
};
use serde_json::Map;

use crate::{Llm, ProviderRequest, failure::model_error};

impl Llm {
    fn hook_request(&self, request: ModelRequest) -> Result<ProviderRequest> {
        let choice = self.choose_model(request.model.as_deref(), None)?;
        let data = request.messages.into_iter().map(Element::Message).collect();
        let prompt = CompiledPrompt { data, ..CompiledPrompt::default() };
        let most = self.0.hook_tokens;
        let max_tokens = Some(request.max_tokens.map_or(most, |asked| asked.min(most)));
        let base = RequestOptions { max_tokens, ..RequestOptions::default() };
        self.build_prompt_request(&choice, Arc::new(prompt), base, &Map::new())
    }
}

impl Model for Llm {
    fn call_model(&self, request: ModelRequest) -> PortFuture<'_, Result<String>> {
        let request = match self.hook_request(request) {
            Ok(request) => request,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let llm = self.clone();
        // It runs on its own threads, because the caller may have no tokio runtime.
        let running = self.0.runtime.spawn(async move { llm.send_chat(request).await?.text() });
        Box::pin(async move {
            running.await.unwrap_or_else(|stopped| Err(model_error(Reason::Runtime, stopped.to_string())))
        })
    }
}
