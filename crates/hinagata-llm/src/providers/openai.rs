//! OpenAI's chat completions, the API that the others are translated to.

use hinagata::module::{MessageFormat, driver::Driver};
use serde_json::Value;

use super::{ChatPath, Framing, ProviderSpec, StreamField, StreamTranslator};
use crate::{
    completion::{count_at, text_at},
    dialect::Dialect,
    events::AnswerEvents,
};

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "openai",
    telemetry_name: "openai",
    driver: Driver::OpenAi,
    message_format: MessageFormat::OpenAi,
    answer_message: |answer| answer.pointer("/choices/0/message").cloned(),
    base_url: "https://api.openai.com/v1",
    base_url_env: "OPENAI_BASE_URL",
    parse_base_url: str::to_owned,
    key_env: &["OPENAI_API_KEY"],
    needs_key: true,
    key_header: ("authorization", "Bearer "),
    headers: &[],
    model_prefixes: &[],
    chat_path: ChatPath::Fixed("chat/completions"),
    stream_query: &[],
    stream_field: StreamField::OnlyIfTrue,
    new_translator: || Box::new(Pieces::default()),
    framing: Framing::ServerSentEvents,
    dialect: Some(Dialect::ChatCompletions),
    translation: None,
};

/// The state of one streamed answer.
#[derive(Default)]
struct Pieces {
    /// The indexes of the tool calls, in the order in which they began.
    calls: Vec<u64>,
    /// Why the answer ended; the token usage can follow in a later chunk.
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
        let Some(choice) = piece.pointer("/choices/0") else { return };
        let said = |pointer: &str| text_at(choice, pointer).filter(|text| !text.is_empty());
        // Servers have two names for the reasoning of a model.
        if let Some(thought) = said("/delta/reasoning_content").or_else(|| said("/delta/reasoning")) {
            events.push_reasoning(thought);
        }
        if let Some(text) = said("/delta/content") {
            events.push_text(text);
        }
        // Some servers send the parts of a message.
        let parts = choice.pointer("/delta/content").and_then(Value::as_array).into_iter().flatten();
        for text in parts.filter_map(|part| text_at(part, "/text")) {
            events.push_text(text);
        }
        if let Some(refusal) = said("/delta/refusal") {
            events.push_refusal(refusal);
        }
        let calls = choice.pointer("/delta/tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.add_call(call, events);
        }
        if let Some(reason) = said("/finish_reason") {
            self.reason = Some(reason.to_owned());
        }
    }

    fn end_stream(&mut self, events: &mut AnswerEvents) {
        if let Some(reason) = self.reason.take() {
            events.push_finish(&reason, self.usage.take());
        }
    }
}

impl Pieces {
    fn add_call(&mut self, call: &Value, events: &mut AnswerEvents) {
        let arguments = text_at(call, "/function/arguments").unwrap_or_default();
        // Some servers number no calls and send each of them whole.
        let index = count_at(call, "/index").unwrap_or(self.calls.len() as u64);
        match self.calls.iter().position(|&known| known == index) {
            Some(number) => events.push_arguments(number, arguments),
            None => {
                let name = text_at(call, "/function/name").unwrap_or_default();
                events.push_call(self.calls.len(), text_at(call, "/id"), name, arguments.to_owned());
                self.calls.push(index);
            }
        }
    }
}
