//! Ollama's `/api/chat`; a stream consists of the same responses, one on each line.

use hinagata::module::{MessageFormat, driver::Driver};
use serde_json::{Value, json};

use super::{ChatPath, Framing, ProviderSpec, StreamField, StreamTranslator, Translation};
use crate::{
    completion::{AnswerParts, completion_choice, count_at, new_completion, text_at, token_usage},
    events::AnswerEvents,
    options::RequestFields,
};

pub(super) static SPEC: ProviderSpec = ProviderSpec {
    name: "ollama",
    telemetry_name: "ollama",
    driver: Driver::Ollama,
    message_format: MessageFormat::Ollama,
    answer_message: |answer| answer.get("message").cloned(),
    base_url: "http://127.0.0.1:11434",
    base_url_env: "OLLAMA_HOST",
    parse_base_url,
    key_env: &["OLLAMA_API_KEY"],
    needs_key: false,
    key_header: ("authorization", "Bearer "),
    headers: &[],
    model_prefixes: &[],
    chat_path: ChatPath::Fixed("api/chat"),
    stream_query: &[],
    stream_field: StreamField::Always,
    new_translator: || Box::new(Pieces::default()),
    framing: Framing::JsonLines,
    dialect: None,
    translation: Some(Translation {
        translate_option,
        options: &["presence_penalty", "frequency_penalty"],
        json_mode: Some(|fields| fields.set("format", "json".into())),
        to_completion,
    }),
};

/// The address in `OLLAMA_HOST`, which is also where the server listens: without a scheme, often without a TCP port, and
/// sometimes on all addresses.
fn parse_base_url(text: &str) -> String {
    if text.contains("://") {
        return text.to_owned();
    }
    let text = text.replacen("0.0.0.0", "127.0.0.1", 1);
    let port = if text.contains(':') { "" } else { ":11434" };
    format!("http://{text}{port}")
}

fn translate_option(fields: &mut RequestFields, name: &str, value: Value) {
    match name {
        "presence_penalty" | "frequency_penalty" => fields.set("options", json!({name: value})),
        _ => fields.set(name, value),
    }
}

fn to_completion(answer: &Value, model: &str) -> Option<Value> {
    let message = answer.get("message")?;
    let mut said =
        AnswerParts { text: text_at(message, "/content").map(str::to_owned), ..AnswerParts::default() };
    said.reasoning = text_at(message, "/thinking").filter(|text| !text.is_empty()).map(str::to_owned);
    for made in calls(message) {
        let name = text_at(made, "/function/name").unwrap_or_default();
        said.add_call(text_at(made, "/id"), name, made.pointer("/function/arguments").unwrap_or(&json!({})));
    }
    let reason = finish_reason(answer, !said.calls.is_empty());
    let model = text_at(answer, "/model").unwrap_or(model);
    Some(new_completion("chatcmpl", model, &[completion_choice(0, said, reason)], answer_usage(answer)))
}

fn calls(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("tool_calls").and_then(Value::as_array).into_iter().flatten()
}

fn finish_reason(answer: &Value, has_calls: bool) -> &'static str {
    match text_at(answer, "/done_reason") {
        Some("length") => "length",
        _ if has_calls => "tool_calls",
        _ => "stop",
    }
}

fn answer_usage(answer: &Value) -> Option<Value> {
    let answered = count_at(answer, "/eval_count")?;
    Some(token_usage(count_at(answer, "/prompt_eval_count").unwrap_or_default(), answered, None))
}

/// The state of one streamed answer.
#[derive(Default)]
struct Pieces {
    calls: usize,
}

impl StreamTranslator for Pieces {
    fn translate_piece(&mut self, piece: &Value, events: &mut AnswerEvents) {
        if let Some(thought) = text_at(piece, "/message/thinking").filter(|text| !text.is_empty()) {
            events.push_reasoning(thought);
        }
        if let Some(said) = text_at(piece, "/message/content").filter(|text| !text.is_empty()) {
            events.push_text(said);
        }
        for made in piece.get("message").into_iter().flat_map(calls) {
            let name = text_at(made, "/function/name").unwrap_or_default();
            let arguments = made.pointer("/function/arguments").unwrap_or(&json!({})).to_string();
            events.push_call(self.calls, text_at(made, "/id"), name, arguments);
            self.calls += 1;
        }
        if piece.get("done") == Some(&Value::Bool(true)) {
            events.push_finish(finish_reason(piece, self.calls > 0), answer_usage(piece));
        }
    }
}
