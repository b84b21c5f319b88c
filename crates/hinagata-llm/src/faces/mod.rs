//! The APIs in which programs call models. A face reads the requests of one API, and writes answers in it.
//!
//! Answers come as neutral events, so a face knows no provider. A new face is a file here and a [`Dialect`].

mod chat;
mod fields;
mod messages;
mod request;
mod responses;

use bytes::{Bytes, BytesMut};
use serde_json::{Map, Value, json};

use crate::{
    Dialect,
    events::{AnswerEvent, AnswerEvents, AnswerHead},
};

pub use request::FaceRequest;

/// Writes one answer in a dialect.
pub(crate) trait Face: Send {
    /// Writes an event of a streamed answer.
    fn write_event(&mut self, head: &AnswerHead, event: AnswerEvent, out: &mut BytesMut);

    /// Writes what follows the last event.
    fn end_stream(&mut self, _out: &mut BytesMut) {}

    /// The error that ends a stream.
    fn error_event(&mut self, error: &FaceError) -> Bytes;

    /// The complete answer, after its last event.
    fn to_document(&self, _head: &AnswerHead) -> Value {
        Value::Null
    }
}

/// An error as the faces show it.
#[derive(Clone, Debug)]
pub struct FaceError {
    /// What went wrong and what to do.
    pub message: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code of the error.
    pub code: String,
    /// The field of the request that it is about.
    pub param: Option<String>,
}

impl FaceError {
    /// The body of an error of OpenAI's APIs.
    #[must_use]
    pub fn to_openai(&self) -> Value {
        let kind = match self.status {
            429 => "rate_limit_error",
            401 => "authentication_error",
            403 => "permission_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        json!({"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}})
    }

    /// The body of an error of Anthropic's API.
    #[must_use]
    pub fn to_anthropic(&self) -> Value {
        let kind = match self.status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            503 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": self.message}})
    }
}

impl Dialect {
    /// A face for one answer; `echo` are the fields of the request that the answer repeats.
    pub(crate) fn new_face(self, echo: &Map<String, Value>) -> Box<dyn Face> {
        match self {
            Self::ChatCompletions => Box::new(chat::ChatFace::default()),
            Self::Responses => Box::new(responses::ResponsesFace::new(echo)),
            Self::Messages => Box::new(messages::MessagesFace::default()),
        }
    }

    /// Whether a stream of this dialect is complete, by its last bytes.
    pub(crate) fn ends_stream(self, tail: &[u8]) -> bool {
        match self {
            Self::ChatCompletions => tail.trim_ascii_end().ends_with(b"[DONE]"),
            Self::Responses => false,
            Self::Messages => {
                let plain: Vec<u8> =
                    tail.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
                // In a text of the answer, the quotes would be escaped.
                memchr::memmem::find(&plain, br#""type":"message_stop""#).is_some()
            }
        }
    }

    /// The complete answer that these events make.
    pub(crate) fn to_document(self, echo: &Map<String, Value>, events: AnswerEvents) -> Value {
        let (mut face, mut unused) = (self.new_face(echo), BytesMut::new());
        for event in events.list {
            face.write_event(&events.head, event, &mut unused);
            unused.clear();
        }
        face.to_document(&events.head)
    }
}

/// An id with the prefix that ids of its kind have.
fn prefixed_id(prefix: &str, id: &str) -> String {
    if id.starts_with(prefix) { id.to_owned() } else { format!("{prefix}{id}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(dialect: Dialect, events: &[AnswerEvent]) -> (String, Value) {
        let mut all = AnswerEvents::new("m");
        all.list = events.to_vec();
        let (mut face, mut out) = (dialect.new_face(&Map::new()), BytesMut::new());
        for event in events {
            face.write_event(&all.head, event.clone(), &mut out);
        }
        (String::from_utf8(out.to_vec()).expect("is text"), face.to_document(&all.head))
    }

    /// Two calls whose arguments arrive in turns.
    fn mixed_calls() -> Vec<AnswerEvent> {
        let call = |number: usize, name: &str| AnswerEvent::Call {
            number,
            id: format!("c{number}"),
            name: name.to_owned(),
            arguments: String::new(),
        };
        let more = |number, text: &str| AnswerEvent::Arguments { number, text: text.to_owned() };
        let end = AnswerEvent::Finish { reason: "tool_calls".to_owned(), usage: None };
        let all = [
            call(0, "look"),
            call(1, "take"),
            more(0, "{\"a\""),
            more(1, "{\"b\""),
            more(0, ":1}"),
            more(1, ":2}"),
        ];
        [vec![AnswerEvent::Reasoning("hm".to_owned())], all.to_vec(), vec![end]].concat()
    }

    #[test]
    fn blocks_of_a_message_follow_each_other_even_if_calls_arrive_mixed() {
        let (text, message) = written(Dialect::Messages, &mixed_calls());
        let open = |line: &&str| line.contains("content_block_start") || line.contains("content_block_stop");
        let order: Vec<bool> = text
            .lines()
            .filter(|line| line.starts_with("data:"))
            .filter(open)
            .map(|line| line.contains("content_block_start"))
            .collect();
        assert_eq!(order, [true, false, true, false, true, false], "{text}");
        let inputs: Vec<&Value> =
            message["content"].as_array().expect("a list")[1..].iter().map(|block| &block["input"]).collect();
        assert_eq!(inputs, [&json!({"a": 1}), &json!({"b": 2})]);
        assert_eq!(
            (&message["content"][0]["thinking"], &message["stop_reason"]),
            (&json!("hm"), &json!("tool_use"))
        );
    }

    #[test]
    fn items_of_a_response_keep_their_own_arguments() {
        let (_, response) = written(Dialect::Responses, &mixed_calls());
        let items = response["output"].as_array().expect("a list");
        let arguments: Vec<&Value> = items[1..].iter().map(|item| &item["arguments"]).collect();
        assert_eq!(arguments, [&json!("{\"a\":1}"), &json!("{\"b\":2}")]);
        assert_eq!(
            (&items[0]["summary"][0]["text"], &response["status"]),
            (&json!("hm"), &json!("completed"))
        );
        let cut = AnswerEvent::Finish { reason: "length".to_owned(), usage: None };
        let (text, response) = written(Dialect::Responses, &[AnswerEvent::Text("a".to_owned()), cut]);
        assert!(text.contains("event: response.incomplete\n"), "{text}");
        assert_eq!(response["incomplete_details"]["reason"], "max_output_tokens");
    }

    #[test]
    fn a_stream_of_messages_is_complete_only_behind_its_last_event() {
        let ends = |text: &str| Dialect::Messages.ends_stream(text.as_bytes());
        assert!(ends("event: message_stop\ndata: {\"type\": \"message_stop\"}\n\n"));
        assert!(!ends("data: {\"delta\":{\"text\":\"\\\"type\\\":\\\"message_stop\\\"\"}}\n\n"));
        assert!(!Dialect::ChatCompletions.ends_stream(b"data: {}\n\n"));
    }
}
