//! Sending prompts to a model that can fail, hang, stream and break.

use std::time::Duration;

use fake_provider::{ANSWER, FakeProvider, Reply};
use hinagata::store::StoreKind;
use serde_json::{Value, json};

use crate::support::{Answered, Daemon, LONG, Setup, send};

const KEY: &str = "sk-very-secret";

async fn daemon(provider: &FakeProvider) -> Daemon {
    let daemon = Setup::new()
        .variable("OPENAI_BASE_URL", &provider.base_url())
        .variable("OPENAI_API_KEY", KEY)
        .set("llm.retries=1ms, 2ms")
        .start()
        .await;
    let talk = json!({"name": "talk", "messages": [
        {"role": "system", "content": "Be {{.variables.manner}}."}, {"role": "user", "content": "Hi"}]});
    daemon.put(StoreKind::Template, "talk", talk).await;
    daemon
}

async fn chat(daemon: &Daemon, path: &str, body: &Value) -> Answered {
    daemon.as_owner("POST", path, body).await
}

const OURS: &str = "/api/chat/prompts/talk";

#[tokio::test]
async fn the_completion_is_passed_through_by_both_chat_routes() {
    let provider = FakeProvider::start();
    let daemon = daemon(&provider).await;
    let body = json!({"model": "deepseek-v3", "variables": {"manner": "kind"}, "temperature": 0, "seed": 7});
    let ours = chat(&daemon, OURS, &body).await.expect_status(200);
    assert_eq!(ours["choices"][0]["message"]["content"], ANSWER);
    assert_eq!(ours["usage"]["total_tokens"], 7);
    let body = json!({"Model": "deepseek-v3", "ARGS": {"manner": "kind"}, "Temperature": 0});
    let second = chat(&daemon, "/api/prompts/talk/chat", &body).await.expect_status(200);
    assert_eq!(second, ours);
    let received = provider.received();
    assert_eq!(received.len(), 2);
    for request in &received {
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
        assert_eq!(request.body["model"], "deepseek-v3");
        assert_eq!(request.body["temperature"], 0);
        assert_eq!(
            request.body["messages"],
            json!([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}])
        );
        assert!(request.body.get("variables").is_none() && request.body.get("args").is_none());
    }
    assert_eq!(received[0].body["seed"], 7);
}

#[tokio::test]
async fn chunks_are_relayed_as_they_arrive() {
    let provider = FakeProvider::start();
    let daemon = daemon(&provider).await;
    let body = json!({"model": "m", "variables": {"manner": "x"}, "stream": true});
    let answer = chat(&daemon, OURS, &body).await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert!(answer.text.trim_end().ends_with("data: [DONE]"), "{}", answer.text);
    let said: String = answer
        .text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(said, ANSWER);
}

#[tokio::test]
async fn a_failing_provider_is_retried_and_then_reported() {
    let provider = FakeProvider::start();
    let daemon = daemon(&provider).await;
    let body = json!({"model": "m", "variables": {"manner": "x"}});
    provider.reply(Reply::status(503, "busy")).reply(Reply::status(429, "slow down")).reply(Reply::Canned);
    chat(&daemon, OURS, &body).await.expect_status(200);
    assert_eq!(provider.received().len(), 3);
    for _ in 0..3 {
        provider.reply(Reply::status(500, "it broke"));
    }
    let failed = chat(&daemon, OURS, &body).await;
    assert!(failed.is_problem() && !failed.text.contains(KEY), "{failed:?}");
    let failed = failed.expect_status(502);
    assert_eq!((&failed["code"], &failed["provider_status"]), (&json!("model"), &json!(500)));
    assert_eq!(provider.received().len(), 6);
    provider.reply(Reply::status(400, "no such model"));
    let refused = chat(&daemon, OURS, &body).await.expect_status(502);
    assert_eq!(refused["provider_status"], 400);
    assert_eq!(provider.received().len(), 7, "it is not asked again");
    let old = {
        provider.reply(Reply::status(401, "bad key"));
        chat(&daemon, "/api/prompts/talk/chat", &json!({"model": "m"})).await.expect_status(502)
    };
    assert_eq!((&old["success"], &old["code"]), (&json!(false), &json!("502")));
    assert_eq!(old["provider_status"], 401, "{old}");
}

