//! The verdict about a streamed answer, as a last chunk.

use std::{fmt, pin::Pin};

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use hinagata::Result;
use serde_json::{Value, json};

use crate::{
    completion::DONE,
    lines::{Events, Lines},
};

/// Judges the text of an answer; `None` without a verdict.
pub(crate) type Judge = Box<dyn FnOnce(&str) -> Option<Value> + Send>;

/// Forwards chunks, and adds one with the verdict before the end.
pub(crate) struct Judged {
    pieces: Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>,
    lines: Lines,
    events: Events,
    text: String,
    judge: Option<Judge>,
}

impl fmt::Debug for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judged").finish_non_exhaustive()
    }
}

impl Judged {
    pub(crate) fn new(
        pieces: Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>,
        longest: usize,
        judge: Judge,
    ) -> Self {
        let (lines, events) = (Lines::new(longest), Events::default());
        Self { pieces, lines, events, text: String::new(), judge: Some(judge) }
    }

    pub(crate) async fn next(mut self) -> Result<Option<(Bytes, Self)>> {
        loop {
            let Some(bytes) = self.pieces.next().await else { return Ok(None) };
            self.lines.push(&bytes?)?;
            let mut out = BytesMut::new();
            while let Some(line) = self.lines.next_line() {
                if let Some(data) = self.events.push_line(&line) {
                    self.forward(&data, &mut out);
                }
            }
            if !out.is_empty() {
                return Ok(Some((out.freeze(), self)));
            }
        }
    }

    fn forward(&mut self, data: &[u8], out: &mut BytesMut) {
        if data == b"[DONE]" {
            let verdict = self.judge.take().and_then(|judge| judge(&self.text));
            if let Some(verdict) = verdict {
                // Clients skip chunks without choices, such as those with the token usage.
                let chunk = json!({"object": "chat.completion.chunk", "choices": [], "answer": verdict});
                put_event(chunk.to_string().as_bytes(), out);
            }
            out.put_slice(DONE);
            return;
        }
        let chunk: Option<Value> = serde_json::from_slice(data).ok();
        let text = chunk.as_ref().and_then(|chunk| chunk.pointer("/choices/0/delta/content"));
        self.text.push_str(text.and_then(Value::as_str).unwrap_or_default());
        put_event(data, out);
    }
}

fn put_event(data: &[u8], out: &mut BytesMut) {
    out.put_slice(b"data: ");
    out.put_slice(data);
    out.put_slice(b"\n\n");
}
