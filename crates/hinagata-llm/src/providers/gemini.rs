//! `generateContent` of Gemini; a stream is made of the same answers, each with what is new.

use serde_json::{Value, json};

use crate::completion::{Chunks, Said, call, choice, completion, count, text, usage};

pub(crate) fn whole(answer: &Value, model: &str) -> Option<Value> {
    let blocked = answer.get("promptFeedback").is_some();
    let mut choices: Vec<Value> = Vec::new();
    match answer.get("candidates").and_then(Value::as_array) {
        Some(candidates) => choices.extend(candidates.iter().enumerate().map(one)),
        // A prompt that is refused has no candidates, only a reason.
        None if blocked => choices.push(choice(0, Said::default(), "content_filter")),
        None => return None,
    }
    let id = text(answer, "/responseId").unwrap_or("chatcmpl");
    Some(completion(id, text(answer, "/modelVersion").unwrap_or(model), &choices, used(answer)))
}

fn one((index, candidate): (usize, &Value)) -> Value {
    let mut said = Said::default();
    for part in parts(candidate) {
        match (part.get("functionCall"), text(part, "/text")) {
            (Some(call), _) => {
                let name = text(call, "/name").unwrap_or_default();
                said.add_call(text(call, "/id"), name, call.get("args").unwrap_or(&json!({})));
            }
            (None, Some(thought)) if is_thought(part) => said.add_reasoning(thought),
            (None, Some(text)) => said.add_text(text),
            (None, None) => {}
        }
    }
    let reason = reason(text(candidate, "/finishReason"), !said.calls.is_empty());
    choice(index, said, reason)
}

fn parts(candidate: &Value) -> impl Iterator<Item = &Value> {
    candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten()
}

fn is_thought(part: &Value) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

fn reason(reason: Option<&str>, has_calls: bool) -> &'static str {
    match reason {
        Some("MAX_TOKENS") => "length",
        Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE") => {
            "content_filter"
        }
        _ if has_calls => "tool_calls",
        _ => "stop",
    }
}

fn used(answer: &Value) -> Option<Value> {
    let used = answer.get("usageMetadata")?;
    let answered = count(used, "/candidatesTokenCount").unwrap_or_default();
    let thought = count(used, "/thoughtsTokenCount").unwrap_or_default();
    let prompt = count(used, "/promptTokenCount").unwrap_or_default();
    Some(usage(prompt, answered.saturating_add(thought), count(used, "/cachedContentTokenCount")))
}

/// What is known of a stream.
#[derive(Default)]
pub(crate) struct Pieces {
    calls: usize,
}

impl Pieces {
    pub(crate) fn piece(&mut self, piece: &Value, chunks: &mut Chunks) {
        if let Some(id) = text(piece, "/responseId") {
            id.clone_into(&mut chunks.id);
        }
        if let Some(model) = text(piece, "/modelVersion") {
            model.clone_into(&mut chunks.model);
        }
        let Some(candidate) = piece.pointer("/candidates/0") else {
            if piece.get("promptFeedback").is_some() {
                chunks.finish("content_filter", used(piece));
            }
            return;
        };
        for part in parts(candidate) {
            self.part(part, chunks);
        }
        if let Some(ended) = text(candidate, "/finishReason") {
            chunks.finish(reason(Some(ended), self.calls > 0), used(piece));
        }
    }

    fn part(&mut self, part: &Value, chunks: &mut Chunks) {
        match (part.get("functionCall"), text(part, "/text")) {
            (Some(made), _) => {
                let name = text(made, "/name").unwrap_or_default();
                let call = call(text(made, "/id"), self.calls, name, made.get("args").unwrap_or(&json!({})));
                chunks.call(self.calls, call);
                self.calls += 1;
            }
            (None, Some(thought)) if is_thought(part) => chunks.reasoning(thought),
            (None, Some(text)) => chunks.text(text),
            (None, None) => {}
        }
    }
}
