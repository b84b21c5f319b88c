//! Gemini's `generateContent`; a stream consists of the same responses, each with the new parts.

use std::fmt::Write as _;

use hinagata::module::{MessageFormat, driver::Driver};
use serde_json::{Value, json};

use super::{ChatPath, Framing, ProviderSpec, StreamField, StreamTranslator, Translation};
use crate::{
    completion::{AnswerParts, completion_choice, count_at, new_completion, text_at, token_usage},
    events::AnswerEvents,
    options::RequestFields,
};

pub(super) static SPEC: ProviderSpec = ProviderSpec {
    name: "gemini",
    telemetry_name: "gcp.gemini",
    driver: Driver::Gemini,
    message_format: MessageFormat::Gemini,
    answer_message: |answer| answer.pointer("/candidates/0/content").cloned(),
    base_url: "https://generativelanguage.googleapis.com/v1beta",
    base_url_env: "GEMINI_BASE_URL",
    parse_base_url: str::to_owned,
    key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    needs_key: true,
    key_header: ("x-goog-api-key", ""),
    headers: &[],
    model_prefixes: &["gemini-", "gemma-"],
    chat_path: ChatPath::PerModel(chat_path),
    stream_query: &[("alt", "sse")],
    stream_field: StreamField::Absent,
    new_translator: || Box::new(Pieces::default()),
    framing: Framing::ServerSentEvents,
    dialect: None,
    translation: Some(Translation {
        translate_option,
        options: &["tool_choice", "presence_penalty", "frequency_penalty", "n"],
        json_mode: Some(|fields| {
            fields.set("generationConfig", json!({"responseMimeType": "application/json"}));
        }),
        to_completion,
    }),
};

fn chat_path(model: &str, stream: bool) -> String {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let method = if stream { "streamGenerateContent" } else { "generateContent" };
    format!("models/{}:{method}", path_segment(model))
}

/// `text` as one segment of a path: a caller chooses the name of a model, but not another path.
fn path_segment(text: &str) -> String {
    let mut all = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => all.push(char::from(byte)),
            // Two dots alone would lead one directory up.
            b'.' if text.bytes().any(|other| other != b'.') => all.push('.'),
            _ => {
                let _ = write!(all, "%{byte:02X}");
            }
        }
    }
    all
}

fn translate_option(fields: &mut RequestFields, name: &str, value: Value) {
    match name {
        "tool_choice" => translate_tool_choice(fields, value),
        "presence_penalty" => fields.set("generationConfig", json!({"presencePenalty": value})),
        "frequency_penalty" => fields.set("generationConfig", json!({"frequencyPenalty": value})),
        "n" => fields.set("generationConfig", json!({"candidateCount": value})),
        _ => fields.set(name, value),
    }
}

fn translate_tool_choice(fields: &mut RequestFields, value: Value) {
    let config = match (text_at(&value, "/function/name"), value.as_str()) {
        (Some(name), _) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
        (None, Some("required")) => json!({"mode": "ANY"}),
        (None, Some(word)) => json!({"mode": word.to_uppercase()}),
        (None, None) => return fields.set("tool_choice", value),
    };
    fields.set("toolConfig", json!({"functionCallingConfig": config}));
}

fn to_completion(answer: &Value, model: &str) -> Option<Value> {
    let blocked = answer.get("promptFeedback").is_some();
    let mut choices: Vec<Value> = Vec::new();
    match answer.get("candidates").and_then(Value::as_array) {
        Some(candidates) => choices.extend(candidates.iter().enumerate().map(candidate_choice)),
        // The response to a blocked prompt has a reason but no candidates.
        None if blocked => choices.push(completion_choice(0, AnswerParts::default(), "content_filter")),
        None => return None,
    }
    let id = text_at(answer, "/responseId").unwrap_or("chatcmpl");
    Some(new_completion(
        id,
        text_at(answer, "/modelVersion").unwrap_or(model),
        &choices,
        answer_usage(answer),
    ))
}

fn candidate_choice((index, candidate): (usize, &Value)) -> Value {
    let mut said = AnswerParts::default();
    for part in parts(candidate) {
        match (part.get("functionCall"), text_at(part, "/text")) {
            (Some(call), _) => {
                let name = text_at(call, "/name").unwrap_or_default();
                said.add_call(text_at(call, "/id"), name, call.get("args").unwrap_or(&json!({})));
            }
            (None, Some(thought)) if is_thought(part) => said.add_reasoning(thought),
            (None, Some(text)) => said.add_text(text),
            (None, None) => {}
        }
    }
    let reason = finish_reason(text_at(candidate, "/finishReason"), !said.calls.is_empty());
    completion_choice(index, said, reason)
}

fn parts(candidate: &Value) -> impl Iterator<Item = &Value> {
    candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten()
}

fn is_thought(part: &Value) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

fn finish_reason(reason: Option<&str>, has_calls: bool) -> &'static str {
    match reason {
        Some("MAX_TOKENS") => "length",
        Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE") => {
            "content_filter"
        }
        _ if has_calls => "tool_calls",
        _ => "stop",
    }
}

fn answer_usage(answer: &Value) -> Option<Value> {
    let used = answer.get("usageMetadata")?;
    let answered = count_at(used, "/candidatesTokenCount").unwrap_or_default();
    let thought = count_at(used, "/thoughtsTokenCount").unwrap_or_default();
    let prompt = count_at(used, "/promptTokenCount").unwrap_or_default();
    Some(token_usage(prompt, answered.saturating_add(thought), count_at(used, "/cachedContentTokenCount")))
}

/// The state of one streamed answer.
#[derive(Default)]
struct Pieces {
    calls: usize,
}

impl StreamTranslator for Pieces {
    fn translate_piece(&mut self, piece: &Value, events: &mut AnswerEvents) {
        events.set_id(text_at(piece, "/responseId"));
        events.set_model(text_at(piece, "/modelVersion"));
        let Some(candidate) = piece.pointer("/candidates/0") else {
            if piece.get("promptFeedback").is_some() {
                events.push_finish("content_filter", answer_usage(piece));
            }
            return;
        };
        for part in parts(candidate) {
            self.part(part, events);
        }
        if let Some(ended) = text_at(candidate, "/finishReason") {
            events.push_finish(finish_reason(Some(ended), self.calls > 0), answer_usage(piece));
        }
    }
}

impl Pieces {
    fn part(&mut self, part: &Value, events: &mut AnswerEvents) {
        match (part.get("functionCall"), text_at(part, "/text")) {
            (Some(made), _) => {
                let name = text_at(made, "/name").unwrap_or_default();
                let arguments = made.get("args").unwrap_or(&json!({})).to_string();
                events.push_call(self.calls, text_at(made, "/id"), name, arguments);
                self.calls += 1;
            }
            (None, Some(thought)) if is_thought(part) => events.push_reasoning(thought),
            (None, Some(text)) => events.push_text(text),
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models_cannot_lead_elsewhere() {
        assert_eq!(chat_path("models/gemini-2.5-pro", true), "models/gemini-2.5-pro:streamGenerateContent");
        assert_eq!(chat_path("../x?y#z", false), "models/..%2Fx%3Fy%23z:generateContent");
        assert_eq!(path_segment(".."), "%2E%2E");
    }
}
