//! Messages over standard input and output, one per line.
//!
//! This replaces the library's transport, because every request with an id and every invalid line must be answered,
//! and an early notification must not end the session.

use std::{io, sync::Arc};

use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcRequest, RequestId,
        ServerJsonRpcMessage,
    },
    transport::Transport,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::Mutex,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    in_flight::InFlight,
    malformed::{malformed_error, params_error},
};

/// Maximum bytes of a line.
const MAX_LINE_BYTES: usize = 16 << 20;

/// Messages over a pair of streams.
pub(crate) struct LineTransport<R, W> {
    read: BufReader<R>,
    /// The part of a line read so far. A cancelled read leaves it here for the next one.
    line: Vec<u8>,
    /// Whether the rest of an oversized line is being skipped.
    skipping: bool,
    /// Whether a request has arrived. Other messages are ignored before that.
    begun: bool,
    /// `None` when it is closed.
    write: Arc<Mutex<Option<W>>>,
    /// An error response being written. A read may be cancelled, and a response must not be cut off by that.
    refusing: Option<JoinHandle<io::Result<()>>>,
    in_flight: Arc<InFlight>,
    /// Cancelled when the client closes its end.
    input_ended: CancellationToken,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> LineTransport<R, W> {
    /// Messages that are read from `read` and written to `write`. The end of the input cancels `input_ended`.
    pub(crate) fn new(read: R, write: W, input_ended: CancellationToken) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            skipping: false,
            begun: false,
            write: Arc::new(Mutex::new(Some(write))),
            refusing: None,
            in_flight: Arc::default(),
            input_ended,
        }
    }

    /// Reads a whole line. Returns whether there is one. Cancel safe.
    async fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(false);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            if !self.skipping {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.read.consume(taken);
            let too_long = self.line.len() > MAX_LINE_BYTES;
            if too_long {
                self.line = Vec::new();
                self.skipping = true;
            }
            if end.is_some() && std::mem::take(&mut self.skipping) {
                let error = rmcp::ErrorData::invalid_request(
                    format!("the message exceeds {MAX_LINE_BYTES} bytes"),
                    None,
                );
                self.send_refusal(ServerJsonRpcMessage::error(error, None));
                self.finish_refusing().await?;
            } else if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn send_refusal(&mut self, answer: ServerJsonRpcMessage) {
        tracing::warn!(answer = %serde_json::to_string(&answer).unwrap_or_default(), "rejected a message");
        let write = Arc::clone(&self.write);
        self.refusing = Some(tokio::spawn(async move { write_message(&write, &answer).await }));
    }

    async fn finish_refusing(&mut self) -> io::Result<()> {
        let Some(writing) = &mut self.refusing else { return Ok(()) };
        let written = writing.await;
        self.refusing = None;
        written.unwrap_or(Ok(()))
    }

    /// Parses the line. A line that is invalid, or for which there is no room, is answered here.
    fn take_message(&mut self) -> Option<ClientJsonRpcMessage> {
        let line = std::mem::take(&mut self.line);
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line).trim_ascii();
        if text.is_empty() {
            return None;
        }
        match serde_json::from_slice::<ClientJsonRpcMessage>(text) {
            Ok(ClientJsonRpcMessage::Request(request)) => return self.take_request(request, line.len()),
            Ok(message) if self.begun => {
                if let Some(id) = cancelled_request(&message) {
                    self.in_flight.release_request(id);
                }
                return Some(message);
            }
            Ok(_) => tracing::warn!("ignoring a message before the first request"),
            Err(problem) => match malformed_error(text, &problem) {
                Some(answer) => self.send_refusal(answer),
                None => tracing::warn!(%problem, "ignoring an invalid message"),
            },
        }
        None
    }

    fn take_request(
        &mut self,
        request: JsonRpcRequest<ClientRequest>,
        bytes: usize,
    ) -> Option<ClientJsonRpcMessage> {
        let broken = match &request.request {
            ClientRequest::CustomRequest(custom) if custom.method == "initialize" => {
                params_error(&custom.method, custom.params.as_ref())
            }
            _ => None,
        };
        let id = request.id.clone();
        let refused = match broken {
            Some(error) => error,
            None => {
                self.begun = true;
                match self.in_flight.admit_request(request, bytes) {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => return None,
                    Err(error) => error,
                }
            }
        };
        self.send_refusal(ServerJsonRpcMessage::error(refused, Some(id)));
        None
    }

    /// Waits for a line, or until a waiting request may be handled.
    async fn next_event(&mut self) -> io::Result<Event> {
        let line = |has_line| if has_line { Event::Line } else { Event::End };
        if !self.in_flight.has_waiting() {
            return self.read_line().await.map(line);
        }
        let in_flight = Arc::clone(&self.in_flight);
        if self.input_ended.is_cancelled() {
            in_flight.released.notified().await;
            return Ok(Event::Released);
        }
        tokio::select! {
            read = self.read_line() => read.map(line),
            () = in_flight.released.notified() => Ok(Event::Released),
        }
    }
}

