//! Stopping under load.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde_json::json;

use crate::support::{Setup, send};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_under_load_loses_no_request() {
    let mut daemon = Setup::new().set("server.linger=300ms").start().await;
    let (answered, stopping) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let mut callers = Vec::new();
    for _ in 0..8 {
        let (client, url) = (daemon.client.clone(), daemon.url.clone());
        let (answered, stopping) = (Arc::clone(&answered), Arc::clone(&stopping));
        callers.push(tokio::spawn(async move {
            let body = json!({"variables": {"agent_name": "Rumi"}}).to_string();
            loop {
                let request =
                    client.post(format!("{url}/api/render/prompts/general_system")).body(body.clone());
                match request.send().await {
                    Ok(response) => {
                        assert_eq!(response.status().as_u16(), 200);
                        assert!(response.text().await.expect("is whole").contains("Rumi"));
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                    // A daemon that is gone takes no connections; nothing was sent to it.
                    Err(error) => {
                        assert!(error.is_connect() && stopping.load(Ordering::Relaxed), "{error:?}");
                        return;
                    }
                }
            }
        }));
    }
    while answered.load(Ordering::Relaxed) < 200 {
        tokio::task::yield_now().await;
    }
    stopping.store(true, Ordering::Relaxed);
    daemon.begin_stop();
    daemon.stopped().await;
    for caller in callers {
        caller.await.expect("lost nothing");
    }
}

#[tokio::test]
async fn a_daemon_that_stops_is_not_ready() {
    let mut daemon = Setup::new().set("server.linger=2s").start().await;
    assert_eq!(daemon.get("/readyz").await.status, 200);
    daemon.begin_stop();
    // The word reaches the daemon a moment later.
    loop {
        let ready = send(daemon.request("GET", "/readyz")).await;
        if ready.status == 503 {
            assert_eq!(
                (ready.json()["status"].as_str(), ready.header("connection")),
                (Some("stopping"), "close")
            );
            break;
        }
        tokio::task::yield_now().await;
    }
    daemon.stopped().await;
}
