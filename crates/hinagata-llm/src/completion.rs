//! Answers of other providers as OpenAI chat completions, complete and streamed.
//!
//! The file of each provider in `providers` uses these parts. What a completion cannot express stays in `provider_answer`.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::{BufMut as _, Bytes, BytesMut};
use hinagata::{Error, Reason, Result};
use serde_json::{Map, Value, json};

use crate::{
    ProviderKind,
    failure::{embedded_message, model_error},
    providers::StreamTranslator,
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

pub(crate) fn tool_call(id: Option<&str>, number: usize, name: &str, arguments: &Value) -> Value {
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

fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

pub(crate) fn text_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

pub(crate) fn count_at(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// Translates the pieces of a streamed answer into OpenAI chunks.
pub(crate) struct Translator {
    provider: ProviderKind,
    pieces: Box<dyn StreamTranslator>,
    chunks: Chunks,
}

impl Translator {
    /// A translator for one answer of a provider.
    pub(crate) fn new(provider: ProviderKind, pieces: Box<dyn StreamTranslator>, model: &str) -> Self {
        Self { provider, pieces, chunks: Chunks::new(model) }
    }

    /// Translates one piece.
    ///
    /// # Errors
    /// Code `model`: reason `answer` if it is not JSON, reason `stream` if it reports an error.
    pub(crate) fn push_piece(&mut self, data: &[u8]) -> Result<()> {
        let piece: Value =
            serde_json::from_slice(data).map_err(|_| invalid_response(self.provider.name()))?;
        if let Some(error) = piece.get("error").filter(|error| !error.is_null()) {
            return Err(stream_error(error));
        }
        self.pieces.translate_piece(&piece, &mut self.chunks);
        Ok(())
    }

    /// Takes the chunks that are ready.
    pub(crate) fn take_chunks(&mut self) -> Option<Bytes> {
        let bytes = self.chunks.bytes.split().freeze();
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Ends the stream after the last piece.
    ///
    /// # Errors
    /// Code `model`, reason `stream`, if the answer is not complete.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if !self.chunks.finished {
            return Err(model_error(Reason::Stream, "the stream ended before the answer was complete"));
        }
        self.chunks.bytes.put_slice(DONE);
        Ok(())
    }
}

/// Chunks as OpenAI streams them.
pub(crate) struct Chunks {
    pub(crate) id: String,
    pub(crate) model: String,
    created: u64,
    bytes: BytesMut,
    started: bool,
    finished: bool,
}

impl Chunks {
    fn new(model: &str) -> Self {
        let created = unix_time();
        Self {
            id: format!("chatcmpl-{created}"),
            model: model.to_owned(),
            created,
            bytes: BytesMut::new(),
            started: false,
            finished: false,
        }
    }

    pub(crate) fn push_text(&mut self, text: &str) {
        self.push_delta("content", text.into());
    }

    pub(crate) fn push_reasoning(&mut self, text: &str) {
        self.push_delta("reasoning_content", text.into());
    }

    /// Adds a piece of the tool call with this number.
    pub(crate) fn push_call(&mut self, number: usize, mut call: Value) {
        call["index"] = number.into();
        self.push_delta("tool_calls", json!([call]));
    }

    fn push_delta(&mut self, key: &str, value: Value) {
        let mut delta = Map::new();
        if !self.started {
            delta.insert("role".to_owned(), "assistant".into());
            self.started = true;
        }
        delta.insert(key.to_owned(), value);
        self.push_chunk(&json!([{"index": 0, "delta": delta, "finish_reason": null}]), None);
    }

    /// Adds the last chunk: why the answer ended, and the token usage.
    pub(crate) fn push_finish(&mut self, reason: &str, usage: Option<Value>) {
        self.finished = true;
        self.push_chunk(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]), usage);
    }

    fn push_chunk(&mut self, choices: &Value, usage: Option<Value>) {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": choices,
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        }
        self.bytes.put_slice(b"data: ");
        self.bytes.put_slice(chunk.to_string().as_bytes());
        self.bytes.put_slice(b"\n\n");
    }
}

/// A complete completion as a stream of one chunk: some servers ignore `stream`.
pub(crate) fn completion_to_stream(completion: &Value) -> Option<Bytes> {
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
    let chunk = Value::Object(chunk).to_string();
    Some([b"data: ", chunk.as_bytes(), b"\n\n", DONE].concat().into())
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
