//! The face of Anthropic's messages.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::{Value, json};

use super::{Face, FaceError, prefixed_id};
use crate::{
    completion::count_at,
    events::{AnswerEvent, AnswerHead, named_event},
};

/// Writes the events of a message, whose blocks follow each other.
#[derive(Default)]
pub(super) struct MessagesFace {
    started: bool,
    /// The blocks that began, the last of which may be open.
    blocks: Vec<Block>,
    is_open: bool,
    /// Calls that began while another one was open; each is written as a whole at the end.
    waiting: Vec<Block>,
    end: Value,
    usage: Value,
}

struct Block {
    kind: BlockKind,
    /// The text, or the arguments of a call.
    text: String,
}

#[derive(PartialEq)]
enum BlockKind {
    Text,
    Thinking,
    Call { number: usize, id: String, name: String },
}

impl Block {
    fn to_start(&self) -> Value {
        match &self.kind {
            BlockKind::Text => json!({"type": "text", "text": "", "citations": null}),
            BlockKind::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            BlockKind::Call { id, name, .. } => {
                json!({"type": "tool_use", "id": id, "name": name, "input": {}})
            }
        }
    }

    fn to_delta(&self, text: &str) -> Value {
        match self.kind {
            BlockKind::Text => json!({"type": "text_delta", "text": text}),
            BlockKind::Thinking => json!({"type": "thinking_delta", "thinking": text}),
            BlockKind::Call { .. } => json!({"type": "input_json_delta", "partial_json": text}),
        }
    }

    fn to_block(&self) -> Value {
        match &self.kind {
            BlockKind::Text => json!({"type": "text", "text": self.text, "citations": null}),
            BlockKind::Thinking => json!({"type": "thinking", "thinking": self.text, "signature": ""}),
            BlockKind::Call { id, name, .. } => {
                let input: Value = serde_json::from_str(&self.text).unwrap_or_else(|_| json!({}));
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
        }
    }

    fn is_call(&self, wanted: usize) -> bool {
        matches!(self.kind, BlockKind::Call { number, .. } if number == wanted)
    }
}

impl Face for MessagesFace {
    fn write_event(&mut self, head: &AnswerHead, event: AnswerEvent, out: &mut BytesMut) {
        self.start_message(head, out);
        match event {
            // Refusals are texts here; the reason of the end says that they are refusals.
            AnswerEvent::Text(text) | AnswerEvent::Refusal(text) => {
                self.add_text(BlockKind::Text, &text, out);
            }
            AnswerEvent::Reasoning(text) => self.add_text(BlockKind::Thinking, &text, out),
            AnswerEvent::Call { number, id, name, arguments } => {
                let block = Block { kind: BlockKind::Call { number, id, name }, text: arguments };
                let has_open_call = self.is_open
                    && matches!(self.blocks.last(), Some(Block { kind: BlockKind::Call { .. }, .. }));
                match has_open_call {
                    true => self.waiting.push(block),
                    false => self.open_block(block, out),
                }
            }
            AnswerEvent::Arguments { number, text } => self.add_arguments(number, &text, out),
            AnswerEvent::Finish { reason, usage } => self.finish_message(&reason, usage.as_ref(), out),
        }
    }

    fn error_event(&mut self, error: &FaceError) -> Bytes {
        // An event may be open.
        [b"\n\n", &*named_event("error", &error.to_anthropic())].concat().into()
    }

    fn to_document(&self, head: &AnswerHead) -> Value {
        let mut message = new_message(head);
        message["content"] = self.blocks.iter().map(Block::to_block).collect();
        message["stop_reason"] = self.end.clone();
        message["usage"] = self.usage.clone();
        message
    }
}

impl MessagesFace {
    fn start_message(&mut self, head: &AnswerHead, out: &mut BytesMut) {
        if self.started {
            return;
        }
        self.started = true;
        put_event(out, "message_start", &json!({"type": "message_start", "message": new_message(head)}));
    }

    fn add_text(&mut self, kind: BlockKind, text: &str, out: &mut BytesMut) {
        if !self.is_open || self.blocks.last().is_none_or(|block| block.kind != kind) {
            self.open_block(Block { kind, text: String::new() }, out);
        }
        self.add_to_open(text, out);
    }

    fn add_arguments(&mut self, number: usize, text: &str, out: &mut BytesMut) {
        if self.is_open && self.blocks.last().is_some_and(|block| block.is_call(number)) {
            self.add_to_open(text, out);
        } else if let Some(block) = self.waiting.iter_mut().find(|block| block.is_call(number)) {
            block.text.push_str(text);
        }
    }

    fn open_block(&mut self, mut block: Block, out: &mut BytesMut) {
        self.close_block(out);
        let text = std::mem::take(&mut block.text);
        let start = block.to_start();
        let event =
            json!({"type": "content_block_start", "index": self.blocks.len(), "content_block": start});
        put_event(out, "content_block_start", &event);
        self.blocks.push(block);
        self.is_open = true;
        self.add_to_open(&text, out);
    }

    fn add_to_open(&mut self, text: &str, out: &mut BytesMut) {
        let Some(index) = self.blocks.len().checked_sub(1).filter(|_| !text.is_empty()) else { return };
        let block = &mut self.blocks[index];
        block.text.push_str(text);
        let delta = block.to_delta(text);
        let event = json!({"type": "content_block_delta", "index": index, "delta": delta});
        put_event(out, "content_block_delta", &event);
    }

    fn close_block(&mut self, out: &mut BytesMut) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let event = json!({"type": "content_block_stop", "index": self.blocks.len().saturating_sub(1)});
        put_event(out, "content_block_stop", &event);
    }

    fn finish_message(&mut self, reason: &str, usage: Option<&Value>, out: &mut BytesMut) {
        for block in std::mem::take(&mut self.waiting) {
            self.open_block(block, out);
        }
        self.close_block(out);
        self.end = stop_reason(reason).into();
        self.usage = to_usage(usage);
        let delta = json!({"stop_reason": self.end, "stop_sequence": null});
        put_event(
            out,
            "message_delta",
            &json!({"type": "message_delta", "delta": delta, "usage": self.usage}),
        );
        put_event(out, "message_stop", &json!({"type": "message_stop"}));
    }
}

/// An empty message. Its usage is what is known before the answer.
fn new_message(head: &AnswerHead) -> Value {
    json!({
        "id": prefixed_id("msg_", &head.id), "type": "message", "role": "assistant", "model": head.model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": head.prompt_tokens.unwrap_or_default(), "output_tokens": 0},
    })
}

fn stop_reason(reason: &str) -> &'static str {
    match reason {
        "length" => "max_tokens",
        "tool_calls" | "function_call" => "tool_use",
        "content_filter" => "refusal",
        _ => "end_turn",
    }
}

/// The token usage: here, the tokens of the prompt do not contain those of the cache.
fn to_usage(usage: Option<&Value>) -> Value {
    let count = |pointer: &str| usage.and_then(|usage| count_at(usage, pointer));
    let (prompt, cached) =
        (count("/prompt_tokens").unwrap_or_default(), count("/prompt_tokens_details/cached_tokens"));
    let mut all = json!({
        "input_tokens": prompt.saturating_sub(cached.unwrap_or_default()),
        "output_tokens": count("/completion_tokens").unwrap_or_default(),
    });
    if let Some(cached) = cached {
        all["cache_read_input_tokens"] = cached.into();
    }
    all
}

fn put_event(out: &mut BytesMut, name: &str, data: &Value) {
    out.put_slice(&named_event(name, data));
}
