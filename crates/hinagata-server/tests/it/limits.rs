//! What is too large, too slow, too often, too much.

use hinagata::store::StoreKind;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::support::{Daemon, LONG, Setup};

async fn connect(daemon: &Daemon) -> TcpStream {
    TcpStream::connect(daemon.url.trim_start_matches("http://")).await.expect("connects")
}

async fn read_all(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let read = tokio::time::timeout(LONG, stream.read_to_end(&mut text)).await.expect("the connection ends");
    let _ = read;
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let daemon = Setup::new().set("server.max_body=1KiB").start().await;
    let body = json!({"variables": {"agent_name": "x".repeat(2_000)}});
    let refused = daemon.post("/api/render/prompts/general_system", &body).await;
    assert!(refused.is_problem(), "{refused:?}");
    assert_eq!(refused.expect_status(413)["code"], "too_large");
}

#[tokio::test]
async fn a_request_header_that_does_not_arrive_times_out() {
    let daemon = Setup::new().set("server.header_timeout=50ms").start().await;
    let mut stream = connect(&daemon).await;
    stream.write_all(b"GET /api/prompts HTTP/1.1\r\nhost: local").await.expect("is sent");
    let answer = read_all(&mut stream).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn bytes_that_are_not_http_do_no_harm() {
    let daemon = Daemon::start().await;
    for rubbish in
        [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b"GET\r\n\r\n", b"\0\0\0\0\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]
    {
        let mut stream = connect(&daemon).await;
        stream.write_all(rubbish).await.expect("is sent");
        let _ = stream.shutdown().await;
        let answer = read_all(&mut stream).await;
        assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    daemon.get("/healthz").await.expect_status(200);
}

#[tokio::test]
async fn a_caller_over_the_rate_limit_gets_retry_after() {
    let daemon = Setup::new().set("server.rate=3").start().await;
    let mut refused = None;
    for _ in 0..20 {
        let answer = daemon.get_with_problem("/api/prompts").await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("twenty at once are too many");
    assert_eq!((refused.header("retry-after"), refused.json()["code"].as_str()), ("1", Some("rate")));
    // Health checks are never limited.
    for _ in 0..20 {
        daemon.get("/healthz").await.expect_status(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overload_is_refused_immediately_and_running_requests_finish() {
    let provider = fake_provider::FakeProvider::start();
    let daemon = Setup::new()
        .variable("OPENAI_BASE_URL", &provider.base_url())
        .variable("OPENAI_API_KEY", "k")
        .set("server.max_chats=4")
        .start()
        .await;
    daemon.put(StoreKind::Template, "t", json!({"name": "t", "prompt": "x"})).await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        provider.reply(fake_provider::Reply::Silence);
        let request = daemon.request("POST", "/api/chat/prompts/t").bearer_auth(&daemon.token);
        waiting.push(tokio::spawn(request.body(json!({"model": "m"}).to_string()).send()));
    }
    tokio::time::timeout(LONG, provider.wait_for_requests(4)).await.expect("four are under way");
    for _ in 0..50 {
        let refused = daemon.as_owner("POST", "/api/chat/prompts/t", &json!({"model": "m"})).await;
        assert_eq!(refused.header("retry-after"), "1");
        assert_eq!(refused.expect_status(503)["code"], "overload");
    }
    daemon.get("/healthz").await.expect_status(200);
    for request in waiting {
        request.abort();
    }
    // Their room is free once the daemon noticed that they left.
    loop {
        let answer = daemon.as_owner("POST", "/api/chat/prompts/t", &json!({"model": "m"})).await;
        if answer.status == 200 {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_prompt_delays_no_other_request_even_on_a_single_thread() {
    let daemon = Setup::new()
        .file(
            "user_data/shared/prompts/slow/template.md",
            "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
        )
        .set("server.threads=1")
        .set("server.max_requests=1")
        .set("limits.steps=1_000_000_000")
        .start()
        .await;
    let slow = tokio::spawn(daemon.request("POST", "/api/render/prompts/slow").body("{}").send());
    // Whoever is refused for it was answered while it was under way.
    while daemon.get("/api/prompts").await.status != 503 {
        assert!(!slow.is_finished(), "it took the only thread for itself");
    }
    assert!(!slow.is_finished());
    slow.abort();
}
