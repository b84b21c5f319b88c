//! `/mcp`: the same keys, pages, limits and audit log as every other route.

use serde_json::{Value, json};

use crate::support::{Answered, Daemon, Setup, send};

const REVISION: &str = "2026-07-28";

/// A request of the newest revision.
fn modern(daemon: &Daemon, method: &str, mut params: Value) -> reqwest::RequestBuilder {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params["name"].as_str().or_else(|| params["uri"].as_str()).map(str::to_owned);
    let request = daemon
        .request("POST", "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", REVISION)
        .header("mcp-method", method)
        .body(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string());
    match name {
        Some(name) => request.header("mcp-name", name),
        None => request,
    }
}

/// A message of an older revision.
fn legacy(daemon: &Daemon, session: Option<&str>, message: &Value) -> reqwest::RequestBuilder {
    let request = daemon
        .request("POST", "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2025-11-25")
        .body(message.to_string());
    match session {
        Some(session) => request.header("mcp-session-id", session),
        None => request,
    }
}

fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

/// The answer in a stream of events, or as it is.
fn message(answered: &Answered) -> Value {
    let data = answered.text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let found =
        data.filter(|data| !data.is_empty()).filter_map(|data| serde_json::from_str(data).ok()).next_back();
    found.unwrap_or_else(|| answered.json())
}

fn prompts() -> Setup {
    let greet = "description: Greets\nparameters: [{name: who, type: string, required: true}]\n\
                 messages: [{role: user, content: 'Hello {{ who }}'}]\n";
    Setup::new()
        .file("user_data/shared/prompts/greet/prompt.yaml", greet)
        .file("user_data/shared/prompts/secret_plan/prompt.yaml", "messages: [{role: user, content: hush}]\n")
}

fn got(answered: &Answered) -> String {
    let message = message(answered);
    message["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answered:?}"))
        .to_owned()
}

fn greeting() -> Value {
    json!({"name": "greet", "arguments": {"who": "Rumi"}})
}

#[tokio::test]
async fn invalid_params_and_unknown_methods_have_different_codes() {
    let daemon = prompts().start().await;
    // Whatever its params are, a method that the revision does not have is not there.
    for method in ["initialize", "resources/subscribe", "resources/unsubscribe", "no/such"] {
        let answered = send(modern(&daemon, method, json!({}))).await;
        assert_eq!(
            (answered.status.as_u16(), &message(&answered)["error"]["code"]),
            (404, &json!(-32601)),
            "{method}"
        );
    }
    let answered = send(modern(&daemon, "prompts/get", json!({"arguments": 5}))).await;
    assert_eq!(message(&answered)["error"]["code"], -32602, "{answered:?}");
}

#[tokio::test]
async fn a_single_request_is_answered_with_json() {
    let daemon = prompts().start().await;
    let answered = send(modern(&daemon, "prompts/get", greeting())).await;
    assert_eq!((answered.status.as_u16(), answered.header("content-type")), (200, "application/json"));
    assert_eq!(got(&answered), "Hello Rumi");
}

#[tokio::test]
async fn an_older_client_has_a_session() {
    let daemon = prompts().start().await;
    let opened = send(legacy(&daemon, None, &initialize())).await;
    let session = opened.header("mcp-session-id").to_owned();
    assert_eq!(message(&opened)["result"]["serverInfo"]["name"], "hinagata");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(send(legacy(&daemon, Some(&session), &initialized)).await.status.as_u16(), 202);
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": greeting()});
    assert_eq!(got(&send(legacy(&daemon, Some(&session), &ask)).await), "Hello Rumi");
    let ended = daemon.request("DELETE", "/mcp").header("mcp-session-id", &session);
    assert_eq!(send(ended.header("mcp-protocol-version", "2025-11-25")).await.status.as_u16(), 204);
    assert_eq!(send(legacy(&daemon, Some(&session), &ask)).await.status.as_u16(), 404, "it is over");
}

