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

/// Opens a session of an older revision.
async fn open_session(daemon: &Daemon, key: Option<&str>) -> String {
    let with_key = |request: reqwest::RequestBuilder| match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    };
    let opened = send(with_key(legacy(daemon, None, &initialize()))).await;
    let session = opened.header("mcp-session-id").to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    send(with_key(legacy(daemon, Some(&session), &initialized))).await;
    session
}

#[tokio::test]
async fn a_session_belongs_to_its_key_whatever_the_method() {
    let keys: &[crate::support::KeyOf<'_>] =
        &[("one", &["read", "render"], None), ("two", &["read", "render"], None)];
    let daemon = prompts().keys(keys).start().await;
    let session = open_session(&daemon, Some("key-one")).await;
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}});
    let bare = |method: &str| {
        let request = daemon.request(method, "/mcp").header("accept", "text/event-stream");
        request.header("mcp-session-id", &session).header("mcp-protocol-version", "2025-11-25")
    };
    for request in [
        legacy(&daemon, Some(&session), &ping),
        legacy(&daemon, Some(&session), &notice),
        bare("GET"),
        bare("DELETE"),
    ] {
        let answered = send(request.bearer_auth("key-two")).await;
        assert_eq!(answered.status, 404, "{answered:?}");
    }
    let own = send(legacy(&daemon, Some(&session), &ping).bearer_auth("key-one")).await;
    assert_eq!(message(&own)["id"], 3, "{own:?}");
}

#[tokio::test]
async fn an_answer_that_needed_a_key_is_private() {
    let daemon = prompts().keys(&[("me", &["read", "render"], None)]).start().await;
    let open = prompts().start().await;
    for (method, params) in [
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "prompt://greet"})),
    ] {
        let scope = async |request: reqwest::RequestBuilder| {
            send(request).await.expect_status(200)["result"]["cacheScope"].clone()
        };
        assert_eq!(
            scope(modern(&daemon, method, params.clone()).bearer_auth("key-me")).await,
            "private",
            "{method}"
        );
        assert_eq!(scope(modern(&open, method, params)).await, "public", "{method}");
    }
}

#[tokio::test]
async fn a_rendering_resource_needs_the_scope_and_is_in_the_audit_log() {
    let setup = prompts().keys(&[("me", &["read", "render"], None), ("reader", &["read"], None)]);
    let mut daemon = setup.start().await;
    let mut settings = std::fs::read_to_string(daemon.root().join("hinagata.toml")).expect("is there");
    settings.push_str("[[resources]]\nuri = \"greetings://{who}\"\nprompt = \"greet\"\n");
    std::fs::write(daemon.root().join("hinagata.toml"), settings).expect("is written");
    daemon.trust_settings();
    let reloaded = daemon.reloader.reload_workspace().await.expect("reloads");
    assert_eq!(reloaded.needs_restart, Vec::<String>::new(), "resources are read again");
    let read =
        |key: &str| modern(&daemon, "resources/read", json!({"uri": "greetings://Rumi"})).bearer_auth(key);
    let refused = send(read("key-reader")).await;
    assert_eq!(message(&refused)["error"]["message"], "this key does not allow `render`");
    let got = send(read("key-me")).await.expect_status(200);
    assert_eq!(got["result"]["contents"][0]["text"], "Hello Rumi", "{got}");
    daemon.begin_stop();
    daemon.stopped().await;
    let log =
        std::fs::read_to_string(daemon.directory.path().join("state/daemon/audit.jsonl")).expect("is there");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    let short: Vec<Value> =
        lines.iter().map(|line| json!([line["who"], line["did"], line["status"]])).collect();
    assert_eq!(
        short,
        [json!(["reader", "MCP resources/read", 403]), json!(["me", "MCP resources/read", 200])]
    );
}

