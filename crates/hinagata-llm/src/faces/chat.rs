//! The face of OpenAI's chat completions.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::{Map, Value, json};

use super::{Face, FaceError};
use crate::{
    completion::DONE,
    events::{AnswerEvent, AnswerHead},
};

/// Writes chunks.
#[derive(Default)]
pub(super) struct ChatFace {
    started: bool,
}

impl Face for ChatFace {
    fn write_event(&mut self, head: &AnswerHead, event: AnswerEvent, out: &mut BytesMut) {
        match event {
            AnswerEvent::Text(text) => self.write_delta(head, "content", text.into(), out),
            AnswerEvent::Reasoning(text) => self.write_delta(head, "reasoning_content", text.into(), out),
            AnswerEvent::Refusal(text) => self.write_delta(head, "refusal", text.into(), out),
            AnswerEvent::Call { number, id, name, arguments } => {
                let function = json!({"name": name, "arguments": arguments});
                let call = json!({"id": id, "type": "function", "function": function, "index": number});
                self.write_delta(head, "tool_calls", json!([call]), out);
            }
            AnswerEvent::Arguments { number, text } => {
                let call = json!({"function": {"arguments": text}, "index": number});
                self.write_delta(head, "tool_calls", json!([call]), out);
            }
            AnswerEvent::Finish { reason, usage } => {
                let choices = json!([{"index": 0, "delta": {}, "finish_reason": reason}]);
                write_chunk(head, &choices, usage, out);
            }
        }
    }

    fn end_stream(&mut self, out: &mut BytesMut) {
        out.put_slice(DONE);
    }

    fn error_event(&mut self, error: &FaceError) -> Bytes {
        // A chunk may be open.
        format!("\n\ndata: {}\n\n", error.to_openai()).into()
    }
}

impl ChatFace {
    fn write_delta(&mut self, head: &AnswerHead, key: &str, value: Value, out: &mut BytesMut) {
        let mut delta = Map::new();
        if !self.started {
            delta.insert("role".to_owned(), "assistant".into());
            self.started = true;
        }
        delta.insert(key.to_owned(), value);
        write_chunk(head, &json!([{"index": 0, "delta": delta, "finish_reason": null}]), None, out);
    }
}

fn write_chunk(head: &AnswerHead, choices: &Value, usage: Option<Value>, out: &mut BytesMut) {
    let mut chunk = json!({
        "id": head.id, "object": "chat.completion.chunk", "created": head.created, "model": head.model,
        "choices": choices,
    });
    if let Some(usage) = usage {
        chunk["usage"] = usage;
    }
    out.put_slice(b"data: ");
    out.put_slice(chunk.to_string().as_bytes());
    out.put_slice(b"\n\n");
}
