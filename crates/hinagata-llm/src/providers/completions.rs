//! Completion endpoints with OpenAI's API: a model that continues a text. Only models with a chat template use them.

use serde_json::Value;

use super::{ChatPath, ProviderSpec, StreamTranslator, Translation, openai};
use crate::{
    completion::{AnswerParts, completion_choice, new_completion, text_at},
    events::AnswerEvents,
};

pub(super) static SPEC: ProviderSpec = ProviderSpec {
    answer_message: |answer| {
        let text = answer.pointer("/choices/0/text")?.clone();
        Some(serde_json::json!({"role": "assistant", "content": text}))
    },
    chat_path: ChatPath::Fixed("completions"),
    new_translator: || Box::new(Pieces::default()),
    dialect: None,
    translation: Some(Translation {
        translate_option: |fields, name, value| fields.set(name, value),
        options: &["presence_penalty", "frequency_penalty", "logit_bias", "n", "user"],
        json_mode: None,
        to_completion,
    }),
    ..openai::SPEC
};

fn to_completion(answer: &Value, model: &str) -> Option<Value> {
    let mut choices = Vec::new();
    for (index, choice) in answer.get("choices")?.as_array()?.iter().enumerate() {
        let text = text_at(choice, "/text")?.to_owned();
        let said = AnswerParts { text: Some(text), ..AnswerParts::default() };
        choices.push(completion_choice(index, said, text_at(choice, "/finish_reason").unwrap_or("stop")));
    }
    let model = text_at(answer, "/model").unwrap_or(model);
    Some(new_completion(
        "chatcmpl",
        model,
        &choices,
        answer.get("usage").filter(|usage| usage.is_object()).cloned(),
    ))
}

/// The state of one streamed answer.
#[derive(Default)]
struct Pieces {
    /// Why the answer ended; the token usage can follow in a later piece.
    reason: Option<String>,
    usage: Option<Value>,
}

impl StreamTranslator for Pieces {
    fn translate_piece(&mut self, piece: &Value, events: &mut AnswerEvents) {
        events.set_id(text_at(piece, "/id"));
        events.set_model(text_at(piece, "/model"));
        if let Some(usage) = piece.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        if let Some(text) = text_at(piece, "/choices/0/text").filter(|text| !text.is_empty()) {
            events.push_text(text);
        }
        if let Some(reason) = text_at(piece, "/choices/0/finish_reason").filter(|reason| !reason.is_empty()) {
            self.reason = Some(reason.to_owned());
        }
    }

    fn end_stream(&mut self, events: &mut AnswerEvents) {
        if let Some(reason) = self.reason.take() {
            events.push_finish(&reason, self.usage.take());
        }
    }
}