#[tokio::test]
async fn a_response_that_is_no_answer_is_a_problem_on_every_path() {
    let provider = FakeProvider::start();
    let daemon = daemon(&provider).await;
    for reply in [Reply::page("<html>gateway</html>"), Reply::status(200, "[1, 2]"), Reply::status(200, "")] {
        for stream in [false, true] {
            let body = json!({"model": "m", "variables": {"manner": "x"}, "stream": stream});
            provider.reply(reply.clone());
            let failed = chat(&daemon, OURS, &body).await.expect_status(502);
            let found = (&failed["code"], &failed["reason"]);
            assert_eq!(found, (&json!("model"), &json!("answer")), "{reply:?}, stream: {stream}");
        }
        provider.reply(reply.clone());
        chat(&daemon, "/api/prompts/talk/chat", &json!({"model": "m"})).await.expect_status(502);
    }
}

#[tokio::test]
async fn a_wait_that_the_provider_requests_is_passed_on() {
    let provider = FakeProvider::start();
    let daemon = daemon(&provider).await;
    let body = json!({"model": "m", "variables": {"manner": "x"}});
    provider.reply(Reply::retry_after("77"));
    let limited = chat(&daemon, OURS, &body).await;
    assert_eq!((limited.status.as_u16(), limited.header("retry-after")), (502, "77"), "{limited:?}");
    for _ in 0..5 {
        provider.reply(Reply::Status {
            status: 503,
            headers: vec![("retry-after".to_owned(), "60".to_owned())],
            body: String::new(),
        });
        chat(&daemon, OURS, &body).await.expect_status(502);
    }
    let asked = provider.received().len();
    let refused = chat(&daemon, OURS, &body).await;
    let wait: u64 = refused.header("retry-after").parse().expect("is a number");
    assert!((50..=60).contains(&wait), "{refused:?}");
    let refused = refused.expect_status(503);
    assert_eq!((&refused["code"], &refused["reason"]), (&json!("model"), &json!("down")));
    assert_eq!(provider.received().len(), asked, "the provider is left alone");
}

#[tokio::test]
async fn without_a_model_no_provider_is_called() {
    let provider = FakeProvider::start();
    let daemon = daemon(&provider).await;
    let none = chat(&daemon, OURS, &json!({"variables": {"manner": "x"}})).await.expect_status(400);
    assert_eq!(none["code"], "validation");
    let missing = chat(&daemon, "/api/chat/prompts/none", &json!({"model": "m"})).await;
    assert_eq!(missing.status, 404);
    let wrong = chat(&daemon, OURS, &json!({"model": 1, "stream": "yes"})).await;
    assert_eq!(wrong.status, 400);
    let denied = daemon.post(OURS, &json!({"model": "m"})).await;
    assert_eq!(denied.status, 401);
    assert!(provider.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_ends_the_call() {
    let provider = FakeProvider::start();
    let daemon = daemon(&provider).await;
    provider.reply(Reply::Silence);
    let body = json!({"model": "m", "variables": {"manner": "x"}}).to_string();
    let request = daemon.request("POST", OURS).bearer_auth(&daemon.token).body(body);
    // Dropping the future closes the connection.
    let asked = tokio::spawn(request.send());
    tokio::time::timeout(LONG, provider.wait_for_requests(1)).await.expect("the provider is asked");
    asked.abort();
    tokio::time::timeout(LONG, provider.wait_for_disconnect()).await.expect("the call is ended");
}

#[tokio::test]
async fn a_broken_stream_ends_with_an_error_event() {
    let provider = FakeProvider::start();
    let daemon = daemon(&provider).await;
    provider.reply(Reply::BreakOff(vec!["data: {\"choices\":[]}\n\n".to_owned()]));
    let body = json!({"model": "m", "variables": {"manner": "x"}, "stream": true});
    let answer = chat(&daemon, OURS, &body).await;
    assert_eq!(answer.status, 200);
    let last = answer.text.trim_end().rsplit("data: ").next().unwrap_or_default();
    let event: Value = serde_json::from_str(last).expect("is JSON");
    assert_eq!(event["error"]["type"], "model", "{}", answer.text);
}

#[tokio::test]
async fn no_secret_is_in_metrics_or_errors() {
    let provider = FakeProvider::start();
    let daemon = daemon(&provider).await;
    provider.reply(Reply::status(401, &format!("the key {KEY} is wrong")));
    let body = json!({"model": "m", "variables": {"manner": "private-value"}});
    let failed = chat(&daemon, OURS, &body).await;
    assert!(!failed.text.contains(KEY) && !failed.text.contains("private-value"), "{failed:?}");
    let metrics = daemon.get("/metrics").await;
    assert!(metrics.text.contains("hinagata_requests_total"), "{}", metrics.text);
    for secret in [KEY, "private-value", &daemon.token] {
        assert!(!metrics.text.contains(secret), "{}", metrics.text);
    }
    let _ = send(daemon.request("GET", "/readyz").timeout(Duration::from_secs(30))).await;
}
