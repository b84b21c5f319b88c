//! Requests over HTTP/1.1, one after the other on connections that stay open.
//!
//! The client is as plain as can be: what it takes is time that the measured side waits for.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Connections that are open at the same time.
const CONNECTIONS: usize = 4;
/// The longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most that an answer may have.
const LARGEST: usize = 16 << 20;

/// A client with some connections, and what it asks.
pub(crate) struct Load {
    connections: Vec<Connection>,
    request: Vec<u8>,
}

impl Load {
    /// A client that posts `body` to `path`, with `token` where one is needed.
    pub(crate) fn new(address: SocketAddr, path: &str, body: &Value, token: Option<&str>) -> Result<Self> {
        let connections = (0..CONNECTIONS).map(|_| Connection::open(address)).collect::<Result<_>>()?;
        Ok(Self { connections, request: post(address, path, body, token) })
    }

    /// The body of one answer.
    pub(crate) fn once(&mut self) -> Result<Vec<u8>> {
        self.connections[0].call(&self.request)
    }

    /// Asks `count` times over all connections; how long each answer took.
    pub(crate) fn run(&mut self, count: u64) -> Result<Vec<Duration>> {
        let (count, among) = (usize::try_from(count)?, self.connections.len());
        let request = &self.request;
        thread::scope(|scope| {
            let workers: Vec<_> = self
                .connections
                .iter_mut()
                .enumerate()
                .map(|(index, connection)| {
                    let share = count / among + usize::from(index < count % among);
                    scope.spawn(move || connection.repeat(request, share))
                })
                .collect();
            let mut all = Vec::with_capacity(count);
            for worker in workers {
                all.extend(worker.join().map_err(|_| anyhow::anyhow!("a client ended early"))??);
            }
            Ok(all)
        })
    }
}

/// The bytes of a request that posts `body` to `path`, with `token` where one is needed.
pub(crate) fn post(address: SocketAddr, path: &str, body: &Value, token: Option<&str>) -> Vec<u8> {
    let body = body.to_string();
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{authorization}\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// A connection that stays open.
pub(crate) struct Connection {
    stream: TcpStream,
    /// What was read and is not used yet.
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("nobody listens at {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    fn repeat(&mut self, request: &[u8], count: usize) -> Result<Vec<Duration>> {
        let once = |_| {
            let start = Instant::now();
            self.call(request)?;
            Ok(start.elapsed())
        };
        (0..count).map(once).collect()
    }

    /// Sends `request`; the body of the answer.
    fn call(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        let (head, body) = self.exchange(request)?;
        let status = head.split(' ').nth(1).unwrap_or_default();
        ensure!(status == "200", "the answer is {status}: {}", String::from_utf8_lossy(&body));
        Ok(body)
    }

    /// Sends `request`; the head and the body of the answer, whatever its status is.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> Result<(String, Vec<u8>)> {
        self.stream.write_all(request)?;
        let end = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            self.fill()?;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end);
        let body = match framing(&head)? {
            Framing::Length(length) => self.take(length)?,
            Framing::Chunks => self.chunks()?,
        };
        Ok((head, body))
    }

    fn fill(&mut self) -> Result<()> {
        let mut more = [0; 16 << 10];
        match self.stream.read(&mut more)? {
            0 => bail!("the connection was closed"),
            length => self.buffer.extend_from_slice(&more[..length]),
        }
        ensure!(self.buffer.len() <= LARGEST, "the answer is too long");
        Ok(())
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        ensure!(length <= LARGEST, "the answer is too long");
        while self.buffer.len() < length {
            self.fill()?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                if let Some(end) = find(&self.buffer, b"\r\n") {
                    break end;
                }
                self.fill()?;
            };
            let line = String::from_utf8(self.take(end + 2)?)?;
            let length = usize::from_str_radix(line.trim().split(';').next().unwrap_or_default(), 16)
                .with_context(|| format!("`{}` is no length of a chunk", line.trim()))?;
            ensure!(length <= LARGEST && body.len() <= LARGEST, "the answer is too long");
            let mut chunk = self.take(length + 2)?;
            chunk.truncate(length);
            body.append(&mut chunk);
            if length == 0 {
                return Ok(body);
            }
        }
    }
}

/// Where a body ends.
pub(crate) enum Framing {
    Length(usize),
    Chunks,
}

/// Where the body behind `head` ends.
pub(crate) fn framing(head: &str) -> Result<Framing> {
    for line in head.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            return Ok(Framing::Length(value.trim().parse()?));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") && value.trim().eq_ignore_ascii_case("chunked") {
            return Ok(Framing::Chunks);
        }
    }
    bail!("the body has no length")
}

/// Where the first request or answer in `read` ends, when all of it is there.
pub(crate) fn whole(read: &[u8]) -> Result<Option<usize>> {
    let Some(head) = find(read, b"\r\n\r\n").map(|end| end + 4) else { return Ok(None) };
    let rest = &read[head..];
    Ok(match framing(&String::from_utf8_lossy(&read[..head]))? {
        Framing::Length(length) => (rest.len() >= length).then_some(head + length),
        Framing::Chunks => find(rest, b"0\r\n\r\n").map(|end| head + end + 5),
    })
}

/// Where `wanted` begins in `bytes`.
pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The time under which `share` of the times are, such as 0.99 of them.
pub(crate) fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    let place = (times.len() as f64 * share) as usize;
    times.get(place.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use serde_json::json;

    use super::*;

    /// A server that gives `answer` to each of `count` connections once.
    fn answering(answer: &'static str, count: usize) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            let streams: Vec<TcpStream> =
                (0..count).map(|_| listener.accept().expect("a client").0).collect();
            for mut stream in streams {
                let mut some = [0; 1024];
                if stream.read(&mut some).is_ok_and(|length| length > 0) {
                    stream.write_all(answer.as_bytes()).expect("is read");
                }
            }
        });
        address
    }

    fn body_of(answer: &'static str) -> Result<Vec<u8>> {
        Load::new(answering(answer, CONNECTIONS), "/", &json!({}), None)?.once()
    }

    #[test]
    fn bodies_of_both_kinds_are_read() {
        let whole = body_of("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").expect("an answer");
        let parts =
            body_of("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n");
        assert_eq!((whole, parts.expect("an answer")), (b"hello".to_vec(), b"hello".to_vec()));
    }

    #[test]
    fn an_answer_that_is_no_success_is_an_error() {
        let error =
            body_of("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone").expect_err("no success");
        assert_eq!(error.to_string(), "the answer is 404: gone");
    }

    #[test]
    fn a_quantile_is_one_of_the_times() {
        let mut times: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(quantile(&mut times, 0.5), Duration::from_millis(51));
        assert_eq!(quantile(&mut times, 0.99), Duration::from_millis(100));
        assert_eq!(quantile(&mut [], 0.5), Duration::ZERO);
    }
}
