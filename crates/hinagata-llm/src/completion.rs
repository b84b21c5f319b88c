//! Answers of other providers as OpenAI chat completions, complete and streamed.
//!
//! The file of each provider in `providers` uses these parts. What a completion cannot express stays in `provider_answer`.

use bytes::Bytes;
use hinagata::{Error, Reason, Result};
use serde_json::{Value, json};

use crate::{
    ProviderKind,
    events::unix_time,
    failure::{embedded_message, model_error},
};

/// The end of a stream.
pub(crate) const DONE: &[u8] = b"data: [DONE]\n\n";

/// A complete answer as a completion; `model` is the requested model.
///
/// # Errors
/// Code `model`, reason `answer`, if it is not a valid response of that provider.
pub(crate) fn to_completion(provider: ProviderKind, answer: &Value, model: &str) -> Result<Value> {
    let Some(translation) = &provider.spec().translation else { return Ok(answer.clone()) };
    let completion = (translation.to_completion)(answer, model);
    let mut completion = completion.ok_or_else(|| invalid_response(provider.name()))?;
    completion["provider_answer"] = answer.clone();
    Ok(completion)
}

/// The error of a response that is not valid.
pub(crate) fn invalid_response(who: &str) -> Error {
    model_error(Reason::Answer, format!("invalid response from `{who}`"))
        .with_hint("check that its address belongs to a provider of the configured `kind`")
}

/// The error that a provider reports inside of a stream.
pub(crate) fn stream_error(error: &Value) -> Error {
    let message = embedded_message(&json!({"error": error}));
    model_error(Reason::Stream, format!("the provider reported an error during the stream: {message}"))
        .with("provider_message", message)
}

/// A completion.
pub(crate) fn new_completion(id: &str, model: &str, choices: &[Value], usage: Option<Value>) -> Value {
    let mut all = json!({
        "id": id, "object": "chat.completion", "created": unix_time(), "model": model, "choices": choices,
    });
    if let Some(usage) = usage {
        all["usage"] = usage;
    }
    all
}

/// One choice of a completion.
pub(crate) fn completion_choice(index: usize, said: AnswerParts, reason: &str) -> Value {
    let text = said.text.map_or(Value::Null, Value::String);
    let mut message = json!({"role": "assistant", "content": text});
    if let Some(reasoning) = said.reasoning {
        message["reasoning_content"] = reasoning.into();
    }
    if !said.calls.is_empty() {
        message["tool_calls"] = said.calls.into();
    }
    json!({"index": index, "message": message, "finish_reason": reason})
}

/// The parts of an answer.
#[derive(Debug, Default)]
pub(crate) struct AnswerParts {
    pub(crate) text: Option<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) calls: Vec<Value>,
}

impl AnswerParts {
    pub(crate) fn add_text(&mut self, text: &str) {
        self.text.get_or_insert_default().push_str(text);
    }

    pub(crate) fn add_reasoning(&mut self, text: &str) {
        self.reasoning.get_or_insert_default().push_str(text);
    }

    /// Adds a tool call; a call without an id is numbered.
    pub(crate) fn add_call(&mut self, id: Option<&str>, name: &str, arguments: &Value) {
        self.calls.push(tool_call(id, self.calls.len(), name, arguments));
    }
}

fn tool_call(id: Option<&str>, number: usize, name: &str, arguments: &Value) -> Value {
    let id = id.map_or_else(|| format!("call_{number}"), str::to_owned);
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
}

pub(crate) fn token_usage(prompt: u64, answer: u64, cached: Option<u64>) -> Value {
    let mut all = json!({
        "prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt.saturating_add(answer),
    });
    if let Some(cached) = cached {
        all["prompt_tokens_details"] = json!({"cached_tokens": cached});
    }
    all
}

pub(crate) fn text_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

