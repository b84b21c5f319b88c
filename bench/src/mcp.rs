//! A client of the Model Context Protocol that asks for one prompt, again and again: over standard input and output, or
//! over HTTP, in either era of the protocol.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::load::Connection;

/// The longest that a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(60);

/// The eras of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28, without sessions.
    Modern,
    /// 2025-11-25.
    Legacy,
}

impl Era {
    pub(crate) const ALL: [Self; 2] = [Self::Modern, Self::Legacy];

    pub(crate) const fn revision(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }
}

/// The prompt that is asked for.
pub(crate) const PROMPT: &str = "review";

/// The request for the prompt, as one line.
fn get(era: Era) -> String {
    let code = "fn sum(v: &[u8]) -> u8 {\n    let mut t = 0;\n    for x in v { t += x; }\n    t\n}";
    let arguments = json!({"language": "Rust", "focus": "errors, overflow, naming", "code": code});
    let mut params = json!({"name": PROMPT, "arguments": arguments});
    if era == Era::Modern {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": era.revision(),
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": params}).to_string()
}

fn initialize() -> String {
    let client = json!({"name": "bench", "version": "1"});
    let params = json!({"protocolVersion": Era::Legacy.revision(), "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

fn initialized() -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()
}

/// The text of the prompt in an answer, which may stand in a stream of events.
pub(crate) fn text_of(answer: &[u8]) -> Result<Vec<u8>> {
    let answer = String::from_utf8_lossy(answer);
    let mut data = answer.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let line = data.rfind(|data| !data.is_empty()).unwrap_or(&answer);
    let message: Value = serde_json::from_str(line.trim()).with_context(|| format!("no answer: {answer}"))?;
    let text = message.pointer("/result/messages/0/content/text").and_then(Value::as_str);
    Ok(text.with_context(|| format!("no text: {message}"))?.as_bytes().to_vec())
}

/// A server that is started and talked to over pipes.
pub(crate) struct Piped {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    request: String,
    answer: Vec<u8>,
}

impl Piped {
    /// Starts the server and says who asks.
    pub(crate) fn start(command: &mut Command, era: Era) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start")?;
        let input = child.stdin.take().context("is piped")?;
        let output = BufReader::new(child.stdout.take().context("is piped")?);
        let request = get(era) + "\n";
        let mut piped = Self { child, input, output, request, answer: Vec::new() };
        if era == Era::Legacy {
            piped.send(&(initialize() + "\n"))?;
            piped.receive()?;
            piped.send(&(initialized() + "\n"))?;
        }
        Ok(piped)
    }

    fn send(&mut self, line: &str) -> Result<()> {
        self.input.write_all(line.as_bytes())?;
        Ok(self.input.flush()?)
    }

    fn receive(&mut self) -> Result<()> {
        self.answer.clear();
        ensure!(self.output.read_until(b'\n', &mut self.answer)? > 0, "the server hung up");
        Ok(())
    }

    /// Asks once; the answer.
    pub(crate) fn call(&mut self) -> Result<&[u8]> {
        self.input.write_all(self.request.as_bytes())?;
        self.input.flush()?;
        self.receive()?;
        Ok(&self.answer)
    }

    /// Memory that it has now, in MiB.
    pub(crate) fn memory(&self) -> Result<f64> {
        memory(self.child.id())
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Memory of a process, in MiB.
pub(crate) fn memory(process: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kibibytes = value.split_whitespace().next().context("no number")?;
    Ok(kibibytes.parse::<f64>()? / 1024.0)
}

/// A connection to a server that listens.
pub(crate) struct Called {
    address: SocketAddr,
    connection: Connection,
    request: Vec<u8>,
}

impl Called {
    /// Connects, waiting until the server listens, and says who asks.
    pub(crate) fn connect(address: SocketAddr, era: Era) -> Result<Self> {
        let end = Instant::now() + PATIENCE;
        let mut connection = loop {
            match Connection::open(address) {
                Ok(connection) => break connection,
                Err(error) if Instant::now() > end => return Err(error),
                // It says where it will listen before it does.
                Err(_) => std::thread::yield_now(),
            }
        };
        let mut session = String::new();
        if era == Era::Legacy {
            let (head, _) = connection.exchange(&posted(address, era, "", &initialize()))?;
            session = header(&head, "mcp-session-id")
                .map(|id| format!("Mcp-Session-Id: {id}\r\n"))
                .unwrap_or_default();
            connection.exchange(&posted(address, era, &session, &initialized()))?;
        }
        let more = match era {
            Era::Modern => format!("Mcp-Method: prompts/get\r\nMcp-Name: {PROMPT}\r\n"),
            Era::Legacy => session,
        };
        Ok(Self { address, connection, request: posted(address, era, &more, &get(era)) })
    }

    /// Asks once; the body of the answer.
    pub(crate) fn call(&mut self) -> Result<Vec<u8>> {
        let (head, body) = match self.connection.exchange(&self.request) {
            Ok(answer) => answer,
            // Servers close connections that nobody used for a while, as between two turns.
            Err(_) => {
                self.connection = Connection::open(self.address)?;
                self.connection.exchange(&self.request)?
            }
        };
        let status = head.split(' ').nth(1).unwrap_or_default();
        if status != "200" {
            bail!("the answer is {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(body)
    }
}

fn posted(address: SocketAddr, era: Era, more: &str, body: &str) -> Vec<u8> {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {}\r\n{more}Content-Length: {}\r\n\r\n{body}",
        era.revision(),
        body.len()
    )
    .into_bytes()
}

fn header<'h>(head: &'h str, wanted: &str) -> Option<&'h str> {
    let named = |line: &'h str| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
    head.lines().find_map(named).map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_found_in_json_and_in_events() {
        let message = r#"{"result":{"messages":[{"content":{"text":"hi"}}]}}"#;
        let events = format!(": ping\n\ndata: \n\nevent: message\ndata: {message}\n\n");
        assert_eq!(text_of(message.as_bytes()).expect("has one"), b"hi");
        assert_eq!(text_of(events.as_bytes()).expect("has one"), b"hi");
        assert!(text_of(br#"{"error":{"code":-32602}}"#).is_err());
    }

    #[test]
    fn headers_are_found_in_any_case() {
        let head = "HTTP/1.1 200 OK\r\nMCP-Session-ID: a1\r\n\r\n";
        assert_eq!(header(head, "mcp-session-id"), Some("a1"));
        assert_eq!(header(head, "x"), None);
    }
}
