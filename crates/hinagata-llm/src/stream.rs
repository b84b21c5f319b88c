//! A streamed answer.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, future::ready, stream::try_unfold};
use hinagata::{Error, Result};
use reqwest::{Response, header::CONTENT_TYPE};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    ChosenModel,
    client::{broken_stream_error, read_body, timeout_error},
    completion::{DONE, Translator, completion_to_stream, invalid_response, stream_error},
    lines::{Events, Lines},
    providers::{Framing, Translation},
};

type Boxed<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// A streamed answer: the bytes of server-sent events with OpenAI chunks, ending with `data: [DONE]`.
///
/// Bytes of a provider with OpenAI's API are forwarded unread as they arrive, so an item can contain several events or a part of
/// one. Dropping the stream cancels the call. An error is the last item.
pub struct AnswerStream {
    pieces: Boxed<Bytes>,
    choice: ChosenModel,
    longest: usize,
}

impl AnswerStream {
    /// The stream of a response that has started.
    pub(crate) fn new(choice: ChosenModel, response: Response, time: Duration, longest: usize) -> Self {
        let source = Source { choice: choice.clone(), response, time };
        let pieces: Boxed<Bytes> = match &choice.kind().spec().translation {
            None if source.is_stream() => Box::pin(try_unfold(Relay::new(source), Relay::next)),
            None => Box::pin(futures_util::stream::once(source.read_whole(longest))),
            Some(translation) => {
                let translated = Translated::new(source, translation, longest);
                Box::pin(try_unfold(translated, Translated::next))
            }
        };
        Self { pieces, choice, longest }
    }

    /// The model that answers.
    #[must_use]
    pub fn chosen_model(&self) -> &ChosenModel {
        &self.choice
    }

    /// The text of the answer, piece by piece.
    #[must_use]
    pub fn into_text(self) -> TextStream {
        let text = |piece: Piece| ready(Ok((!piece.text.is_empty()).then_some(piece.text)));
        TextStream(Box::pin(self.into_pieces().0.try_filter_map(text)))
    }

    /// The text of the answer, piece by piece, with the finish reason and the token usage if the provider reports them.
    #[must_use]
    pub fn into_pieces(self) -> PieceStream {
        let reader = PieceReader {
            lines: Lines::new(self.longest),
            events: Events::default(),
            pieces: self.pieces,
            choice: self.choice,
        };
        PieceStream(Box::pin(try_unfold(reader, PieceReader::next)))
    }
}

impl Stream for AnswerStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.pieces.as_mut().poll_next(context)
    }
}

impl std::fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerStream").field("choice", &self.choice).finish_non_exhaustive()
    }
}

/// The text of an answer, piece by piece; see [`AnswerStream::into_text`].
pub struct TextStream(Boxed<String>);

impl Stream for TextStream {
    type Item = Result<String>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

/// A piece of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The text; it can be empty.
    pub text: String,
    /// Why the answer ends, as OpenAI names it: `stop`, `length`, `tool_calls` …
    pub finish_reason: Option<String>,
    /// Tokens of the complete answer, if the provider reports them.
    pub answer_tokens: Option<u64>,
}

/// An answer, piece by piece; see [`AnswerStream::into_pieces`].
pub struct PieceStream(Boxed<Piece>);

impl Stream for PieceStream {
    type Item = Result<Piece>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

/// The bytes of a response.
struct Source {
    choice: ChosenModel,
    response: Response,
    time: Duration,
}

impl Source {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>> {
        match timeout(self.time, self.response.chunk()).await {
            Ok(chunk) => chunk.map_err(|error| broken_stream_error(&self.choice, error)),
            Err(_) => Err(timeout_error(&self.choice, self.time)),
        }
    }

    /// Whether the response is a stream; some servers ignore `stream`.
    fn is_stream(&self) -> bool {
        let kind = self.response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.is_none_or(|kind| !kind.starts_with("application/json"))
    }

    /// The complete response of a server that does not stream, as a stream.
    async fn read_whole(self, longest: usize) -> Result<Bytes> {
        let Self { choice, response, time } = self;
        let body = timeout(time, read_body(&choice, response, longest)).await;
        let body = body.map_err(|_| timeout_error(&choice, time))??;
        let parsed: Option<Value> = serde_json::from_slice(&body).ok();
        parsed.as_ref().and_then(completion_to_stream).ok_or_else(|| invalid_response(choice.provider()))
    }
}

/// Forwards a response as it arrives.
struct Relay {
    source: Source,
    /// The last bytes, which may contain the end mark.
    tail: Vec<u8>,
    ended: bool,
}

/// Bytes that contain `[DONE]` with any line ends.
const TAIL: usize = 32;

impl Relay {
    fn new(source: Source) -> Self {
        Self { source, tail: Vec::with_capacity(2 * TAIL), ended: false }
    }