pub(crate) fn count_at(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// A complete completion as a stream of one chunk: some servers ignore `stream`.
pub(crate) fn completion_to_stream(completion: &Value) -> Option<Bytes> {
    let chunk = completion_to_chunk(completion)?.to_string();
    Some([b"data: ", chunk.as_bytes(), b"\n\n", DONE].concat().into())
}

/// A complete completion as one chunk.
pub(crate) fn completion_to_chunk(completion: &Value) -> Option<Value> {
    let mut chunk = completion.as_object()?.clone();
    chunk.insert("object".to_owned(), "chat.completion.chunk".into());
    for choice in chunk.get_mut("choices")?.as_array_mut()? {
        let choice = choice.as_object_mut()?;
        let mut message = choice.shift_remove("message")?;
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for (index, call) in calls.into_iter().flatten().enumerate() {
            call.as_object_mut()?.insert("index".to_owned(), index.into());
        }
        choice.insert("delta".to_owned(), message);
    }
    Some(Value::Object(chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> ProviderKind {
        ProviderKind::from_name(name).expect("is a provider")
    }

    fn message(provider: &str, answer: &Value) -> (Value, Value) {
        let completion = to_completion(kind(provider), answer, "asked").expect("is an answer");
        assert_eq!(&completion["provider_answer"], answer);
        (completion["choices"][0]["message"].clone(), completion["choices"][0]["finish_reason"].clone())
    }

    fn called(content: &Value, id: &str) -> Value {
        let function = json!({"name": "f", "arguments": "{\"a\":[1]}"});
        json!({
            "role": "assistant", "content": content,
            "tool_calls": [{"id": id, "type": "function", "function": function}],
        })
    }

    #[test]
    fn calls_of_tools_are_in_the_words_of_openai() {
        let arguments = json!({"a": [1]});
        let use_block = json!({"type": "tool_use", "id": "t", "name": "f", "input": arguments});
        let anthropic =
            json!({"content": [{"type": "text", "text": "So:"}, use_block], "stop_reason": "tool_use"});
        assert_eq!(message("anthropic", &anthropic), (called(&json!("So:"), "t"), json!("tool_calls")));

        let part = json!({"functionCall": {"name": "f", "args": arguments}});
        let gemini = json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]});
        assert_eq!(message("gemini", &gemini), (called(&Value::Null, "call_0"), json!("tool_calls")));

        let call = json!({"function": {"name": "f", "arguments": arguments}});
        let ollama = json!({"message": {"content": "", "tool_calls": [call]}, "done_reason": "stop"});
        assert_eq!(message("ollama", &ollama), (called(&json!(""), "call_0"), json!("tool_calls")));
    }

    #[test]
    fn reasons_to_end_are_told_in_the_words_of_openai() {
        for (reason, wanted) in [
            ("max_tokens", "length"),
            ("refusal", "content_filter"),
            ("stop_sequence", "stop"),
            ("new", "stop"),
        ] {
            let answer = json!({"content": [], "stop_reason": reason});
            assert_eq!(message("anthropic", &answer).1, wanted, "{reason}");
        }
        for (reason, wanted) in [("MAX_TOKENS", "length"), ("SAFETY", "content_filter"), ("OTHER", "stop")] {
            let answer = json!({"candidates": [{"finishReason": reason}]});
            assert_eq!(message("gemini", &answer).1, wanted, "{reason}");
        }
        let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
        assert_eq!(message("gemini", &blocked).1, "content_filter");
        let cut = json!({"message": {"content": "a"}, "done_reason": "length"});
        assert_eq!(message("ollama", &cut).1, "length");
    }

    #[test]
    fn reasoning_stands_apart_from_the_answer() {
        let thinking = json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]);
        let parts = json!([{"text": "hm", "thought": true}, {"text": "yes"}]);
        for (provider, answer) in [
            ("anthropic", json!({"content": thinking})),
            ("gemini", json!({"candidates": [{"content": {"parts": parts}}]})),
            ("ollama", json!({"message": {"content": "yes", "thinking": "hm"}})),
        ] {
            let (message, _) = message(provider, &answer);
            assert_eq!((&message["content"], &message["reasoning_content"]), (&json!("yes"), &json!("hm")));
        }
    }

    #[test]
    fn what_was_used_counts_the_cache_as_part_of_the_prompt() {
        let used = json!({
            "input_tokens": 1, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 5,
        });
        let completion =
            to_completion(kind("anthropic"), &json!({"content": [], "usage": used}), "m").expect("is one");
        assert_eq!(
            completion["usage"],
            json!({
                "prompt_tokens": 111, "completion_tokens": 5, "total_tokens": 116,
                "prompt_tokens_details": {"cached_tokens": 100},
            })
        );
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for provider in ["anthropic", "gemini", "ollama"] {
            for answer in
                [json!(null), json!([]), json!({"error": "x"}), json!({"content": 5, "candidates": 5})]
            {
                assert!(to_completion(kind(provider), &answer, "m").is_err(), "{provider:?} {answer}");
            }
        }
    }
}
