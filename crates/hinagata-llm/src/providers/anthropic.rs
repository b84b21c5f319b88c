//! Anthropic's messages.

use hinagata::module::{MessageFormat, driver::Driver};
use serde_json::{Value, json};

use super::{ChatPath, Framing, ProviderSpec, StreamField, StreamTranslator, Translation};
use crate::{
    completion::{AnswerParts, completion_choice, count_at, new_completion, text_at, token_usage},
    dialect::Dialect,
    events::AnswerEvents,
    options::RequestFields,
};

pub(super) static SPEC: ProviderSpec = ProviderSpec {
    name: "anthropic",
    telemetry_name: "anthropic",
    driver: Driver::Anthropic,
    message_format: MessageFormat::Anthropic,
    answer_message: |answer| Some(json!({"role": answer.get("role")?, "content": answer.get("content")?})),
    base_url: "https://api.anthropic.com",
    base_url_env: "ANTHROPIC_BASE_URL",
    parse_base_url: str::to_owned,
    key_env: &["ANTHROPIC_API_KEY"],
    needs_key: true,
    key_header: ("x-api-key", ""),
    headers: &[("anthropic-version", "2023-06-01")],
    model_prefixes: &["claude-"],
    chat_path: ChatPath::Fixed("v1/messages"),
    stream_query: &[],
    stream_field: StreamField::OnlyIfTrue,
    new_translator: || Box::new(Pieces::default()),
    framing: Framing::ServerSentEvents,
    dialect: Some(Dialect::Messages),
    translation: Some(Translation {
        translate_option,
        options: &["tool_choice", "user", "parallel_tool_calls"],
        json_mode: None,
        to_completion,
    }),
};

fn translate_option(fields: &mut RequestFields, name: &str, value: Value) {
    match name {
        "tool_choice" => translate_tool_choice(fields, value),
        "user" => fields.set("metadata", json!({"user_id": value})),
        "parallel_tool_calls" => {
            let single = value == Value::Bool(false);
            fields.set("tool_choice", json!({"disable_parallel_tool_use": single}));
            fields.set_default("tool_choice", "type", "auto");
        }
        _ => fields.set(name, value),
    }
}

fn translate_tool_choice(fields: &mut RequestFields, value: Value) {
    let choice = match (text_at(&value, "/function/name"), value.as_str()) {
        (Some(name), _) => json!({"type": "tool", "name": name}),
        (None, Some("required")) => json!({"type": "any"}),
        (None, Some(word)) => json!({"type": word}),
        (None, None) => value,
    };
    fields.set("tool_choice", choice);
}

fn to_completion(answer: &Value, model: &str) -> Option<Value> {
    let mut said = AnswerParts::default();
    for block in answer.get("content")?.as_array()? {
        match text_at(block, "/type") {
            Some("text") => said.add_text(text_at(block, "/text").unwrap_or_default()),
            Some("thinking") => said.add_reasoning(text_at(block, "/thinking").unwrap_or_default()),
            Some("tool_use") => {
                let name = text_at(block, "/name").unwrap_or_default();
                said.add_call(text_at(block, "/id"), name, block.get("input").unwrap_or(&json!({})));
            }
            _ => {}
        }
    }
    let reason = finish_reason(text_at(answer, "/stop_reason"));
    let id = text_at(answer, "/id").unwrap_or("chatcmpl");
    let model = text_at(answer, "/model").unwrap_or(model);
    let used = answer.get("usage").map(|used| combined_usage(used, used));
    Some(new_completion(id, model, &[completion_choice(0, said, reason)], used))
}

fn finish_reason(reason: Option<&str>) -> &'static str {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => "length",
        Some("tool_use") => "tool_calls",
        Some("refusal") => "content_filter",
        _ => "stop",
    }
}

/// The token usage: the start of a stream reports the prompt, its end the answer.
fn combined_usage(start: &Value, end: &Value) -> Value {
    let of_prompt = |key: &str| count_at(end, key).or_else(|| count_at(start, key));
    let cached = of_prompt("/cache_read_input_tokens");
    let prompt = [of_prompt("/input_tokens"), of_prompt("/cache_creation_input_tokens"), cached];
    let prompt = prompt.into_iter().flatten().fold(0, u64::saturating_add);
    token_usage(prompt, count_at(end, "/output_tokens").unwrap_or_default(), cached)
}

/// The state of one streamed answer.
#[derive(Default)]
struct Pieces {
    /// The usage that the start reported.
    used: Value,
    reason: Option<&'static str>,
    used_at_end: Value,
    /// The indexes of the blocks that are tool calls.
    calls: Vec<u64>,
}

impl StreamTranslator for Pieces {
    fn translate_piece(&mut self, piece: &Value, events: &mut AnswerEvents) {
        match text_at(piece, "/type") {
            Some("message_start") => {
                self.used = piece.pointer("/message/usage").cloned().unwrap_or_default();
                events.set_id(text_at(piece, "/message/id"));
                events.set_model(text_at(piece, "/message/model"));
                events.head.prompt_tokens =
                    count_at(&combined_usage(&self.used, &Value::Null), "/prompt_tokens");
            }
            Some("content_block_start") if text_at(piece, "/content_block/type") == Some("tool_use") => {
                self.call(piece, events);
            }
            Some("content_block_delta") => self.delta(piece, events),
            Some("message_delta") => {
                self.reason = Some(finish_reason(text_at(piece, "/delta/stop_reason")));
                self.used_at_end = piece.get("usage").cloned().unwrap_or_default();
            }
            Some("message_stop") => {
                events.push_finish(
                    self.reason.unwrap_or("stop"),
                    Some(combined_usage(&self.used, &self.used_at_end)),
                );
            }
            _ => {}
        }
    }
}

impl Pieces {
    fn call(&mut self, piece: &Value, events: &mut AnswerEvents) {
        let name = text_at(piece, "/content_block/name").unwrap_or_default();
        events.push_call(self.calls.len(), text_at(piece, "/content_block/id"), name, String::new());
        self.calls.push(count_at(piece, "/index").unwrap_or_default());
    }

    fn delta(&mut self, piece: &Value, events: &mut AnswerEvents) {
        if let Some(said) = text_at(piece, "/delta/text") {
            events.push_text(said);
        } else if let Some(thought) = text_at(piece, "/delta/thinking") {
            events.push_reasoning(thought);
        } else if let Some(arguments) = text_at(piece, "/delta/partial_json") {
            let block = count_at(piece, "/index").unwrap_or_default();
            if let Some(number) = self.calls.iter().position(|&call| call == block) {
                events.push_arguments(number, arguments);
            }
        }
    }
}
