//! What operators need: request ids, logs, the audit log, metrics, reverse proxies.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use fake_provider::{FakeProvider, Reply};
use hinagata::store::StoreKind;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::support::{Daemon, LONG, Setup, send};

/// The audit log of a daemon that has stopped.
async fn audit_lines(daemon: &mut Daemon) -> Vec<Value> {
    daemon.begin_stop();
    daemon.stopped().await;
    let path = daemon.directory.path().join("state/daemon/audit.jsonl");
    let text = std::fs::read_to_string(path).expect("is there");
    text.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect()
}

async fn with_model(provider: &FakeProvider) -> Daemon {
    let daemon = Setup::new()
        .variable("OPENAI_BASE_URL", &provider.base_url())
        .variable("OPENAI_API_KEY", "sk-test")
        .set("llm.retries=")
        .start()
        .await;
    daemon.put(StoreKind::Template, "t", json!({"name": "t", "prompt": "x"})).await;
    daemon
}

/// Sends bytes over a connection of their own, and returns everything that comes back.
async fn exchange(daemon: &Daemon, request: &str) -> String {
    let mut stream = TcpStream::connect(daemon.url.trim_start_matches("http://")).await.expect("connects");
    stream.write_all(request.as_bytes()).await.expect("is sent");
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut answer)).await.expect("the connection ends");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn every_answer_has_the_id_of_its_request() {
    let mut daemon = Daemon::start().await;
    for path in ["/healthz", "/api/prompts", "/api/prompts/none", "/no/such/route"] {
        let answer = send(daemon.request("GET", path).header("x-request-id", "from-caller.1")).await;
        assert_eq!(answer.header("x-request-id"), "from-caller.1", "{path}");
        let made = daemon.get(path).await;
        assert_eq!(made.header("x-request-id").len(), 32, "{made:?}");
        let replaced = send(daemon.request("GET", path).header("x-request-id", "not well formed")).await;
        assert_eq!(replaced.header("x-request-id").len(), 32, "{replaced:?}");
    }
    let render = daemon.request("POST", "/api/render/prompts/none").header("x-request-id", "audited");
    send(render.body("{}")).await.expect_status(404);
    let lines = audit_lines(&mut daemon).await;
    assert_eq!((&lines[0]["request"], &lines[0]["status"]), (&json!("audited"), &json!(404)));
    assert_eq!(lines[0]["daemon"], daemon.url.trim_start_matches("http://"));
}

