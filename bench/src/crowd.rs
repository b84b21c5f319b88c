//! Many clients at once, on one thread: they ask again as soon as they have their answer, or at fixed times.
//!
//! A client that is refused comes again as clients do that respect `Retry-After`: after that time, give or take half of
//! it, so that not all of them come back in the same moment.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::load::{find, whole};

/// How long a client waits that is refused without a word about when to come again.
const PAUSE: Duration = Duration::from_secs(1);

/// Clients that all ask the same.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    pub(crate) address: SocketAddr,
    pub(crate) request: Arc<[u8]>,
    pub(crate) clients: usize,
}

/// What is counted: everything within `time`, after `warm_up`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) warm_up: Duration,
    pub(crate) time: Duration,
}

/// What clients saw within a window.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// How long each answer took.
    pub(crate) answers: Vec<Duration>,
    /// How long each refusal took.
    pub(crate) refusals: Vec<Duration>,
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.answers.extend(other.answers);
        self.refusals.extend(other.refusals);
    }
}

/// When a window begins and ends.
#[derive(Clone, Copy)]
struct Span {
    begin: Instant,
    end: Instant,
}

impl Window {
    fn open(self) -> Span {
        let begin = Instant::now() + self.warm_up;
        Span { begin, end: begin + self.time }
    }
}

impl Crowd {
    /// Every client asks again as soon as it has its answer.
    pub(crate) fn repeat(&self, window: Window) -> Result<Seen> {
        runtime()?.block_on(async { collect(self.start_repeating(window.open())).await })
    }

    /// The clients ask in turn, `rate` times a second in all, beside another crowd that asks as often as it can. A time
    /// counts from the moment in which the client was to ask.
    pub(crate) fn pace(&self, rate: f64, beside: Option<&Self>, window: Window) -> Result<Seen> {
        runtime()?.block_on(async {
            let span = window.open();
            let others = beside.map(|others| others.start_repeating(span)).unwrap_or_default();
            let every = Duration::from_secs_f64(self.clients as f64 / rate);
            let first = Instant::now();
            let paced = (0..self.clients).map(|number| {
                let offset = every.mul_f64(number as f64 / self.clients as f64);
                tokio::spawn(ask_at_times(
                    self.client(),
                    Arc::clone(&self.request),
                    first + offset,
                    every,
                    span,
                ))
            });
            let seen = collect(paced.collect()).await;
            collect(others).await?;
            seen
        })
    }

    /// The clients wait for answers in a thread of their own until the server is gone.
    pub(crate) fn hang(self) {
        thread::spawn(move || {
            runtime()?.block_on(async {
                let waiting = (0..self.clients).map(|_| {
                    let (mut client, request) = (self.client(), Arc::clone(&self.request));
                    tokio::spawn(async move {
                        while client.ask(&request).await.is_ok() {
                            sleep(PAUSE).await;
                        }
                    })
                });
                for client in waiting.collect::<Vec<_>>() {
                    let _ = client.await;
                }
                Ok::<(), anyhow::Error>(())
            })
        });
    }

    fn start_repeating(&self, span: Span) -> Vec<JoinHandle<Result<Seen>>> {
        let start = |number| tokio::spawn(ask_again(self.client(), Arc::clone(&self.request), number, span));
        (0..self.clients as u64).map(start).collect()
    }

