//! One client over a pair of streams: how it ends, and how much it may ask at once.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex},
    task::JoinHandle,
    time::{Duration, Instant},
};

use crate::{endless::Endless, support::Served};

/// A client that writes and reads lines.
struct Client {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    serving: JoinHandle<hinagata::Result<()>>,
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

impl Client {
    fn connect(served: &Served) -> Self {
        let (input, read) = duplex(1 << 20);
        let (write, output) = duplex(1 << 20);
        let mcp = served.mcp.clone();
        let serving = tokio::spawn(async move { mcp.serve_streams(read, write).await });
        Self { input, output: BufReader::new(output).lines(), serving }
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("is sent");
    }

    async fn ask(&mut self, id: usize, method: &str, mut params: Value) {
        params["_meta"] = meta();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    async fn get(&mut self, id: usize) {
        self.ask(id, "prompts/get", json!({"name": "test_simple_prompt"})).await;
    }

    async fn cancel(&mut self, id: usize) {
        let params = json!({"requestId": id});
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    }

    async fn answer(&mut self) -> Value {
        let line = self.output.next_line().await.expect("is read").expect("goes on");
        serde_json::from_str(&line).expect("is JSON")
    }

    /// Closes the input, and returns what was still answered.
    async fn end(mut self) -> Vec<Value> {
        drop(self.input);
        let mut answers = Vec::new();
        while let Ok(Some(line)) = self.output.next_line().await {
            answers.push(serde_json::from_str(&line).expect("is JSON"));
        }
        self.serving.await.expect("does not panic").expect("ends well");
        answers
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_at_once_although_a_subscription_is_open() {
    let served = Served::fixtures();
    let mut client = Client::connect(&served);
    client.ask(1, "subscriptions/listen", json!({"notifications": {"promptsListChanged": true}})).await;
    let first = client.answer().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    let closed = Instant::now();
    client.end().await;
    assert!(closed.elapsed() < Duration::from_millis(100), "{:?}", closed.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_at_once_although_a_question_is_open() {
    let served = Served::fixtures();
    let mut client = Client::connect(&served);
    let info = json!({"name": "test", "version": "1"});
    let capabilities = json!({"elicitation": {}});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})).await;
    assert_eq!(client.answer().await["id"], 1);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    let params = json!({"name": "test_prompt_with_arguments"});
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/get", "params": params})).await;
    assert_eq!(client.answer().await["method"], "elicitation/create");
    let closed = Instant::now();
    let answers = client.end().await;
    assert!(closed.elapsed() < Duration::from_millis(100), "{:?}", closed.elapsed());
    assert_eq!((answers.len(), &answers[0]["id"]), (1, &json!(2)), "the request is answered: {answers:?}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_soon_although_a_render_goes_on() {
    let (endless, served) = Endless::serve();
    let mut client = Client::connect(&served);
    client.get(1).await;
    endless.wait_for(1).await;
    let closed = Instant::now();
    let answers = client.end().await;
    assert!(closed.elapsed() <= Duration::from_millis(1_100), "{:?}", closed.elapsed());
    assert_eq!((endless.count(), &answers[0]["error"]["message"]), (0, &json!("the request was cancelled")));
}

#[tokio::test]
async fn requests_before_the_end_of_the_input_are_answered() {
    let served = Served::fixtures();
    let mut client = Client::connect(&served);
    for id in 1..=100 {
        client.get(id).await;
    }
    let answers = client.end().await;
    assert_eq!(answers.len(), 100);
    assert!(answers.iter().all(|answer| answer.get("result").is_some()), "{:?}", answers.last());
}

#[tokio::test]
async fn few_requests_are_handled_at_once_and_others_wait_for_their_turn() {
    let (endless, served) = Endless::serve();
    let mut client = Client::connect(&served);
    for id in 1..=40 {
        client.get(id).await;
    }
    endless.wait_for(32).await;
    // Whatever waits, a ping is answered and a cancellation is read.
    client.ask(99, "ping", json!({})).await;
    assert_eq!(client.answer().await["id"], 99);
    assert_eq!(endless.count(), 32);
    // Waiting requests are cancelled before they begin, others while they are handled.
    for id in (33..=40).chain(1..=31) {
        client.cancel(id).await;
    }
    endless.wait_for(1).await;
}

#[tokio::test]
async fn a_client_that_asks_too_much_is_refused_and_not_buffered() {
    let (endless, served) = Endless::serve();
    let mut client = Client::connect(&served);
    for id in 1..=32 {
        client.get(id).await;
    }
    endless.wait_for(32).await;
    for id in 100..100 + 1_024 + 1 {
        client.get(id).await;
    }
    let refused = client.answer().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(100 + 1_024), &json!(-32000)));
    // By bytes, too: eight of them are more than 64 MiB.
    for id in 100..100 + 1_024 {
        client.cancel(id).await;
    }
    for id in 2_000..2_008 {
        let padding = "x".repeat(9 << 20);
        client.ask(id, "prompts/get", json!({"name": "test_simple_prompt", "padding": padding})).await;
    }
    let refused = client.answer().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(2_007), &json!(-32000)));
    for id in 3_000..3_017 {
        client.ask(id, "subscriptions/listen", json!({"notifications": {"promptsListChanged": true}})).await;
    }
    let mut refused = client.answer().await;
    while refused.get("id").is_none() {
        refused = client.answer().await;
    }
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(3_016), &json!(-32000)));
}
