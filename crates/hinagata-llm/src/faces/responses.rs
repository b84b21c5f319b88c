//! The face of OpenAI's responses.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::{Map, Value, json};

use super::{Face, FaceError, prefixed_id};
use crate::{
    completion::count_at,
    events::{AnswerEvent, AnswerHead, named_event},
};

/// Writes the events of a response.
pub(super) struct ResponsesFace {
    /// The fields of the request that a response repeats.
    echo: Map<String, Value>,
    started: bool,
    /// The number of the next event.
    sequence: u64,
    items: Vec<Item>,
    reason: String,
    usage: Value,
}

/// An item of the output.
struct Item {
    kind: ItemKind,
    id: String,
    /// The text, or the arguments of a call.
    text: String,
    is_open: bool,
}

#[derive(PartialEq)]
enum ItemKind {
    /// A message that has this part.
    Message(TextKind),
    Reasoning,
    Call {
        number: usize,
        call_id: String,
        name: String,
    },
}

#[derive(Clone, Copy, PartialEq)]
enum TextKind {
    Text,
    Refusal,
}

impl TextKind {
    /// The part with this text.
    fn to_part(self, text: &str) -> Value {
        match self {
            Self::Text => json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []}),
            Self::Refusal => json!({"type": "refusal", "refusal": text}),
        }
    }

    /// The start of the names of its events.
    const fn event(self) -> &'static str {
        match self {
            Self::Text => "response.output_text",
            Self::Refusal => "response.refusal",
        }
    }
}

impl Item {
    fn to_json(&self) -> Value {
        let status = if self.is_open { "in_progress" } else { "completed" };
        match &self.kind {
            ItemKind::Message(kind) => {
                let content = if self.is_open { json!([]) } else { json!([kind.to_part(&self.text)]) };
                json!({"id": self.id, "type": "message", "status": status, "role": "assistant", "content": content})
            }
            ItemKind::Reasoning => {
                let summary = if self.is_open { json!([]) } else { json!([summary_part(&self.text)]) };
                json!({"id": self.id, "type": "reasoning", "summary": summary})
            }
            ItemKind::Call { call_id, name, .. } => json!({
                "id": self.id, "type": "function_call", "status": status, "call_id": call_id, "name": name,
                "arguments": self.text,
            }),
        }
    }

    fn is_call(&self, wanted: usize) -> bool {
        matches!(self.kind, ItemKind::Call { number, .. } if number == wanted)
    }
}

