//! Reloading: keys and limits change while the daemon runs.

use hinagata::{Code, store::StoreKind};
use serde_json::{Value, json};

use crate::support::{Answered, Daemon, LONG, Setup, send, write};

fn key(name: &str) -> String {
    let hash = hinagata::Digest::sha256(format!("key-{name}").as_bytes());
    format!("[[keys]]\nname = \"{name}\"\nhash = \"sha256:{hash}\"\nscopes = [\"read\", \"render\"]\n")
}

async fn list_as(daemon: &Daemon, name: &str) -> Answered {
    send(daemon.request("GET", "/api/prompts").bearer_auth(format!("key-{name}"))).await
}

fn set_settings(daemon: &Daemon, text: &str) {
    write(&daemon.root().join("hinagata.toml"), text);
}

#[tokio::test]
async fn keys_change_without_a_restart() {
    let daemon = Setup::new().file("hinagata.toml", &key("old")).start().await;
    list_as(&daemon, "old").await.expect_status(200);
    let mut events =
        daemon.request("GET", "/api/events").bearer_auth("key-old").send().await.expect("streams");
    set_settings(&daemon, &key("new"));
    let refused = daemon.reloader.reload_workspace().await.expect_err("nobody trusts the change");
    assert_eq!(refused.code(), Code::Approval);
    list_as(&daemon, "old").await.expect_status(200);
    assert_eq!(list_as(&daemon, "new").await.status, 401);
    daemon.trust_settings();
    let reloaded = daemon.reloader.reload_workspace().await.expect("is trusted");
    assert_eq!((reloaded.keys, reloaded.needs_restart), (1, Vec::new()));
    assert_eq!(list_as(&daemon, "old").await.status, 401);
    list_as(&daemon, "new").await.expect_status(200);
    // The stream of a key that does not exist any more ends with the next event.
    daemon.put(StoreKind::Template, "t", json!({"name": "t", "prompt": "x"})).await;
    let ends = async { while let Ok(Some(_)) = events.chunk().await {} };
    tokio::time::timeout(LONG, ends).await.expect("ends");
}

#[tokio::test]
async fn a_broken_file_keeps_the_settings() {
    let daemon = Setup::new().file("hinagata.toml", &key("a")).start().await;
    for broken in ["[[keys", "[[keys]]\nname = \"a\"\n", "[serverr]\nrate = 1\n"] {
        set_settings(&daemon, broken);
        daemon.trust_settings();
        daemon.reloader.reload_workspace().await.expect_err(broken);
        list_as(&daemon, "a").await.expect_status(200);
        assert_eq!(daemon.get("/api/prompts").await.status, 401, "it does not open");
    }
}

#[tokio::test]
async fn limits_change_and_other_settings_are_named() {
    let daemon = Daemon::start().await;
    let rate = "[server]\nrate = 1\nthreads = 3\n[limits]\nsteps = 1000\n";
    set_settings(&daemon, rate);
    daemon.trust_settings();
    let reloaded = daemon.reloader.reload_workspace().await.expect("is trusted");
    assert_eq!(reloaded.needs_restart, ["limits.steps", "server.threads"]);
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(daemon.get("/api/prompts").await.status.as_u16());
    }
    assert!(statuses.contains(&429), "{statuses:?}");
    set_settings(&daemon, "");
    daemon.trust_settings();
    let reloaded = daemon.reloader.reload_workspace().await.expect("is trusted");
    assert!(reloaded.needs_restart.is_empty(), "all is as at the start: {reloaded:?}");
    for _ in 0..20 {
        let list: Value = daemon.get("/api/prompts").await.expect_status(200);
        assert!(list.is_array());
    }
}
