//! Limits of concurrent calls, and providers whose calls are suspended; the clock stands still until a test moves it.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::support::{chat, llm_at, llm_with, stream};
use fake_provider::{FakeProvider, Reply};
use futures_util::StreamExt as _;
use hinagata::{Code, Error, Reason};
use hinagata_llm::Llm;
use serde_json::json;

/// A clock that stands still.
#[derive(Clone)]
struct StoppedClock(Arc<Mutex<Instant>>);

impl StoppedClock {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn move_on(&self, seconds: u64) {
        *self.0.lock().expect("is not poisoned") += Duration::from_secs(seconds);
    }

    fn llm(&self, provider: &FakeProvider, flags: &[&str]) -> Llm {
        let moment = Arc::clone(&self.0);
        llm_at(provider, flags, move || *moment.lock().expect("is not poisoned"))
    }
}

async fn failure(llm: &Llm, model: &str) -> Error {
    chat(llm, model, json!({})).await.expect_err("fails")
}

fn is_refusal(error: &Error, reason: Reason) -> bool {
    (error.code(), error.reason(), error.http_status()) == (Code::Model, Some(reason), 503)
}

#[tokio::test]
async fn each_provider_has_its_own_limit_of_concurrent_calls() {
    let provider = FakeProvider::start();
    let own = r#"llm.providers.small={kind = "openai", base_url = "URL", concurrency = 2}"#;
    let own = own.replace("URL", &provider.base_url());
    let llm = llm_with(&provider, &["llm.concurrency=1", &own]);
    provider.reply(Reply::Silence);
    let (first, asked) = (llm.clone(), llm.clone());
    let waiting = tokio::spawn(async move { chat(&first, "m", json!({})).await.map(|_| ()) });
    provider.wait_for_requests(1).await;
    let error = failure(&asked, "m").await;
    assert!(is_refusal(&error, Reason::Busy), "{error:?}");
    assert_eq!((&error.details()["limit"], &error.details()["retry_after"]), (&json!(1), &json!(1)));
    chat(&llm, "ollama/o", json!({})).await.expect("another provider is free");
    assert_eq!(provider.received().len(), 2, "the refused call was not sent");
    waiting.abort();
    provider.wait_for_disconnect().await;
    chat(&llm, "m", json!({})).await.expect("the slot is free again");

    provider.reply(Reply::Silence).reply(Reply::Silence);
    let waiting = [llm.clone(), llm.clone()]
        .map(|llm| tokio::spawn(async move { chat(&llm, "small/m", json!({})).await.map(|_| ()) }));
    provider.wait_for_requests(5).await;
    assert_eq!(failure(&llm, "small/m").await.details()["limit"], 2);
    for call in waiting {
        call.abort();
    }
}

#[tokio::test]
async fn a_streamed_answer_occupies_its_slot_until_it_is_dropped() {
    let provider = FakeProvider::start();
    let llm = llm_with(&provider, &["llm.concurrency=1"]);
    provider.reply(Reply::Hang(vec!["data: {\"choices\": []}\n\n".to_owned()]));
    let mut answer = stream(&llm, "m", json!({})).await.expect("begins");
    answer.next().await.expect("there is a piece").expect("is fine");
    assert!(is_refusal(&failure(&llm, "m").await, Reason::Busy));
    drop(answer);
    let pieces = stream(&llm, "m", json!({})).await.expect("the slot is free").into_pieces();
    assert!(is_refusal(&failure(&llm, "m").await, Reason::Busy), "however it is read");
    drop(pieces);
    chat(&llm, "m", json!({})).await.expect("the slot is free");
}

#[tokio::test]
async fn a_provider_that_fails_repeatedly_gets_no_calls_until_one_succeeds() {
    let (provider, clock) = (FakeProvider::start(), StoppedClock::new());
    let llm = clock.llm(&provider, &["llm.retries=", "llm.breaker_failures=3", "llm.breaker_pause=20s"]);
    for _ in 0..3 {
        provider.reply(Reply::status(500, "no"));
        assert_eq!(failure(&llm, "m").await.reason(), Some(Reason::Status));
    }
    let error = failure(&llm, "m").await;
    assert!(is_refusal(&error, Reason::Down), "{error:?}");
    assert_eq!((error.exit_code(), &error.details()["retry_after"]), (5, &json!(20)));
    let streamed = stream(&llm, "m", json!({})).await.expect_err("is refused too");
    assert!(is_refusal(&streamed, Reason::Down), "{streamed:?}");
    assert_eq!(provider.received().len(), 3, "the provider is left alone");
    chat(&llm, "ollama/o", json!({})).await.expect("another provider is not affected");

    clock.move_on(20);
    provider.reply(Reply::status(503, "still not"));
    assert_eq!(failure(&llm, "m").await.reason(), Some(Reason::Status), "one call is tried");
    assert!(is_refusal(&failure(&llm, "m").await, Reason::Down));
    clock.move_on(20);
    for _ in 0..3 {
        chat(&llm, "m", json!({})).await.expect("it answers again");
    }
}

#[tokio::test]
async fn a_rejected_request_is_no_failure_of_the_provider() {
    let (provider, clock) = (FakeProvider::start(), StoppedClock::new());
    let llm = clock.llm(&provider, &["llm.retries=", "llm.breaker_failures=2"]);
    for status in [500, 429, 500, 400, 500, 401, 500] {
        provider.reply(Reply::status(status, "no"));
        assert_eq!(failure(&llm, "m").await.reason(), Some(Reason::Status), "{status}");
    }
}

#[tokio::test]
async fn a_provider_that_is_gone_or_silent_is_suspended_for_as_long_as_it_asks() {
    let (provider, clock) = (FakeProvider::start(), StoppedClock::new());
    let flags = ["llm.retries=", "llm.breaker_failures=1", "llm.breaker_pause=5s"];
    let silent = FakeProvider::start();
    let hasty = clock.llm(&silent, &[&flags[..], &["llm.timeout=1ms"]].concat());
    silent.reply(Reply::Silence);
    assert_eq!(failure(&hasty, "m").await.reason(), Some(Reason::Timeout));
    assert_eq!(failure(&hasty, "m").await.reason(), Some(Reason::Down));

    let polite = clock.llm(&provider, &flags);
    let headers = vec![("retry-after".to_owned(), "60".to_owned())];
    provider.reply(Reply::Status { status: 503, headers, body: String::new() });
    assert_eq!(failure(&polite, "m").await.details()["retry_after"], 60);
    clock.move_on(30);
    assert_eq!(failure(&polite, "m").await.details()["retry_after"], 30);

    let gone = clock.llm(&provider, &flags);
    drop(provider);
    assert_eq!(failure(&gone, "m").await.reason(), Some(Reason::Connect));
    assert_eq!(failure(&gone, "m").await.reason(), Some(Reason::Down));
}

#[tokio::test]
async fn a_trial_that_nobody_waits_for_lets_the_next_call_try() {
    let (provider, clock) = (FakeProvider::start(), StoppedClock::new());
    let llm = clock.llm(&provider, &["llm.retries=", "llm.breaker_failures=1"]);
    provider.reply(Reply::status(500, "")).reply(Reply::Silence);
    failure(&llm, "m").await;
    clock.move_on(60);
    tokio::select! {
        _ = chat(&llm, "m", json!({})) => panic!("it never answers"),
        () = provider.wait_for_requests(2) => {}
    }
    chat(&llm, "m", json!({})).await.expect("is the next trial");
}
