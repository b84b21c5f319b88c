//! Configured models for processes.

use std::sync::Arc;

use futures_util::StreamExt as _;
use hinagata::{
    Result,
    module::{CompiledPrompt, driver::RequestOptions},
    ports::PortFuture,
    tokens::{TokenCount, TokenCounter},
};
use hinagata_llm::{ChatCall, CheckedReply, ChosenModel, Llm, PieceStream};
use serde_json::{Map, Value};

use crate::{Answer, Ask, Finish};

/// A configured model. Its answers are streamed; calls require tokio.
#[derive(Clone, Debug)]
pub struct LlmModel {
    llm: Llm,
    choice: ChosenModel,
    base: RequestOptions,
    options: Map<String, Value>,
    counter: TokenCounter,
}

impl LlmModel {
    /// The chosen model, with options as OpenAI names them.
    #[must_use]
    pub fn new(llm: Llm, choice: ChosenModel, options: Map<String, Value>) -> Self {
        let counter = TokenCounter::for_model(choice.model());
        Self { llm, choice, base: RequestOptions::default(), options, counter }
    }

    /// The same model whose tokens `counter` counts, such as one with the tokenizer of the settings.
    #[must_use]
    pub fn with_counter(self, counter: TokenCounter) -> Self {
        Self { counter, ..self }
    }
}

impl Ask for LlmModel {
    fn ask_model<'a>(
        &'a self,
        prompt: CompiledPrompt,
        pieces: &'a (dyn Fn(&str) + Send + Sync),
    ) -> PortFuture<'a, Result<Answer>> {
        Box::pin(async move {
            let (prompt, base) = (Arc::new(prompt), self.base.clone());
            if prompt.schema().is_some() {
                let (choice, options) = (self.choice.clone(), self.options.clone());
                let reply = self.llm.send_checked(ChatCall { choice, prompt, base, options }).await?;
                return checked_answer(&reply, pieces);
            }
            let request = self.llm.build_prompt_request(&self.choice, prompt, base, &self.options)?;
            collect_answer(self.llm.stream_chat(request).await?.into_pieces(), pieces).await
        })
    }

    fn count_tokens(&self, text: &str) -> TokenCount {
        self.counter.count_tokens(text)
    }
}

/// The answer to a prompt with a schema: its value as JSON.
fn checked_answer(reply: &CheckedReply, on_piece: &(dyn Fn(&str) + Send + Sync)) -> Result<Answer> {
    let content = match &reply.checked {
        Some(checked) => checked.value.to_string(),
        None => reply.answer.text()?,
    };
    on_piece(&content);
    Ok(Answer::new(content))
}

/// The complete answer of a stream; each piece is passed to `on_piece`.
async fn collect_answer(mut stream: PieceStream, on_piece: &(dyn Fn(&str) + Send + Sync)) -> Result<Answer> {
    let mut answer = Answer::new("");
    while let Some(piece) = stream.next().await {
        let piece = piece?;
        if !piece.text.is_empty() {
            answer.content.push_str(&piece.text);
            on_piece(&piece.text);
        }
        answer.tokens = piece.answer_tokens.or(answer.tokens);
        if let Some(word) = piece.finish_reason {
            answer.finish = Finish::from_name(&word);
        }
    }
    Ok(answer)
}