    fn client(&self) -> Client {
        Client { address: self.address, stream: None, read: Vec::new() }
    }
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// What all clients saw.
async fn collect(clients: Vec<JoinHandle<Result<Seen>>>) -> Result<Seen> {
    let mut all = Seen::default();
    for client in clients {
        all.add(client.await.context("a client ended early")??);
    }
    Ok(all)
}

async fn ask_again(mut client: Client, request: Arc<[u8]>, number: u64, span: Span) -> Result<Seen> {
    let mut seen = Seen::default();
    let mut chance = Chance(number + 1);
    let asking = async {
        loop {
            let asked = Instant::now();
            let reply = client.ask(&request).await?;
            let counts = Instant::now() >= span.begin;
            match reply {
                Reply::Answer if counts => seen.answers.push(asked.elapsed()),
                Reply::Refusal { .. } if counts => seen.refusals.push(asked.elapsed()),
                _ => {}
            }
            if let Reply::Refusal { pause } = reply {
                sleep(pause.mul_f64(0.5 + chance.next())).await;
            }
        }
    };
    match timeout_at(span.end, asking).await {
        Ok(failed) => failed,
        Err(_) => Ok(seen),
    }
}

async fn ask_at_times(
    mut client: Client,
    request: Arc<[u8]>,
    first: Instant,
    every: Duration,
    span: Span,
) -> Result<Seen> {
    let mut seen = Seen::default();
    let asking = async {
        let mut time = first;
        loop {
            sleep_until(time).await;
            let reply = client.ask(&request).await?;
            if time >= span.begin {
                match reply {
                    Reply::Answer => seen.answers.push(time.elapsed()),
                    Reply::Refusal { .. } => seen.refusals.push(time.elapsed()),
                }
            }
            time += every;
        }
    };
    match timeout_at(span.end, asking).await {
        Ok(failed) => failed,
        Err(_) => Ok(seen),
    }
}

/// Numbers from 0 to 1, the same in every run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        for (left, shift) in [(true, 13), (false, 7), (true, 17)] {
            self.0 ^= if left { self.0 << shift } else { self.0 >> shift };
        }
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What a server says.
enum Reply {
    Answer,
    Refusal { pause: Duration },
}

/// A client with a connection that stays open.
struct Client {
    address: SocketAddr,
    stream: Option<TcpStream>,
    /// What was read and is not used yet.
    read: Vec<u8>,
}

impl Client {
    async fn ask(&mut self, request: &[u8]) -> Result<Reply> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = TcpStream::connect(self.address).await.context("nobody listens any more")?;
                stream.set_nodelay(true)?;
                none.insert(stream)
            }
        };
        stream.write_all(request).await?;
        let end = loop {
            if stream.read_buf(&mut self.read).await? == 0 {
                bail!("the connection was closed");
            }
            if let Some(end) = whole(&self.read)? {
                break end;
            }
        };
        let answer: Vec<u8> = self.read.drain(..end).collect();
        let head_end = find(&answer, b"\r\n\r\n").unwrap_or_default();
        let head = String::from_utf8_lossy(&answer[..head_end]);
        if header(&head, "connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            self.stream = None;
        }
        match head.split(' ').nth(1).unwrap_or_default() {
            "200" => Ok(Reply::Answer),
            "503" => {
                let seconds = header(&head, "retry-after").and_then(|value| value.parse().ok());
                Ok(Reply::Refusal { pause: seconds.map_or(PAUSE, Duration::from_secs) })
            }
            status => bail!("the answer is {status}: {}", String::from_utf8_lossy(&answer[head_end..])),
        }
    }
}

/// The value of a header.
fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::load::post;
    use crate::provider;

    const WINDOW: Window = Window { warm_up: Duration::ZERO, time: Duration::from_millis(200) };

    fn crowd(clients: usize) -> Crowd {
        let address = provider::start().expect("a port");
        let request = post(address, "/", &json!({}), None).into();
        Crowd { address, request, clients }
    }

    #[test]
    fn clients_ask_again_until_the_end() {
        let seen = crowd(8).repeat(WINDOW).expect("answers");
        assert!(seen.answers.len() > 8 && seen.refusals.is_empty(), "{}", seen.answers.len());
    }

    #[test]
    fn paced_clients_ask_as_often_as_they_should() {
        let crowd = crowd(4);
        let seen = crowd.pace(100.0, Some(&crowd), WINDOW).expect("answers");
        assert!((1..=21).contains(&seen.answers.len()), "{}", seen.answers.len());
    }

    #[test]
    fn headers_are_found_in_any_spelling() {
        let head = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\nconnection: close";
        assert_eq!((header(head, "retry-after"), header(head, "age")), (Some("2"), None));
    }

    #[test]
    fn chance_stays_between_its_ends() {
        let mut chance = Chance(1);
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&chance.next())));
    }
}
