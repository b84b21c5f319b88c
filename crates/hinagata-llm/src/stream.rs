//! A streamed answer.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{
    Stream, StreamExt as _, TryStreamExt as _,
    future::ready,
    stream::{once, try_unfold},
};
use hinagata::{Error, Result};
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::{
    Answer, ChosenModel,
    answer::invalid_answer,
    client::{broken_stream_error, read_body, timeout_error},
    completion::{DONE, completion_to_stream, invalid_response, stream_error},
    dialect::Dialect,
    event_reader::{EventReader, completion_events},
    events::AnswerEvent,
    faces::{Face, FaceError},
    failure::incomplete_error,
    gate::Pass,
    lines::{Events, Lines},
    providers::Framing,
    response::ProviderResponse,
    verdict::Judged,
};

type Boxed<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// How an answer is streamed.
#[derive(Clone, Debug)]
pub struct StreamFace {
    /// The dialect of the events.
    pub dialect: Dialect,
    /// The fields of the request that an answer repeats.
    pub echo: Map<String, Value>,
    /// Tokens of the prompt, for providers that report them at the end alone.
    pub prompt_tokens: Option<u64>,
    /// Shows an error, which then is the last event. Without it, an error is the last item of the stream.
    pub show_error: Option<fn(&Error) -> FaceError>,
}

impl StreamFace {
    /// A stream in this dialect.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, echo: Map::new(), prompt_tokens: None, show_error: None }
    }

    fn new_face(&self) -> Box<dyn Face> {
        self.dialect.new_face(&self.echo)
    }
}

/// A streamed answer: the bytes of server-sent events, by default with OpenAI chunks, ending with `data: [DONE]`.
///
/// Bytes of a provider with the API of the stream are forwarded unread as they arrive, so an item can contain several events or a part of
/// one. Dropping the stream cancels the call. An error is the last item.
pub struct AnswerStream {
    pieces: Boxed<Bytes>,
    choice: ChosenModel,
    longest: usize,
    /// It occupies a slot of the provider until the stream is dropped.
    pass: Option<Pass>,
}

impl AnswerStream {
    /// The stream of a response, as soon as its first bytes are known to be those of a stream.
    ///
    /// # Errors
    /// Code `model`: reason `answer` if the response is not an answer, reason `stream` if it ends early.
    pub(crate) async fn start(
        choice: ChosenModel,
        response: ProviderResponse,
        time: Duration,
        longest: usize,
        face: StreamFace,
    ) -> Result<Self> {
        let mut source = Source { choice: choice.clone(), response, time, start: None };
        let spec = choice.kind().spec();
        let pieces: Boxed<Bytes> = if spec.framing == Framing::ServerSentEvents && source.is_whole() {
            let whole = source.read_whole(longest, &face).await?;
            Box::pin(once(ready(Ok(whole))))
        } else {
            source.read_start(spec.framing).await?;
            match spec.dialect == Some(face.dialect) {
                true => Box::pin(try_unfold(Relay::new(source, face), Relay::next)),
                false => {
                    let translated = Translated::new(source, spec.framing, longest, face);
                    Box::pin(try_unfold(translated, Translated::next))
                }
            }
        };
        Ok(Self { pieces, choice, longest, pass: None })
    }

    /// The stream with the pass of its call.
    pub(crate) fn with_pass(self, pass: Pass) -> Self {
        Self { pass: Some(pass), ..self }
    }

    /// The stream with a last chunk that contains the verdict of `judge` about the whole text as `answer`.
    #[must_use]
    pub fn with_verdict(self, judge: impl FnOnce(&str) -> Option<Value> + Send + 'static) -> Self {
        let judged = Judged::new(self.pieces, self.longest, Box::new(judge));
        Self { pieces: Box::pin(try_unfold(judged, Judged::next)), ..self }
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
            _pass: self.pass,
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
    response: ProviderResponse,
    time: Duration,
    /// The first bytes, until they are read.
    start: Option<Bytes>,
}

impl Source {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>> {
        if let Some(start) = self.start.take() {
            return Ok(Some(start));
        }
        match timeout(self.time, self.response.next_chunk()).await {
            Ok(chunk) => chunk.map_err(|error| broken_stream_error(&self.choice, &error)),
            Err(_) => Err(timeout_error(&self.choice, self.time)),
        }
    }

