//! Load: many requests, slow models and tools, more connections than allowed.

use std::time::{Duration, Instant};

use fake_provider::{FakeProvider, Reply};
use hinagata::store::StoreKind;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::support::{Daemon, LONG, Setup};

const ASK: &str = "host: localhost\r\n\r\n";

async fn connect(daemon: &Daemon) -> TcpStream {
    TcpStream::connect(daemon.url.trim_start_matches("http://")).await.expect("connects")
}

/// Sends a request and reads the head of the response, and whatever came with it.
async fn ask(stream: &mut TcpStream, path: &str) -> String {
    stream.write_all(format!("GET {path} HTTP/1.1\r\n{ASK}").as_bytes()).await.expect("is sent");
    let mut text = Vec::new();
    let read = async {
        while !text.windows(4).any(|four| four == b"\r\n\r\n") {
            let mut piece = [0; 1_024];
            match stream.read(&mut piece).await {
                Ok(length) if length > 0 => text.extend_from_slice(&piece[..length]),
                _ => break,
            }
        }
    };
    tokio::time::timeout(LONG, read).await.expect("is answered");
    String::from_utf8_lossy(&text).to_lowercase()
}

/// Waits until the daemon closes the connection.
async fn wait_for_end(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut rest)).await.expect("ends");
}

async fn full_parts(daemon: &Daemon) -> Vec<String> {
    let ready = daemon.get("/readyz").await.expect_status(200);
    let full: Vec<String> = serde_json::from_value(ready["full"].clone()).expect("is a list");
    assert_eq!(ready["status"], if full.is_empty() { "ready" } else { "busy" }, "{ready}");
    full
}

