//! Changes as they happen.

use hinagata::store::StoreKind;
use serde_json::{Value, json};

use crate::support::{Daemon, LONG, Setup, write};

/// Somebody who listens.
pub(crate) struct Listener {
    response: reqwest::Response,
    waiting: String,
}

impl Listener {
    pub(crate) async fn open(daemon: &Daemon, key: Option<&str>) -> Self {
        let mut request = daemon.request("GET", "/api/events");
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        let response = request.send().await.expect("is answered");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, waiting: String::new() }
    }

    /// The next event; `end` when there is none.
    pub(crate) async fn next(&mut self) -> (String, Value) {
        loop {
            if let Some((event, rest)) = self.waiting.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|value| value.trim().to_owned())
                };
                let found = (field("event:"), field("data:"));
                self.waiting = rest.to_owned();
                if let (Some(name), Some(data)) = found {
                    return (name, serde_json::from_str(&data).expect("is JSON"));
                }
                continue;
            }
            let chunk = tokio::time::timeout(LONG, self.response.chunk()).await.expect("something comes");
            match chunk.ok().flatten() {
                Some(chunk) => self.waiting.push_str(&String::from_utf8_lossy(&chunk)),
                None => return ("end".to_owned(), Value::Null),
            }
        }
    }

    /// The next event called `name`.
    async fn wait(&mut self, name: &str) -> Value {
        loop {
            let (found, data) = self.next().await;
            assert_ne!(found, "end", "no {name} came");
            if found == name {
                return data;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_files_and_documents_are_events() {
    let daemon = Setup::new().file("user_data/shared/prompts/one/template.md", "1").start().await;
    let mut events = Listener::open(&daemon, None).await;
    assert_eq!(events.next().await.0, "hello");
    let prompts = daemon.root().join("user_data/shared/prompts");
    write(&prompts.join("two/template.md"), "2");
    assert_eq!(events.wait("prompts").await["added"], json!(["two"]));
    daemon.post("/api/render/prompts/two", &json!({})).await.expect_status(200);
    write(&prompts.join("one/template.md"), "another");
    assert_eq!(events.wait("prompts").await["changed"], json!(["one"]));
    std::fs::remove_dir_all(prompts.join("two")).expect("is removed");
    assert_eq!(events.wait("prompts").await["removed"], json!(["two"]));
    daemon.put(StoreKind::Environ, "a", json!(1)).await;
    assert_eq!(events.wait("store").await["changed"], json!(["environs"]));
    daemon.put(StoreKind::Template, "t", json!({"name": "t", "prompt": "x"})).await;
    assert_eq!(events.wait("prompts").await["added"], json!(["t"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restricted_key_receives_no_events_about_other_prompts() {
    let daemon = Setup::new().keys(&[("team", &["read"], Some(&["team.*"]))]).start().await;
    let mut events = Listener::open(&daemon, Some("key-team")).await;
    assert_eq!(events.next().await.0, "hello");
    daemon.put(StoreKind::Template, "other.x", json!({"name": "x", "prompt": "x"})).await;
    daemon.put(StoreKind::Template, "team.x", json!({"name": "x", "prompt": "x"})).await;
    assert_eq!(events.wait("prompts").await["added"], json!(["team.x"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_when_the_daemon_stops() {
    let mut daemon = Daemon::start().await;
    let mut events = Listener::open(&daemon, None).await;
    assert_eq!(events.next().await.0, "hello");
    daemon.begin_stop();
    assert_eq!(events.next().await.0, "end");
    daemon.stopped().await;
}