    /// Whether the response is a complete answer; some servers ignore `stream`.
    fn is_whole(&self) -> bool {
        self.response.content_type().is_some_and(|kind| kind.starts_with("application/json"))
    }

    /// Reads the first bytes, until they show that the response is a stream.
    async fn read_start(&mut self, framing: Framing) -> Result<()> {
        let mut start = BytesMut::new();
        loop {
            match is_stream_start(&start, framing) {
                Some(true) => break,
                Some(false) => return Err(invalid_answer(&self.choice, &start.freeze())),
                None => {}
            }
            match self.next_chunk().await? {
                Some(chunk) => start.extend_from_slice(&chunk),
                None => return Err(invalid_answer(&self.choice, &start.freeze())),
            }
        }
        self.start = Some(start.freeze());
        Ok(())
    }

    /// The complete response of a server that does not stream, as a stream.
    async fn read_whole(self, longest: usize, face: &StreamFace) -> Result<Bytes> {
        let status = self.response.status().as_u16();
        let body = read_body(&self.choice, self.response, longest).await?;
        let answer = Answer::from_response(self.choice, status, body)?;
        let completion = answer.to_completion()?;
        let stream = match face.dialect {
            Dialect::ChatCompletions => completion_to_stream(&completion),
            Dialect::Responses | Dialect::Messages => completion_events(&completion).map(|events| {
                let (mut writer, mut out) = (face.new_face(), BytesMut::new());
                events.list.into_iter().for_each(|event| writer.write_event(&events.head, event, &mut out));
                writer.end_stream(&mut out);
                out.freeze()
            }),
        };
        stream.ok_or_else(|| invalid_answer(answer.chosen_model(), answer.raw()))
    }
}

/// Most bytes of white space before a stream.
const MOST_SPACE: usize = 4096;

/// Whether these first bytes are those of a stream; `None` if they are too few.
fn is_stream_start(bytes: &[u8], framing: Framing) -> Option<bool> {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    let Some(first) = text.first() else { return (bytes.len() > MOST_SPACE).then_some(false) };
    if framing == Framing::JsonLines {
        return Some(*first == b'{');
    }
    let fields = [&b"data"[..], b"event", b"id", b"retry"];
    let name = text.split(|byte| matches!(byte, b':' | b'\n' | b'\r')).next().unwrap_or_default();
    match name.len() < text.len() {
        // A line without a name is a comment.
        true => Some(name.is_empty() || fields.contains(&name)),
        false => (!fields.iter().any(|field| field.starts_with(name))).then_some(false),
    }
}

/// Forwards a response as it arrives.
struct Relay {
    source: Source,
    face: StreamFace,
    /// The last bytes, which may contain the end mark.
    tail: Vec<u8>,
    ended: bool,
}

/// Bytes that contain the end mark with any line ends and spaces.
const TAIL: usize = 64;

impl Relay {
    fn new(source: Source, face: StreamFace) -> Self {
        Self { source, face, tail: Vec::with_capacity(2 * TAIL), ended: false }
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
            // Some servers end without the mark; our readers can rely on it.
            Ok(None) if self.face.dialect == Dialect::ChatCompletions => {
                self.ended = true;
                let open = !self.tail.is_empty() && !self.tail.ends_with(b"\n\n");
                let end = if open { [b"\n\n", DONE].concat() } else { DONE.to_vec() };
                Ok(Some((end.into(), self)))
            }
            Ok(None) => self.fail(incomplete_error()),
            // The answer is complete, so a later failure of the connection does not matter.
            Err(_) if self.is_done() => Ok(None),
            Err(error) => self.fail(error),
        }
    }

    fn fail(mut self, error: Error) -> Result<Option<(Bytes, Self)>> {
        let Some(show) = self.face.show_error else { return Err(error) };
        self.ended = true;
        let event = self.face.new_face().error_event(&show(&error));
        Ok(Some((event, self)))
    }

