//! A provider of a model that always gives the same answer, at once.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use anyhow::Result;
use serde_json::json;

use crate::load::{Framing, find, framing};

/// What the provider answers to everything.
pub(crate) fn answer() -> String {
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-4o",
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": "The names are clear. Two functions are long. ".repeat(12)},
            "finish_reason": "stop",
        }],
        "usage": {"prompt_tokens": 64, "completion_tokens": 132, "total_tokens": 196},
    })
    .to_string()
}

/// Starts a provider that lives as long as this process.
pub(crate) fn start() -> Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let body = answer();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            // Who leaves ends it.
            thread::spawn(move || serve(stream, answer.as_bytes()));
        }
    });
    Ok(address)
}

/// Answers requests until the client leaves.
fn serve(mut stream: TcpStream, answer: &[u8]) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut read = Vec::new();
    loop {
        let mut more = [0; 16 << 10];
        let length = stream.read(&mut more)?;
        if length == 0 {
            return Ok(());
        }
        read.extend_from_slice(&more[..length]);
        while let Some(end) = whole(&read)? {
            read.drain(..end);
            stream.write_all(answer)?;
        }
    }
}

/// Where the first request ends, when all of it is there.
fn whole(read: &[u8]) -> Result<Option<usize>> {
    let Some(head) = find(read, b"\r\n\r\n").map(|end| end + 4) else { return Ok(None) };
    let rest = &read[head..];
    Ok(match framing(&String::from_utf8_lossy(&read[..head]))? {
        Framing::Length(length) => (rest.len() >= length).then_some(head + length),
        Framing::Chunks => find(rest, b"0\r\n\r\n").map(|end| head + end + 5),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Load;

    #[test]
    fn it_answers_again_and_again() {
        let mut load = Load::new(start().expect("a port"), "/v1", &json!({"a": 1}), None).expect("connects");
        assert_eq!(load.once().expect("an answer"), answer().into_bytes());
        assert_eq!(load.run(10).expect("answers").len(), 10);
    }
}