#[tokio::test]
async fn a_key_that_may_only_read_has_the_tool_that_only_lists() {
    let daemon = prompts().set("mcp.tools=true").keys(&[("reader", &["read"], None)]).start().await;
    let listed =
        send(modern(&daemon, "tools/list", json!({})).bearer_auth("key-reader")).await.expect_status(200);
    let names: Vec<&Value> =
        listed["result"]["tools"].as_array().expect("is a list").iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["list_prompts"]);
    let call = |name: &str| {
        modern(&daemon, "tools/call", json!({"name": name, "arguments": {}})).bearer_auth("key-reader")
    };
    let got = send(call("list_prompts")).await.expect_status(200);
    assert!(got["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("greet")), "{got}");
    let refused = send(call("greet")).await;
    assert_eq!(message(&refused)["error"]["message"], "this key does not allow `render`");
}

#[tokio::test]
async fn the_rate_of_renders_and_completions_is_limited_by_default_and_lists_are_not() {
    let settings = hinagata_server::ServerSettings::from_settings(&hinagata::Settings::default());
    assert!(settings.expect("are fine").mcp_rate.is_some(), "there is a limit by default");
    let daemon = prompts().set("mcp.rate=2").start().await;
    let completion = json!({
        "ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""},
    });
    for (method, params) in [("prompts/get", greeting()), ("completion/complete", completion)] {
        let mut refused = None;
        for _ in 0..20 {
            let answered = send(modern(&daemon, method, params.clone())).await;
            refused = Some(message(&answered)).filter(|answer| answer["error"]["code"] == -32000);
            if refused.is_some() {
                break;
            }
        }
        let refused = refused.unwrap_or_else(|| panic!("twenty at once are too many: {method}"));
        assert_eq!(
            (&refused["error"]["data"]["code"], &refused["error"]["data"]["retry_after"]),
            (&json!("rate"), &json!(1))
        );
    }
    for _ in 0..20 {
        send(modern(&daemon, "prompts/list", json!({}))).await.expect_status(200);
    }
}

#[tokio::test]
async fn a_slash_at_the_end_of_the_address_does_no_harm() {
    let daemon = prompts().start().await;
    let request = modern(&daemon, "prompts/get", greeting()).build().expect("is a request");
    let mut request = request.try_clone().expect("has a body of bytes");
    request.url_mut().set_path("/mcp/");
    let answered = daemon.client.execute(request).await.expect("is answered");
    assert_eq!(answered.status(), 200);
    assert!(answered.text().await.expect("is text").contains("Hello Rumi"));
}

#[tokio::test]
async fn a_missing_key_leads_to_no_oauth_server() {
    let daemon = prompts().keys(&[("me", &["read"], None)]).start().await;
    let refused = send(modern(&daemon, "prompts/list", json!({}))).await;
    assert_eq!((refused.status.as_u16(), refused.header("www-authenticate")), (401, "Bearer"));
    for (method, path) in [
        ("GET", "/.well-known/oauth-protected-resource"),
        ("GET", "/.well-known/oauth-protected-resource/mcp"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("GET", "/.well-known/openid-configuration"),
        ("GET", "/mcp/.well-known/openid-configuration"),
        ("POST", "/register"),
    ] {
        let answered = send(daemon.request(method, path)).await;
        let told = answered.expect_status(404);
        let hint = told["hint"].as_str().unwrap_or_default();
        assert!(hint.contains("`Authorization: Bearer KEY`"), "{path}: {told}");
    }
}

#[tokio::test]
async fn an_invalid_resource_is_a_finding_and_stops_nothing() {
    let settings = "[[resources]]\nuri = \"a://b\"\n";
    let daemon = prompts().file("hinagata.toml", settings).start().await;
    assert_eq!(got(&send(modern(&daemon, "prompts/get", greeting())).await), "Hello Rumi");
    let found = daemon.get("/api/diagnostics").await.expect_status(200);
    assert!(found.to_string().contains("invalid resource 1 in the settings"), "{found}");
}

/// A tool server that answers nothing, and tells when a call of it was closed.
async fn closed_call(listener: &tokio::net::TcpListener) -> impl Future<Output = ()> + use<> {
    use tokio::io::AsyncReadExt as _;
    let (mut call, _) = listener.accept().await.expect("is called");
    let mut head = [0; 4_096];
    assert!(call.read(&mut head).await.expect("is read") > 0);
    async move { while call.read(&mut head).await.is_ok_and(|read| read > 0) {} }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_request_closes_its_tool_calls_in_both_eras() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("has one");
    let daemon = prompts()
        .file("user_data/shared/prompts/asking/template.md", "{{ slow_answer() }}")
        .set(format!("tools.base_url=http://{address}"))
        .set("tools.allowed_hosts=127.0.0.1")
        .set("tools.timeout=3600s")
        .start()
        .await;
    let tool = json!({"name": "answer", "module": "slow", "url": "/slow"});
    daemon.put(hinagata::store::StoreKind::Tool, "slow.answer", tool).await;
    let asking = json!({"name": "asking"});
    // The newest revision: closing the stream is cancelling.
    let request = tokio::spawn(modern(&daemon, "prompts/get", asking.clone()).send());
    let closed = closed_call(&listener).await;
    request.abort();
    tokio::time::timeout(crate::support::LONG, closed).await.expect("the call is closed");
    // Older revisions: a notification, or a client that does not come back.
    let session = open_session(&daemon, None).await;
    let ask = |id: u8| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "prompts/get", "params": asking});
        tokio::spawn(legacy(&daemon, Some(&session), &message).send())
    };
    let request = ask(1);
    let closed = closed_call(&listener).await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    send(legacy(&daemon, Some(&session), &cancelled)).await;
    tokio::time::timeout(crate::support::LONG, closed).await.expect("the call is closed");
    drop(request);
    let request = ask(2);
    let closed = closed_call(&listener).await;
    drop(request.await.expect("is sent").expect("is answered with a stream"));
    tokio::time::timeout(crate::support::LONG, closed).await.expect("the call is closed");
}