/// Collects the fields of events of the daemon.
struct Collector(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("hinagata_server")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(format!("{} ", event.metadata().level()));
        event.record(&mut fields);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fields.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn a_failure_is_logged_with_request_prompt_code_and_message() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let collector = Collector(Arc::clone(&lines));
    tracing::subscriber::set_global_default(collector).expect("no other test of this process sets one");
    let provider = FakeProvider::start();
    let daemon = with_model(&provider).await;
    provider.reply(Reply::status(500, "it broke"));
    let chat = daemon.request("POST", "/api/chat/prompts/t").bearer_auth(&daemon.token);
    let chat = chat.header("x-request-id", "r-77").body(json!({"model": "m"}).to_string());
    send(chat).await.expect_status(502);
    provider.reply(Reply::status(400, "`x` is not allowed"));
    let chat = daemon.request("POST", "/api/chat/prompts/t").bearer_auth(&daemon.token);
    let chat = chat.header("x-request-id", "r-78").body(json!({"model": "m"}).to_string());
    send(chat).await.expect_status(502);
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    let line = |request: &str| lines.iter().find(|line| line.contains(request)).expect("the call is logged");
    let failed = line("r-77");
    assert!(failed.starts_with("WARN"), "{failed}");
    for part in [
        "request=\"r-77\"",
        "id=\"t\"",
        "status=502",
        "code=\"model\"",
        "error=\"",
        "provider_status=500",
        "provider_message=\"it broke\"",
    ] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    let rejected = line("r-78");
    assert!(rejected.contains("provider_status=400"), "{rejected}");
    assert!(!rejected.contains("not allowed"), "the message may quote the prompt: {rejected}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_audited_with_its_model_even_if_the_client_leaves() {
    let provider = FakeProvider::start();
    let mut daemon = with_model(&provider).await;
    let chat = |daemon: &Daemon| {
        let request = daemon.request("POST", "/api/chat/prompts/t").bearer_auth(&daemon.token);
        request.body(json!({"model": "deepseek-v3"}).to_string())
    };
    send(chat(&daemon)).await.expect_status(200);
    provider.reply(Reply::Silence);
    let asked = tokio::spawn(chat(&daemon).send());
    tokio::time::timeout(LONG, provider.wait_for_requests(2)).await.expect("the provider is asked");
    asked.abort();
    tokio::time::timeout(LONG, provider.wait_for_disconnect()).await.expect("the call is ended");
    let lines = audit_lines(&mut daemon).await;
    let short: Vec<Value> = lines.iter().map(|line| json!([line["status"], line["model"]])).collect();
    assert_eq!(short, [json!([200, "deepseek-v3"]), json!([499, "deepseek-v3"])]);
}

#[tokio::test]
async fn every_metric_has_help_and_times_are_histograms() {
    let provider = FakeProvider::start();
    let daemon = with_model(&provider).await;
    let body = json!({"model": "m"});
    daemon.as_owner("POST", "/api/chat/prompts/t", &body).await.expect_status(200);
    let text = daemon.get("/metrics").await.text;
    let kinds: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    assert!(kinds.iter().any(|(name, _)| *name == "hinagata_model_call_seconds"), "{text}");
    for (name, kind) in kinds {
        assert!(text.contains(&format!("# HELP {name} ")), "{name} has no help");
        assert_eq!(kind == "histogram", name.ends_with("call_seconds") || name == "hinagata_request_seconds");
        assert_ne!(kind, "summary", "{name}");
    }
    assert!(text.contains("hinagata_model_call_seconds_bucket{provider=\"openai\",le=\"0.25\"}"), "{text}");
}

#[tokio::test]
async fn a_trusted_proxy_names_the_client_for_rates_and_the_audit_log() {
    let mut daemon = Setup::new()
        .set("server.trusted_proxies=127.0.0.0/8")
        .set("server.open=true")
        .set("server.rate=1")
        .start()
        .await;
    for client in ["198.51.100.1", "198.51.100.2", "198.51.100.3"] {
        let render = daemon.request("POST", "/api/render/prompts/none").header("x-forwarded-for", client);
        send(render.body("{}")).await.expect_status(404);
    }
    let lines = audit_lines(&mut daemon).await;
    let from: Vec<&Value> = lines.iter().map(|line| &line["from"]).collect();
    assert_eq!(from, ["198.51.100.1", "198.51.100.2", "198.51.100.3"]);
}

#[tokio::test]
async fn a_client_cannot_name_its_own_address() {
    let mut daemon = Daemon::start().await;
    let render = daemon.request("POST", "/api/render/prompts/none").header("x-forwarded-for", "198.51.100.1");
    send(render.body("{}")).await.expect_status(404);
    assert_eq!(audit_lines(&mut daemon).await[0]["from"], "127.0.0.1");
}

#[tokio::test]
async fn clients_of_a_trusted_proxy_on_this_machine_are_not_local() {
    let daemon = Setup::new().set("server.trusted_proxies=127.0.0.1").start().await;
    let remote = send(daemon.request("GET", "/api/prompts").header("x-forwarded-for", "198.51.100.1")).await;
    assert_eq!(remote.status, 403, "{remote:?}");
    assert_eq!(daemon.get("/api/prompts").await.status, 200);
}

#[tokio::test]
async fn an_answer_before_the_body_closes_the_connection_and_says_so() {
    let daemon = Setup::new().set("server.max_body=1KiB").start().await;
    let unread = "PUT /api/environs/a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n\"";
    let refused = exchange(&daemon, unread).await.to_lowercase();
    assert!(refused.starts_with("http/1.1 401") && refused.contains("connection: close"), "{refused}");
    let large = format!(
        "POST /api/render/prompts/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5000\r\n\r\n{}",
        " ".repeat(2_000)
    );
    let refused = exchange(&daemon, &large).await.to_lowercase();
    assert!(refused.starts_with("http/1.1 413") && refused.contains("connection: close"), "{refused}");
}

#[tokio::test]
async fn a_request_without_a_host_is_invalid() {
    let daemon = Daemon::start().await;
    for hosts in ["", "host: localhost\r\nhost: localhost\r\n"] {
        let answer =
            exchange(&daemon, &format!("GET /healthz HTTP/1.1\r\n{hosts}connection: close\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    let old = exchange(&daemon, "GET /healthz HTTP/1.0\r\n\r\n").await;
    assert!(old.starts_with("HTTP/1.0 200") || old.starts_with("HTTP/1.1 200"), "{old}");
}

#[tokio::test]
async fn the_cache_of_templates_is_measured() {
    let daemon = Setup::new().set("cache.templates=2").start().await;
    for id in ["a", "b", "c"] {
        daemon.put(StoreKind::Template, id, json!({"name": id, "prompt": "x"})).await;
    }
    let render = async |id: &str| daemon.post(&format!("/api/render/prompts/{id}"), &json!({})).await;
    for id in ["a", "a", "b", "c", "a"] {
        render(id).await.expect_status(200);
    }
    let text = daemon.get("/metrics").await.text;
    let value = |name: &str| -> u64 {
        let line =
            text.lines().find_map(|line| line.strip_prefix(&format!("hinagata_template_cache_{name} ")));
        line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name}: {text}"))
    };
    assert_eq!((value("entries"), value("limit")), (2, 2));
    assert_eq!((value("hits_total"), value("misses_total"), value("evictions_total")), (1, 4, 2));
}