async fn wait_until_full(daemon: &Daemon, part: &str) {
    let wait = async {
        while !full_parts(daemon).await.iter().any(|full| full == part) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, wait).await.expect("becomes full");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_chats_leave_renders_and_lists_unaffected() {
    const CHATS: usize = 256;
    let provider = FakeProvider::start();
    let daemon = Setup::new()
        .variable("OPENAI_BASE_URL", &provider.base_url())
        .variable("OPENAI_API_KEY", "k")
        .set("server.max_requests=4")
        .set("llm.concurrency=1_000")
        .start()
        .await;
    daemon.put(StoreKind::Template, "t", json!({"name": "t", "prompt": "x"})).await;
    let chat = || {
        let request = daemon.request("POST", "/api/chat/prompts/t").bearer_auth(&daemon.token);
        tokio::spawn(request.body(json!({"model": "m"}).to_string()).send())
    };
    let mut waiting = Vec::new();
    for _ in 0..CHATS {
        provider.reply(Reply::Silence);
        waiting.push(chat());
    }
    // A chat that was refused because the machine is slow to render comes again.
    while provider.received().len() < CHATS {
        for chatting in &mut waiting {
            if chatting.is_finished() {
                *chatting = chat();
            }
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(full_parts(&daemon).await, ["chats"]);
    for _ in 0..20 {
        daemon.post("/api/render/prompts/t", &json!({})).await.expect_status(200);
        daemon.get("/api/prompts").await.expect_status(200);
    }
    let refused = daemon.as_owner("POST", "/api/chat/prompts/t", &json!({"model": "m"})).await;
    assert_eq!(refused.header("retry-after"), "1");
    let refused = refused.expect_status(503);
    assert_eq!(refused["code"], "overload");
    assert!(refused["hint"].as_str().is_some_and(|hint| hint.contains("server.max_chats")), "{refused}");
    waiting.into_iter().for_each(|chatting| chatting.abort());
    let free = async {
        while !full_parts(&daemon).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, free).await.expect("their room is free again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renders_that_wait_for_a_tool_leave_others_unaffected() {
    // A server that takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/tool", silent.local_addr().expect("has an address"));
    let daemon = Setup::new()
        .set("server.max_requests=2")
        .set("server.max_waits=3")
        .set("tools.allowed_hosts=127.0.0.1")
        .start()
        .await;
    let tool = json!({"id": "slow", "type": "restful", "name": "slow", "description": "Answers never.", "url": url,
        "parameters": {"type": "object", "properties": {}}});
    daemon.put(StoreKind::Tool, "slow", tool).await;
    daemon.put(StoreKind::Template, "waits", json!({"name": "waits", "prompt": "{{slow}}"})).await;
    daemon.put(StoreKind::Template, "plain", json!({"name": "plain", "prompt": "x"})).await;
    let mut waiting = Vec::new();
    let mut taken = Vec::new();
    for _ in 0..3 {
        waiting.push(tokio::spawn(daemon.request("POST", "/api/render/prompts/waits").body("{}").send()));
        let accepted = tokio::time::timeout(LONG, silent.accept()).await.expect("the tool is called");
        taken.push(accepted.expect("accepts"));
    }
    wait_until_full(&daemon, "waits").await;
    for _ in 0..10 {
        daemon.post("/api/render/prompts/plain", &json!({})).await.expect_status(200);
        daemon.get("/api/prompts").await.expect_status(200);
    }
    let refused = daemon.post("/api/render/prompts/waits", &json!({})).await.expect_status(503);
    assert_eq!(refused["code"], "overload");
    waiting.into_iter().for_each(|render| render.abort());
}

/// A prompt that takes a while: `items` times a hundred steps.
fn spinning(items: usize) -> String {
    format!("{{% for a in range({items}) %}}{{% for b in range(100) %}}{{% endfor %}}{{% endfor %}}done")
}

const SPIN: &str = "user_data/shared/prompts/spin/template.md";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renders_beyond_the_queue_are_refused_while_others_run() {
    let daemon = Setup::new()
        .file(SPIN, "{% for a in range(n) %}{% for b in range(n) %}{% endfor %}{% endfor %}")
        .set("limits.steps=1_000_000_000_000")
        .set("server.max_queued=2")
        .start()
        .await;
    daemon.put(StoreKind::Template, "quick", json!({"name": "quick", "prompt": "x"})).await;
    let quick = async || daemon.post("/api/render/prompts/quick", &json!({})).await;
    // After some fast renders, it needs no render thread.
    for _ in 0..20 {
        quick().await.expect_status(200);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let spin = |n: u32| {
        let body = json!({"variables": {"n": n}}).to_string();
        daemon.request("POST", "/api/render/prompts/spin").body(body)
    };
    // Once its time is known, not many of it may wait.
    crate::support::send(spin(1_000)).await.expect_status(200);
    let slow = || spin(90_000);
    let running: Vec<_> = (0..cores + 2).map(|_| tokio::spawn(slow().send())).collect();
    wait_until_full(&daemon, "renders").await;
    for _ in 0..20 {
        let refused = crate::support::send(slow()).await;
        assert_eq!(refused.header("retry-after"), "1");
        assert_eq!(refused.expect_status(503)["code"], "overload");
        quick().await.expect_status(200);
    }
    assert!(running.iter().all(|render| !render.is_finished()), "nobody waited for them");
    running.into_iter().for_each(|render| render.abort());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_core_does_not_count_as_render_time() {
    const RENDERS: usize = 40;
    let start = |deadline: Option<Duration>| {
        let setup = Setup::new().file(SPIN, &spinning(2_000)).set("limits.steps=1_000_000_000");
        let setup = setup.set("server.max_queued=100");
        match deadline {
            Some(deadline) => setup.deadline(deadline).start(),
            None => setup.start(),
        }
    };
    let alone = start(None).await;
    alone.post("/api/render/prompts/spin", &json!({})).await.expect_status(200);
    let started = Instant::now();
    alone.post("/api/render/prompts/spin", &json!({})).await.expect_status(200);
    // Long enough for one render, far too short for all of them.
    let daemon = start(Some(started.elapsed() * 4)).await;
    let spin = || daemon.request("POST", "/api/render/prompts/spin").body("{}").send();
    let all: Vec<_> = (0..RENDERS).map(|_| tokio::spawn(spin())).collect();
    for render in all {
        let answer = render.await.expect("runs").expect("is answered");
        let (status, text) = (answer.status(), answer.text().await.expect("is text"));
        assert_eq!(status, 200, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_connection_takes_the_place_of_an_idle_one() {
    let daemon = Setup::new().set("server.max_connections=2").start().await;
    let mut idle = connect(&daemon).await;
    assert!(ask(&mut idle, "/healthz").await.starts_with("http/1.1 200"));
    let mut half = connect(&daemon).await;
    half.write_all(b"GET /api/prompts HTTP/1.1\r\nhost: local").await.expect("is sent");
    // Until the others are idle for a moment, it is refused, with an answer.
    let mut kept = Vec::new();
    for _ in 0..2 {
        loop {
            let mut new = connect(&daemon).await;
            let answer = ask(&mut new, "/api/prompts").await;
            if answer.starts_with("http/1.1 200") {
                kept.push(new);
                break;
            }
            assert!(answer.starts_with("http/1.1 503") && answer.contains("retry-after: 1"), "{answer}");
        }
    }
    wait_for_end(&mut idle).await;
    wait_for_end(&mut half).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_answered_when_all_connections_are_busy() {
    let daemon = Setup::new().set("server.max_connections=2").start().await;
    let mut busy = Vec::new();
    for _ in 0..2 {
        let mut stream = connect(&daemon).await;
        assert!(ask(&mut stream, "/api/events").await.starts_with("http/1.1 200"));
        busy.push(stream);
    }
    for _ in 0..3 {
        let mut health = connect(&daemon).await;
        let answer = ask(&mut health, "/healthz").await;
        assert!(answer.starts_with("http/1.1 200") && answer.contains("connection: close"), "{answer}");
        let mut other = connect(&daemon).await;
        let answer = ask(&mut other, "/api/prompts").await;
        assert!(answer.starts_with("http/1.1 503") && answer.contains("connection: close"), "{answer}");
        wait_for_end(&mut other).await;
    }
    // More than the reserve has places for: each gets an answer.
    let mut many = Vec::new();
    for _ in 0..60 {
        many.push(connect(&daemon).await);
    }
    for stream in &mut many {
        let answer = ask(stream, "/api/prompts").await;
        assert!(answer.starts_with("http/1.1 503") || answer.is_empty(), "{answer}");
    }
    daemon.put(StoreKind::Template, "t", json!({"name": "t", "prompt": "x"})).await;
    for stream in &mut busy {
        let event =
            tokio::time::timeout(LONG, stream.read(&mut [0; 64])).await.expect("is not closed for it");
        assert!(event.expect("is read") > 0);
    }
    drop(busy);
    loop {
        let mut stream = connect(&daemon).await;
        if ask(&mut stream, "/api/prompts").await.starts_with("http/1.1 200") {
            break;
        }
    }
}
