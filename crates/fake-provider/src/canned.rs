//! The fixed answer, in the format of every API.

use serde_json::{Value, json};

/// The text of the answer.
pub const ANSWER: &str = "Hello from afar!";

/// The pieces of a streamed answer.
const PIECES: [&str; 3] = ["Hello", " from", " afar!"];

/// The APIs, which the path of a request identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

impl Language {
    pub(crate) fn from_path(path: &str) -> Self {
        match path {
            _ if path.contains("/messages") => Self::Anthropic,
            _ if path.contains(":generateContent") || path.contains(":streamGenerateContent") => Self::Gemini,
            _ if path.contains("/api/chat") => Self::Ollama,
            _ => Self::OpenAi,
        }
    }

    /// The `content-type` of a stream.
    pub(crate) const fn stream_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }
}

/// The complete answer.
pub(crate) fn whole_answer(language: Language) -> Value {
    match language {
        Language::OpenAi => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "fake",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
        }),
        Language::Anthropic => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "fake",
            "content": [{"type": "text", "text": ANSWER}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 3, "output_tokens": 4},
        }),
        Language::Gemini => gemini(ANSWER, Some("STOP")),
        Language::Ollama => ollama(ANSWER, true),
    }
}

/// The pieces of a streamed answer, as they are sent; OpenAI's contain the token usage on request alone.
pub(crate) fn answer_pieces(language: Language, with_usage: bool) -> Vec<String> {
    match language {
        Language::OpenAi => {
            let chunk = |delta: Value, reason: Value| {
                let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
                event(
                    &json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": [choice]}),
                )
            };
            let said = PIECES.iter().map(|piece| chunk(json!({"content": piece}), Value::Null));
            let usage = json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7});
            let usage = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake",
                "choices": [], "usage": usage});
            let end = [chunk(json!({}), "stop".into())].into_iter().chain(with_usage.then(|| event(&usage)));
            said.chain(end).chain(["data: [DONE]\n\n".to_owned()]).collect()
        }
        Language::Anthropic => anthropic(),
        Language::Gemini => {
            let last = PIECES.len() - 1;
            let piece =
                |(index, piece): (usize, &&str)| event(&gemini(piece, (index == last).then_some("STOP")));
            PIECES.iter().enumerate().map(piece).collect()
        }
        Language::Ollama => {
            let said = PIECES.iter().map(|piece| format!("{}\n", ollama(piece, false)));
            said.chain([format!("{}\n", ollama("", true))]).collect()
        }
    }
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn anthropic() -> Vec<String> {
    let named =
        |data: Value| format!("event: {}\n{}", data["type"].as_str().unwrap_or_default(), event(&data));
    let start = json!({"type": "message_start", "message": {
        "id": "msg_1", "model": "fake", "usage": {"input_tokens": 3, "output_tokens": 1}}});
    let open =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    let said = PIECES.iter().map(|piece| {
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
    });
    let end = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}}),
        json!({"type": "message_stop"}),
    ];
    [start, json!({"type": "ping"}), open].into_iter().chain(said).chain(end).map(named).collect()
}

fn gemini(text: &str, reason: Option<&str>) -> Value {
    let mut all = json!({
        "candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}],
        "modelVersion": "fake", "responseId": "r1",
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
    });
    if let Some(reason) = reason {
        all["candidates"][0]["finishReason"] = reason.into();
    }
    all
}

fn ollama(text: &str, done: bool) -> Value {
    let mut all = json!({
        "model": "fake", "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text}, "done": done,
    });
    if done {
        all["done_reason"] = "stop".into();
        all["prompt_eval_count"] = 3.into();
        all["eval_count"] = 4.into();
    }
    all
}