#[tokio::test]
async fn a_key_sees_only_its_prompts() {
    let daemon = prompts()
        .keys(&[
            ("all", &["read", "render"], None),
            ("some", &["read", "render"], Some(&["greet*"])),
            ("reader", &["read"], None),
        ])
        .start()
        .await;
    assert_eq!(send(modern(&daemon, "prompts/list", json!({}))).await.status.as_u16(), 401);
    let list = async |key: &str| {
        let answered = send(modern(&daemon, "prompts/list", json!({})).bearer_auth(key)).await;
        let prompts = answered.expect_status(200)["result"]["prompts"].as_array().expect("is a list").clone();
        prompts.iter().map(|prompt| prompt["name"].as_str().expect("has one").to_owned()).collect::<Vec<_>>()
    };
    assert!(list("key-all").await.contains(&"secret_plan".to_owned()));
    assert_eq!(list("key-some").await, ["greet"]);
    let plan = || modern(&daemon, "prompts/get", json!({"name": "secret_plan"}));
    let refused = send(plan().bearer_auth("key-some")).await.expect_status(200);
    assert_eq!(refused["error"]["code"], -32602);
    let refused = send(plan().bearer_auth("key-reader")).await;
    assert_eq!(message(&refused)["error"]["message"], "this key does not allow `render`");
    assert_eq!(got(&send(plan().bearer_auth("key-all")).await), "hush");
}

#[tokio::test]
async fn a_key_cannot_use_the_session_of_another_key() {
    let daemon = prompts()
        .keys(&[("one", &["read", "render"], None), ("two", &["read", "render"], Some(&["greet"]))])
        .start()
        .await;
    let opened = send(legacy(&daemon, None, &initialize()).bearer_auth("key-one")).await;
    let session = opened.header("mcp-session-id").to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    send(legacy(&daemon, Some(&session), &initialized).bearer_auth("key-one")).await;
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": {}});
    let stolen = send(legacy(&daemon, Some(&session), &ask).bearer_auth("key-two")).await;
    assert_eq!(stolen.status, 404, "it is one that there is not: {stolen:?}");
    let own = send(legacy(&daemon, Some(&session), &ask).bearer_auth("key-one")).await;
    assert!(message(&own)["result"]["prompts"].is_array());
}

#[tokio::test]
async fn foreign_origins_are_refused() {
    let daemon = prompts().start().await;
    for (name, value) in [("origin", "https://evil.example"), ("host", "evil.example")] {
        let answered = send(modern(&daemon, "prompts/list", json!({})).header(name, value)).await;
        assert_eq!(answered.status.as_u16(), 403, "{name}");
    }
}

#[tokio::test]
async fn large_bodies_are_refused() {
    let daemon = prompts().set("server.max_body=1KiB").start().await;
    let given = json!({"name": "greet", "arguments": {"who": "x".repeat(5_000)}});
    assert_eq!(send(modern(&daemon, "prompts/get", given)).await.status.as_u16(), 413);
}

#[tokio::test]
async fn every_get_is_in_the_audit_log() {
    let mut daemon = prompts().keys(&[("me", &["read", "render"], None)]).start().await;
    send(modern(&daemon, "prompts/get", greeting()).bearer_auth("key-me")).await;
    send(modern(&daemon, "prompts/get", json!({"name": "nope"})).bearer_auth("key-me")).await;
    daemon.begin_stop();
    daemon.stopped().await;
    let log =
        std::fs::read_to_string(daemon.directory.path().join("state/daemon/audit.jsonl")).expect("is there");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    let short: Vec<Value> =
        lines.iter().map(|line| json!([line["did"], line["names"]["id"], line["status"]])).collect();
    assert_eq!(short, [json!(["MCP prompts/get", "greet", 200]), json!(["MCP prompts/get", "nope", 400])]);
    assert!(lines.iter().all(|line| line["who"] == "me") && !log.contains("Rumi"));
}

#[tokio::test]
async fn subscribers_receive_changes_of_the_store() {
    let daemon = prompts().start().await;
    let listening =
        modern(&daemon, "subscriptions/listen", json!({"notifications": {"promptsListChanged": true}}));
    let mut stream = listening.send().await.expect("is answered");
    let first = stream.chunk().await.expect("is read").expect("goes on");
    assert!(String::from_utf8_lossy(&first).contains("acknowledged"), "{first:?}");
    daemon.put(hinagata::store::StoreKind::Template, "fresh", json!({"name": "fresh", "prompt": "hi"})).await;
    let notified = async {
        while let Ok(Some(piece)) = stream.chunk().await {
            if String::from_utf8_lossy(&piece).contains("notifications/prompts/list_changed") {
                return;
            }
        }
        panic!("the stream ended");
    };
    tokio::time::timeout(crate::support::LONG, notified).await.expect("a notification arrives");
}