enum Event {
    Line,
    /// A request was answered or cancelled.
    Released,
    End,
}

/// The request that a message cancels.
fn cancelled_request(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    let ClientJsonRpcMessage::Notification(message) = message else { return None };
    let ClientNotification::CancelledNotification(cancelled) = &message.notification else { return None };
    cancelled.params.request_id.as_ref()
}

/// The request that a message answers.
fn answered_request(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

async fn write_message<W: AsyncWrite + Unpin>(
    write: &Mutex<Option<W>>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    let write = write.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
    write.write_all(&line).await?;
    write.flush().await
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (write, in_flight) = (Arc::clone(&self.write), Arc::clone(&self.in_flight));
        async move {
            let written = write_message(&write, &message).await;
            if let Some(id) = answered_request(&message) {
                in_flight.release_request(id);
            }
            written.inspect_err(|error| tracing::debug!(%error, "cannot write to the client"))
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let event = match self.finish_refusing().await {
                Ok(()) => match self.in_flight.next_waiting() {
                    Some(message) => return Some(message),
                    None => self.next_event().await,
                },
                Err(error) => Err(error),
            };
            match event {
                Ok(Event::Line) => {
                    if let Some(message) = self.take_message() {
                        return Some(message);
                    }
                }
                Ok(Event::Released) => {}
                Ok(Event::End) => {
                    self.input_ended.cancel();
                    // Requests that were sent before the end still get responses.
                    if !self.in_flight.has_waiting() {
                        return None;
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "cannot reach the client");
                    self.input_ended.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.lock().await.take();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    /// Returns what is received of `sent`, and the immediate responses.
    async fn exchange(sent: &[u8]) -> (Vec<ClientJsonRpcMessage>, String) {
        let (read, mut client) = duplex(MAX_LINE_BYTES * 2 + 1_024);
        let (mut answers, write) = duplex(1 << 20);
        client.write_all(sent).await.expect("is sent");
        drop(client);
        let mut lines = LineTransport::new(read, write, CancellationToken::new());
        let mut received = Vec::new();
        while let Some(message) = lines.receive().await {
            received.push(message);
        }
        lines.close().await.expect("closes");
        let mut responses = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut answers, &mut responses).await.expect("is text");
        (received, responses)
    }

    const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

    #[tokio::test]
    async fn an_invalid_line_is_answered_and_the_next_message_received() {
        let sent = [b"nonsense\n\r\n".as_slice(), b"\xef\xbb\xbf", PING, b"[1]\n"].concat();
        let (received, responses) = exchange(&sent).await;
        assert_eq!(received.len(), 1);
        assert!(
            responses.contains("-32700") && responses.contains("-32600") && responses.lines().count() == 2,
            "{responses}"
        );
    }

    #[tokio::test]
    async fn an_oversized_line_is_rejected_and_not_buffered() {
        let sent = [vec![b'x'; MAX_LINE_BYTES + 10], b"\n".to_vec(), PING.to_vec()].concat();
        let (received, responses) = exchange(&sent).await;
        assert_eq!(received.len(), 1);
        assert!(responses.contains("-32600") && responses.lines().count() == 1, "{responses}");
    }

    #[tokio::test]
    async fn a_notification_before_the_first_request_is_ignored() {
        let early = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        let (received, _) = exchange(&[early.as_slice(), PING, early].concat()).await;
        assert_eq!(received.len(), 2, "the notification after a request is received");
    }
}
