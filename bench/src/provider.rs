//! A provider of a model that always gives the same answer, at once or in chunks; and a server that gives none.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::load::{find, whole};

/// How long calls of a server that does not answer may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pieces of a streamed answer.
const CHUNKS: usize = 100;

/// What the model says.
pub(crate) fn said() -> String {
    "The names are clear. Two functions are long. ".repeat(12)
}

/// What the provider answers to everything that asks for no stream.
pub(crate) fn answer() -> String {
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-4o",
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": said()},
            "finish_reason": "stop",
        }],
        "usage": {"prompt_tokens": 64, "completion_tokens": 132, "total_tokens": 196},
    })
    .to_string()
}

/// The events of a streamed answer: [`CHUNKS`] with text, one with the reason of the end, one with the usage.
fn events() -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        let data = json!({
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": "gpt-4o",
            "choices": choices,
            "usage": usage,
        });
        format!("data: {data}\n\n")
    };
    let choice = |delta: Value, reason: Value| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
    let said = said();
    let characters: Vec<char> = said.chars().collect();
    let (length, rest) = (characters.len() / CHUNKS, characters.len() % CHUNKS);
    let mut events = Vec::with_capacity(CHUNKS + 3);
    let mut at = 0;
    for index in 0..CHUNKS {
        let end = at + length + usize::from(index < rest);
        let piece: String = characters[at..end].iter().collect();
        let delta = match index {
            0 => json!({"role": "assistant", "content": piece}),
            _ => json!({"content": piece}),
        };
        events.push(chunk(choice(delta, Value::Null), Value::Null));
        at = end;
    }
    events.push(chunk(choice(json!({}), json!("stop")), Value::Null));
    let usage = json!({"prompt_tokens": 64, "completion_tokens": 132, "total_tokens": 196});
    events.push(chunk(json!([]), usage));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// What the provider writes: an answer at once, and the parts of one in chunks.
struct Answers {
    whole: Vec<u8>,
    chunks: Vec<Vec<u8>>,
}

impl Answers {
    fn new() -> Self {
        let body = answer();
        let length = body.len();
        let whole = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut chunks = vec![head.as_bytes().to_vec()];
        for event in events() {
            chunks.push(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes());
        }
        chunks.push(b"0\r\n\r\n".to_vec());
        Self { whole: whole.into_bytes(), chunks }
    }
}

/// Starts a provider that lives as long as this process.
pub(crate) fn start() -> Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let answers = Arc::new(Answers::new());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answers = Arc::clone(&answers);
            // Who leaves ends it.
            thread::spawn(move || serve(stream, &answers));
        }
    });
    Ok(address)
}

/// Answers requests until the client leaves.
fn serve(mut stream: TcpStream, answers: &Answers) -> Result<()> {
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
            let is_streamed = [&b"\"stream\":true"[..], b"\"stream\": true"]
                .into_iter()
                .any(|wanted| find(&read[..end], wanted).is_some());
            read.drain(..end);
            if !is_streamed {
                stream.write_all(&answers.whole)?;
                continue;
            }
            for chunk in &answers.chunks {
                stream.write_all(chunk)?;
            }
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

    #[test]
    fn a_stream_says_the_same() {
        let asked = json!({"stream": true});
        let mut load = Load::new(start().expect("a port"), "/v1", &asked, None).expect("connects");
        let body = String::from_utf8(load.once().expect("an answer")).expect("is text");
        let events = body.split_terminator("\n\n").filter_map(|event| event.strip_prefix("data: "));
        let pieces: Vec<String> = events
            .filter_map(|event| serde_json::from_str::<Value>(event).ok())
            .filter_map(|event| event["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
            .collect();
        assert_eq!((pieces.len(), pieces.concat()), (CHUNKS, said()));
    }
}