fn summary_part(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

impl Face for ResponsesFace {
    fn write_event(&mut self, head: &AnswerHead, event: AnswerEvent, out: &mut BytesMut) {
        self.start_response(head, out);
        match event {
            AnswerEvent::Text(text) => self.add_text(head, ItemKind::Message(TextKind::Text), &text, out),
            AnswerEvent::Refusal(text) => {
                self.add_text(head, ItemKind::Message(TextKind::Refusal), &text, out);
            }
            AnswerEvent::Reasoning(text) => self.add_text(head, ItemKind::Reasoning, &text, out),
            AnswerEvent::Call { number, id, name, arguments } => {
                self.close_items(|item| !matches!(item.kind, ItemKind::Call { .. }), out);
                let kind = ItemKind::Call { number, call_id: id, name };
                let index = self.open_item(head, kind, out);
                self.add_to_item(index, &arguments, out);
            }
            AnswerEvent::Arguments { number, text } => {
                let open = self.items.iter().position(|item| item.is_open && item.is_call(number));
                if let Some(index) = open {
                    self.add_to_item(index, &text, out);
                }
            }
            AnswerEvent::Finish { reason, usage } => {
                self.close_items(|_| true, out);
                self.reason = reason;
                self.usage = to_usage(usage.as_ref());
                let response = self.to_document(head);
                let name = if response["status"] == "completed" {
                    "response.completed"
                } else {
                    "response.incomplete"
                };
                self.put_event(name, json!({"response": response}), out);
            }
        }
    }

    fn error_event(&mut self, error: &FaceError) -> Bytes {
        let mut out = BytesMut::new();
        // An event may be open.
        out.put_slice(b"\n\n");
        let fields = json!({"code": error.code, "message": error.message, "param": null});
        self.put_event("error", fields, &mut out);
        out.freeze()
    }

    fn to_document(&self, head: &AnswerHead) -> Value {
        let why = match self.reason.as_str() {
            "length" => Some("max_output_tokens"),
            "content_filter" => Some("content_filter"),
            _ => None,
        };
        let status = if why.is_some() { "incomplete" } else { "completed" };
        let mut response = self.new_response(head, status);
        response["incomplete_details"] = why.map_or(Value::Null, |why| json!({"reason": why}));
        response["output"] = self.items.iter().map(Item::to_json).collect();
        response["usage"] = self.usage.clone();
        response
    }
}

impl ResponsesFace {
    /// A face for the answer of a request with these fields.
    pub(super) fn new(echo: &Map<String, Value>) -> Self {
        Self {
            echo: echo.clone(),
            started: false,
            sequence: 0,
            items: Vec::new(),
            reason: String::new(),
            usage: Value::Null,
        }
    }

    /// A response without output, with every field that the clients' types require.
    fn new_response(&self, head: &AnswerHead, status: &str) -> Value {
        let mut response = json!({
            "id": prefixed_id("resp_", &head.id), "object": "response", "created_at": head.created, "status": status,
            "background": false, "error": null, "incomplete_details": null, "instructions": null,
            "max_output_tokens": null, "metadata": {}, "model": head.model, "output": [], "parallel_tool_calls": true,
            "previous_response_id": null, "reasoning": {"effort": null, "summary": null}, "store": false,
            "temperature": null, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [],
            "top_p": null, "truncation": "disabled", "usage": null, "user": null,
        });
        for (name, value) in &self.echo {
            response[name] = value.clone();
        }
        response
    }

    fn start_response(&mut self, head: &AnswerHead, out: &mut BytesMut) {
        if self.started {
            return;
        }
        self.started = true;
        let response = self.new_response(head, "in_progress");
        for name in ["response.created", "response.in_progress"] {
            self.put_event(name, json!({"response": response}), out);
        }
    }

    fn add_text(&mut self, head: &AnswerHead, kind: ItemKind, text: &str, out: &mut BytesMut) {
        let last = self.items.len().checked_sub(1);
        let open = last.filter(|&last| self.items[last].is_open && self.items[last].kind == kind);
        let index = match open {
            Some(index) => index,
            None => {
                self.close_items(|_| true, out);
                self.open_item(head, kind, out)
            }
        };
        self.add_to_item(index, text, out);
    }

    /// Begins an item, and returns its index.
    fn open_item(&mut self, head: &AnswerHead, kind: ItemKind, out: &mut BytesMut) -> usize {
        let index = self.items.len();
        let prefix = match kind {
            ItemKind::Message(_) => "msg_",
            ItemKind::Reasoning => "rs_",
            ItemKind::Call { .. } => "fc_",
        };
        let id = format!("{prefix}{}_{index}", head.id);
        let item = Item { kind, id: id.clone(), text: String::new(), is_open: true };
        self.put_event(
            "response.output_item.added",
            json!({"output_index": index, "item": item.to_json()}),
            out,
        );
        let place = json!({"item_id": id, "output_index": index});
        match &item.kind {
            ItemKind::Message(kind) => {
                let fields = json!({"content_index": 0, "part": kind.to_part("")});
                self.put_event("response.content_part.added", joined(place, fields), out);
            }
            ItemKind::Reasoning => {
                let fields = json!({"summary_index": 0, "part": summary_part("")});
                self.put_event("response.reasoning_summary_part.added", joined(place, fields), out);
            }
            ItemKind::Call { .. } => {}
        }
        self.items.push(item);
        index
    }

    fn add_to_item(&mut self, index: usize, text: &str, out: &mut BytesMut) {
        if text.is_empty() {
            return;
        }
        let item = &mut self.items[index];
        item.text.push_str(text);
        let place = json!({"item_id": item.id, "output_index": index, "delta": text});
        let (name, fields) = match &item.kind {
            ItemKind::Message(TextKind::Text) => {
                ("response.output_text.delta", json!({"content_index": 0, "logprobs": []}))
            }
            ItemKind::Message(TextKind::Refusal) => ("response.refusal.delta", json!({"content_index": 0})),
            ItemKind::Reasoning => ("response.reasoning_summary_text.delta", json!({"summary_index": 0})),
            ItemKind::Call { .. } => ("response.function_call_arguments.delta", json!({})),
        };
        self.put_event(name, joined(place, fields), out);
    }

    /// Ends the open items that `is_meant` selects.
    fn close_items(&mut self, is_meant: impl Fn(&Item) -> bool, out: &mut BytesMut) {
        for index in 0..self.items.len() {
            if self.items[index].is_open && is_meant(&self.items[index]) {
                self.close_item(index, out);
            }
        }
    }

    fn close_item(&mut self, index: usize, out: &mut BytesMut) {
        let item = &mut self.items[index];
        item.is_open = false;
        let place = json!({"item_id": item.id, "output_index": index});
        let done = item.to_json();
        let events = match &item.kind {
            ItemKind::Message(kind) => {
                let mut text = match kind {
                    TextKind::Text => json!({"text": item.text, "logprobs": []}),
                    TextKind::Refusal => json!({"refusal": item.text}),
                };
                text["content_index"] = 0.into();
                let part = json!({"content_index": 0, "part": kind.to_part(&item.text)});
                vec![
                    (format!("{}.done", kind.event()), text),
                    ("response.content_part.done".to_owned(), part),
                ]
            }
            ItemKind::Reasoning => {
                let text = json!({"summary_index": 0, "text": item.text});
                let part = json!({"summary_index": 0, "part": summary_part(&item.text)});
                vec![
                    ("response.reasoning_summary_text.done".to_owned(), text),
                    ("response.reasoning_summary_part.done".to_owned(), part),
                ]
            }
            ItemKind::Call { name, .. } => {
                let fields = json!({"name": name, "arguments": item.text});
                vec![("response.function_call_arguments.done".to_owned(), fields)]
            }
        };
        for (name, fields) in events {
            self.put_event(&name, joined(place.clone(), fields), out);
        }
        self.put_event("response.output_item.done", json!({"output_index": index, "item": done}), out);
    }

    fn put_event(&mut self, name: &str, fields: Value, out: &mut BytesMut) {
        let head = json!({"type": name, "sequence_number": self.sequence});
        self.sequence += 1;
        out.put_slice(&named_event(name, &joined(head, fields)));
    }
}

/// An object with the members of both.
fn joined(mut all: Value, more: Value) -> Value {
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    all
}

fn to_usage(usage: Option<&Value>) -> Value {
    let Some(usage) = usage else { return Value::Null };
    let count = |pointer: &str| count_at(usage, pointer).unwrap_or_default();
    let (prompt, answer) = (count("/prompt_tokens"), count("/completion_tokens"));
    let cache = json!({
        "cached_tokens": count("/prompt_tokens_details/cached_tokens"),
        "cache_write_tokens": count("/prompt_tokens_details/cache_write_tokens"),
    });
    json!({
        "input_tokens": prompt,
        "input_tokens_details": cache,
        "output_tokens": answer,
        "output_tokens_details": {"reasoning_tokens": count("/completion_tokens_details/reasoning_tokens")},
        "total_tokens": prompt.saturating_add(answer),
    })
}
