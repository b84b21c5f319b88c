//! A provider of a model that always gives the same answer, at once; and a server that gives none.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use crate::load::whole;

/// How long calls of a server that does not answer may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

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

/// A server that takes requests and never answers.
pub(crate) struct Silent {
    pub(crate) address: SocketAddr,
    taken: Arc<AtomicUsize>,
}

impl Silent {
    /// Starts a server that lives as long as this process.
    pub(crate) fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let (address, taken) = (listener.local_addr()?, Arc::<AtomicUsize>::default());
        let counted = Arc::clone(&taken);
        thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                open.push(stream);
                counted.store(open.len(), Ordering::Relaxed);
            }
        });
        Ok(Self { address, taken })
    }

    /// The connections so far.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Waits until there were `count` connections.
    pub(crate) fn wait_for(&self, count: usize) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while self.taken() < count {
            ensure!(Instant::now() < end, "only {} of {count} calls came", self.taken());
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
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
