//! Requests to a daemon, over connections that a test can hold in its hand.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::daemon::{Daemon, LONG};

/// A request that was sent; who drops it hangs up.
pub(crate) struct Sent {
    stream: TcpStream,
    /// Whether whoever sent it can be told something for good.
    listens: bool,
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Daemon {
    /// Sends a request, and leaves the answer to whoever holds what was sent.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Sent {
        let mut stream = TcpStream::connect(&self.address).expect("listens");
        stream.set_read_timeout(Some(LONG)).expect("is set");
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n{more}\r\n",
            self.address,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("is sent");
        Sent { stream, listens: method == "GET" }
    }

    pub(crate) fn request(&self, method: &str, path: &str, key: Option<&str>, body: &str) -> Answer {
        let bearer = key.map(|key| format!("Bearer {key}"));
        let headers: Vec<_> = bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        self.send(method, path, &headers, body).answer()
    }

    pub(crate) fn get(&self, path: &str, key: Option<&str>) -> Answer {
        self.request("GET", path, key, "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.request("POST", path, None, &body.to_string())
    }

    /// Asks for a prompt without variables.
    pub(crate) fn send_render(&self, prompt: &str) -> Sent {
        let body = json!({"variables": {}}).to_string();
        self.send("POST", &format!("/api/render/prompts/{prompt}"), &[], &body)
    }
}

impl Sent {
    /// Waits for the answer.
    pub(crate) fn answer(self) -> Answer {
        let mut reader = BufReader::new(self.stream);
        let mut head = String::new();
        while reader.read_line(&mut head).expect("answers") > 2 {}
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("has a status");
        let mut body = Vec::new();
        // Whoever listens is told for good, so the first words are all that is waited for.
        let endless = self.listens && head.contains("text/event-stream");
        match endless {
            true => drop(reader.read_until(b'\n', &mut body)),
            false => drop(reader.read_to_end(&mut body)),
        }
        let body = if head.contains("chunked") && !endless { without_chunks(&body) } else { body };
        Answer { status, head, body: String::from_utf8_lossy(&body).into_owned() }
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line[name.len() + 1..].trim())
    }
}

fn without_chunks(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = body.windows(2).position(|pair| pair == b"\r\n") {
        let size =
            std::str::from_utf8(&body[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(size) = size.filter(|size| *size > 0 && body.len() >= end + 4 + size) else { break };
        all.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 4 + size..];
    }
    all
}