    async fn next(mut self) -> Result<Option<(Bytes, Self)>> {
        if self.ended {
            return Ok(None);
        }
        match self.source.next_chunk().await {
            Ok(Some(chunk)) => {
                self.keep_tail(&chunk);
                Ok(Some((chunk, self)))
            }
            Ok(None) if self.is_done() => Ok(None),
            Ok(None) => {
                self.ended = true;
                // Some servers end without the mark; our readers can rely on it.
                let open = !self.tail.is_empty() && !self.tail.ends_with(b"\n\n");
                let end = if open { [b"\n\n", DONE].concat() } else { DONE.to_vec() };
                Ok(Some((end.into(), self)))
            }
            // The answer is complete, so a later failure of the connection does not matter.
            Err(_) if self.is_done() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn keep_tail(&mut self, chunk: &[u8]) {
        self.tail.extend_from_slice(&chunk[chunk.len().saturating_sub(TAIL)..]);
        let excess = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..excess);
    }

    fn is_done(&self) -> bool {
        self.tail.trim_ascii_end().ends_with(b"[DONE]")
    }
}

/// Translates a response as it arrives.
struct Translated {
    source: Source,
    translator: Translator,
    lines: Lines,
    /// The parser of server-sent events; `None` if every line is a piece.
    events: Option<Events>,
    ended: bool,
}

impl Translated {
    fn new(source: Source, translation: &Translation, longest: usize) -> Self {
        let events = (translation.framing == Framing::ServerSentEvents).then(Events::default);
        let pieces = (translation.new_translator)();
        let translator = Translator::new(source.choice.kind(), pieces, source.choice.model());
        Self { source, translator, lines: Lines::new(longest), events, ended: false }
    }

    async fn next(mut self) -> Result<Option<(Bytes, Self)>> {
        loop {
            if let Some(chunks) = self.translator.take_chunks() {
                return Ok(Some((chunks, self)));
            }
            if self.ended {
                return Ok(None);
            }
            match self.source.next_chunk().await? {
                Some(chunk) => {
                    self.lines.push(&chunk)?;
                    while let Some(line) = self.lines.next_line() {
                        self.push_line(&line)?;
                    }
                }
                None => self.finish()?,
            }
        }
    }

    fn push_line(&mut self, line: &Bytes) -> Result<()> {
        let data = match &mut self.events {
            Some(events) => events.push_line(line),
            None => (!line.trim_ascii().is_empty()).then(|| line.clone()),
        };
        data.map_or(Ok(()), |data| self.translator.push_piece(&data))
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(line) = self.lines.take_rest() {
            self.push_line(&line)?;
        }
        if let Some(data) = self.events.as_mut().and_then(Events::take_data) {
            self.translator.push_piece(&data)?;
        }
        self.ended = true;
        self.translator.finish()
    }
}

/// Reads pieces from OpenAI chunks.
struct PieceReader {
    pieces: Boxed<Bytes>,
    lines: Lines,
    events: Events,
    choice: ChosenModel,
}

impl PieceReader {
    async fn next(mut self) -> Result<Option<(Piece, Self)>> {
        loop {
            while let Some(line) = self.lines.next_line() {
                let data = self.events.push_line(&line);
                if let Some(piece) = data.map(|data| self.read_piece(&data)).transpose()?.flatten() {
                    return Ok(Some((piece, self)));
                }
            }
            match self.pieces.next().await {
                Some(bytes) => self.lines.push(&bytes?)?,
                None => return Ok(None),
            }
        }
    }

    /// The piece in one chunk.
    fn read_piece(&self, data: &[u8]) -> Result<Option<Piece>> {
        if data == b"[DONE]" {
            return Ok(None);
        }
        let chunk: Value = serde_json::from_slice(data).map_err(|_| self.chunk_error())?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(stream_error(error));
        }
        let text = |pointer: &str| chunk.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let piece = Piece {
            text: text("/choices/0/delta/content").unwrap_or_default(),
            finish_reason: text("/choices/0/finish_reason"),
            answer_tokens: chunk.pointer("/usage/completion_tokens").and_then(Value::as_u64),
        };
        Ok((piece != Piece::default()).then_some(piece))
    }

    fn chunk_error(&self) -> Error {
        invalid_response(self.choice.provider())
    }
}