const REVIEW: &str = "parameters: [{name: source, type: file, required: true}]\n\
                      messages: [{role: user, content: '{{ source }}'}]\n";
const OVERVIEW: &str = "parameters: [{name: files, source: {context: {include: ['src/**']}}}]\n\
                        messages: [{role: user, content: '{{ files }}'}]\n";

/// A daemon with prompts about a project, and the project beside its workspace.
fn project_prompts() -> (Setup, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let project = directory.path().join("project");
    crate::support::write(&project.join("src/main.rs"), "fn main() {}");
    crate::support::write(&directory.path().join("outside.txt"), "outside");
    let setup = Setup::new_in(directory)
        .file("user_data/shared/prompts/review/prompt.yaml", REVIEW)
        .file("user_data/shared/prompts/overview/prompt.yaml", OVERVIEW);
    (setup, project)
}

#[tokio::test]
async fn callers_name_files_of_the_project_that_the_settings_name() {
    let (setup, project) = project_prompts();
    let daemon = setup.set(format!("server.project={}", project.display())).start().await;
    let review =
        |file: &str| modern(&daemon, "prompts/get", json!({"name": "review", "arguments": {"source": file}}));
    assert_eq!(got(&send(review("src/main.rs")).await), "fn main() {}");
    let files = got(&send(modern(&daemon, "prompts/get", json!({"name": "overview"}))).await);
    assert!(files.contains("fn main() {}"), "{files}");
    let outside = project.with_file_name("outside.txt").display().to_string();
    for name in ["../outside.txt", &outside] {
        let refused = message(&send(review(name)).await);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
}

#[tokio::test]
async fn without_a_project_the_daemon_reads_no_project() {
    let (setup, project) = project_prompts();
    let daemon = setup.start().await;
    let file = project.join("src/main.rs").display().to_string();
    for params in [
        json!({"name": "review", "arguments": {"source": "src/main.rs"}}),
        json!({"name": "review", "arguments": {"source": file}}),
        json!({"name": "overview"}),
    ] {
        let refused = message(&send(modern(&daemon, "prompts/get", params.clone())).await);
        assert!(refused["error"]["code"].is_i64(), "{params}: {refused}");
    }
}

#[tokio::test]
async fn the_daemon_serves_skills_if_its_settings_say_so() {
    let keys: [crate::support::KeyOf<'_>; 2] =
        [("all", &["read", "render"], None), ("reader", &["read"], None)];
    let daemon = prompts().set("mcp.skills=true").keys(&keys).start().await;
    let list = |key: &str| modern(&daemon, "skills/list", json!({})).bearer_auth(key);
    let listed = send(list("key-all")).await.expect_status(200);
    let uris: Vec<&Value> =
        listed["result"]["skills"].as_array().expect("is a list").iter().map(|skill| &skill["uri"]).collect();
    assert_eq!(uris, ["skill://greet/SKILL.md", "skill://secret-plan/SKILL.md"]);
    let read = json!({"uri": "skill://greet/SKILL.md"});
    let read = send(modern(&daemon, "resources/read", read).bearer_auth("key-all")).await.expect_status(200);
    let text = read["result"]["contents"][0]["text"].as_str().expect("is a text");
    assert!(text.contains("Hello [who]"), "{text}");
    let refused = message(&send(list("key-reader")).await);
    assert_eq!(refused["error"]["message"], "this key does not allow `render`");
    let without = prompts().start().await;
    let unknown = message(&send(modern(&without, "skills/list", json!({}))).await);
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
}

#[tokio::test]
async fn a_library_is_served_beside_the_workspace_without_its_path() {
    let directory = tempfile::tempdir().expect("a directory");
    let library = directory.path().join("my library");
    let prompts = library.join("user_data/shared/prompts");
    crate::support::write(&prompts.join("summary/template.md"), "Summarize.");
    crate::support::write(&prompts.join("greet/template.md"), "Another greeting.");
    crate::support::write(&prompts.join("broken/prompt.yaml"), "messages: 5\n");
    let greet = "messages: [{role: user, content: Hello}]\n";
    let daemon = Setup::new_in(directory)
        .file("user_data/shared/prompts/greet/prompt.yaml", greet)
        .file("user_data/shared/prompts/mine/prompt.yaml", greet)
        .set(format!("catalog.libraries={}", library.display()))
        .start()
        .await;
    let listed = send(modern(&daemon, "prompts/list", json!({}))).await;
    assert!(!listed.text.contains("my library"), "{listed:?}");
    let listed = listed.expect_status(200);
    let found: Vec<(&str, &str)> = listed["result"]["prompts"]
        .as_array()
        .expect("is a list")
        .iter()
        .map(|prompt| {
            let source = prompt["_meta"]["hinagata/source"].as_str().unwrap_or_default();
            (prompt["name"].as_str().unwrap_or_default(), source)
        })
        .collect();
    // `greet` is in conflict, and `broken` cannot be rendered.
    assert_eq!(
        found,
        [("mine", "user_data/shared/prompts/mine"), ("summary", "library/user_data/shared/prompts/summary"),]
    );
    assert_eq!(got(&send(modern(&daemon, "prompts/get", json!({"name": "summary"}))).await), "Summarize.");
    let shown = daemon.get("/api/prompts/summary").await.expect_status(200);
    assert_eq!(shown["origin"], "library");
    let conflict = send(modern(&daemon, "prompts/get", json!({"name": "greet"}))).await;
    assert_eq!(message(&conflict)["error"]["data"]["code"], "conflict", "{conflict:?}");
    assert!(!conflict.text.contains("my library"), "{conflict:?}");
}