    fn keep_tail(&mut self, chunk: &[u8]) {
        self.tail.extend_from_slice(&chunk[chunk.len().saturating_sub(TAIL)..]);
        let excess = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..excess);
    }

    fn is_done(&self) -> bool {
        self.face.dialect.ends_stream(&self.tail)
    }
}

/// Translates a response as it arrives.
struct Translated {
    source: Source,
    reader: EventReader,
    face: Box<dyn Face>,
    options: StreamFace,
    lines: Lines,
    /// The parser of server-sent events; `None` if every line is a piece.
    events: Option<Events>,
    out: BytesMut,
    ended: bool,
}

impl Translated {
    fn new(source: Source, framing: Framing, longest: usize, options: StreamFace) -> Self {
        let events = (framing == Framing::ServerSentEvents).then(Events::default);
        let mut reader = EventReader::new(source.choice.kind(), source.choice.model());
        reader.head().prompt_tokens = options.prompt_tokens;
        let face = options.new_face();
        let (lines, out) = (Lines::new(longest), BytesMut::new());
        Self { source, reader, face, options, lines, events, out, ended: false }
    }

    async fn next(mut self) -> Result<Option<(Bytes, Self)>> {
        loop {
            if !self.out.is_empty() {
                return Ok(Some((self.out.split().freeze(), self)));
            }
            if self.ended {
                return Ok(None);
            }
            if let Err(error) = self.read_more().await {
                let Some(show) = self.options.show_error else { return Err(error) };
                self.ended = true;
                let event = self.face.error_event(&show(&error));
                self.out.extend_from_slice(&event);
            }
        }
    }

    /// Reads what arrived, or the end, and writes it.
    async fn read_more(&mut self) -> Result<()> {
        match self.source.next_chunk().await? {
            Some(chunk) => {
                self.lines.push(&chunk)?;
                while let Some(line) = self.lines.next_line() {
                    let read = self.push_line(&line);
                    // What came before an error is part of the answer.
                    self.write_events();
                    read?;
                }
                Ok(())
            }
            None => self.finish(),
        }
    }

    fn push_line(&mut self, line: &Bytes) -> Result<()> {
        let data = match &mut self.events {
            Some(events) => events.push_line(line),
            None => (!line.trim_ascii().is_empty()).then(|| line.clone()),
        };
        data.map_or(Ok(()), |data| self.reader.push_piece(&data))
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(line) = self.lines.take_rest() {
            self.push_line(&line)?;
        }
        if let Some(data) = self.events.as_mut().and_then(Events::take_data) {
            self.reader.push_piece(&data)?;
        }
        let finished = self.reader.finish();
        self.write_events();
        finished?;
        self.ended = true;
        self.face.end_stream(&mut self.out);
        Ok(())
    }

    fn write_events(&mut self) {
        let (head, events) = self.reader.take_events();
        let write = |event: AnswerEvent| self.face.write_event(head, event, &mut self.out);
        events.into_iter().for_each(write);
    }
}

/// Reads pieces from OpenAI chunks.
struct PieceReader {
    pieces: Boxed<Bytes>,
    lines: Lines,
    events: Events,
    choice: ChosenModel,
    _pass: Option<Pass>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_recognized_by_its_first_bytes() {
        let events = |text: &str| is_stream_start(text.as_bytes(), Framing::ServerSentEvents);
        for start in ["data: {}", "data:", ": ping", "\r\n\ndata:x", "event: a", "id\n", "\u{feff}retry: 5"] {
            assert_eq!(events(start), Some(true), "{start}");
        }
        for start in ["<html>", "[1, 2]", "{\"error\": 1}", "dat!", "database: x", "no"] {
            assert_eq!(events(start), Some(false), "{start}");
        }
        for start in ["", "\n", "d", "data", "ev"] {
            assert_eq!(events(start), None, "{start}");
        }
        assert_eq!(events(&" ".repeat(MOST_SPACE + 1)), Some(false));
        let lines = |text: &str| is_stream_start(text.as_bytes(), Framing::JsonLines);
        assert_eq!(
            [lines("\n{"), lines("[1]"), lines("<"), lines("")],
            [Some(true), Some(false), Some(false), None]
        );
    }
}
