//! Answers as neutral events: what every provider's answer becomes, and what every face writes.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde_json::Value;

/// What an answer is about, beside its events.
#[derive(Clone, Debug)]
pub(crate) struct AnswerHead {
    pub(crate) id: String,
    pub(crate) model: String,
    /// Unix time.
    pub(crate) created: u64,
    /// Tokens of the prompt, where they are known before the answer begins.
    pub(crate) prompt_tokens: Option<u64>,
}

/// A piece of an answer. An answer ends with [`AnswerEvent::Finish`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AnswerEvent {
    Text(String),
    Reasoning(String),
    Refusal(String),
    /// A tool call begins, with as much of its arguments as is known.
    Call {
        number: usize,
        id: String,
        name: String,
        arguments: String,
    },
    /// More of the arguments of a call.
    Arguments {
        number: usize,
        text: String,
    },
    /// The answer is complete: why, and the token usage, both as OpenAI's chat completions have them.
    Finish {
        reason: String,
        usage: Option<Value>,
    },
}

/// The events of one answer that no face has written yet.
#[derive(Debug)]
pub(crate) struct AnswerEvents {
    pub(crate) head: AnswerHead,
    pub(crate) list: Vec<AnswerEvent>,
    pub(crate) finished: bool,
}

impl AnswerEvents {
    pub(crate) fn new(model: &str) -> Self {
        let created = unix_time();
        let head = AnswerHead {
            id: format!("chatcmpl-{created}"),
            model: model.to_owned(),
            created,
            prompt_tokens: None,
        };
        Self { head, list: Vec::new(), finished: false }
    }

    /// Sets the id of the answer.
    pub(crate) fn set_id(&mut self, id: Option<&str>) {
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            id.clone_into(&mut self.head.id);
        }
    }

    /// Sets the model that answers.
    pub(crate) fn set_model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            model.clone_into(&mut self.head.model);
        }
    }

    pub(crate) fn push_text(&mut self, text: &str) {
        self.list.push(AnswerEvent::Text(text.to_owned()));
    }

    pub(crate) fn push_reasoning(&mut self, text: &str) {
        self.list.push(AnswerEvent::Reasoning(text.to_owned()));
    }

    pub(crate) fn push_refusal(&mut self, text: &str) {
        self.list.push(AnswerEvent::Refusal(text.to_owned()));
    }

    /// Begins the tool call with this number; a call without an id is numbered.
    pub(crate) fn push_call(&mut self, number: usize, id: Option<&str>, name: &str, arguments: String) {
        let id = id.filter(|id| !id.is_empty()).map_or_else(|| format!("call_{number}"), str::to_owned);
        self.list.push(AnswerEvent::Call { number, id, name: name.to_owned(), arguments });
    }

    /// Adds to the arguments of the tool call with this number.
    pub(crate) fn push_arguments(&mut self, number: usize, text: &str) {
        self.list.push(AnswerEvent::Arguments { number, text: text.to_owned() });
    }

    /// Ends the answer; what follows its end does not count.
    pub(crate) fn push_finish(&mut self, reason: &str, usage: Option<Value>) {
        if !self.finished {
            self.finished = true;
            self.list.push(AnswerEvent::Finish { reason: reason.to_owned(), usage });
        }
    }
}

/// One piece of a stream of server-sent events, with the name of its type.
pub(crate) fn named_event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// The time in seconds.
pub(crate) fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
