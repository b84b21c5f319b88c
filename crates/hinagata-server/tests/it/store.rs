//! Looking at and changing the store.

use std::sync::Arc;

use hinagata_store::{MemoryStore, RedisOptions, RedisStore};
use serde_json::json;

use crate::support::{Daemon, LONG, Setup, send};

#[path = "../../../hinagata-store/tests/it/support/mod.rs"]
#[expect(dead_code, reason = "the tests of the store use the rest")]
mod servers;

#[tokio::test]
async fn documents_are_written_read_and_deleted() {
    let daemon = Daemon::start().await;
    let tool =
        json!({"name": "find", "module": "files", "type": "restful", "url": "http://127.0.0.1:1/find"});
    let extension = json!({"name": "ext", "extensionType": "prompt", "version": "1.0.0", "publisher": "p",
        "contributes": {"prompts": [{"name": "hi", "prompt": "Hi {{.variables.who}}"}]}});
    for (path, value) in [
        ("/api/environs/team.name", json!("Blue")),
        ("/api/environs/list", json!([1, {"a": null}])),
        ("/api/templates/mine", json!({"name": "mine", "prompt": "x{{.team.name}}"})),
        ("/api/tools/files.find", tool),
        ("/api/extensions/ext", extension),
    ] {
        assert_eq!(send(daemon.request("PUT", path).body(value.to_string())).await.status, 401, "{path}");
        let put = daemon.as_owner("PUT", path, &value).await;
        assert_eq!(put.status, 204, "{put:?}");
        assert_eq!(daemon.get(path).await.expect_status(200), value, "{path}");
    }
    assert_eq!(daemon.get("/api/environs").await.expect_status(200), json!(["list", "team.name"]));
    assert_eq!(daemon.get("/api/environs/team").await.expect_status(200), json!({"name": "Blue"}));
    let rendered = daemon.post("/api/render/prompts/mine", &json!({})).await.expect_status(200);
    assert_eq!(rendered["rendered_prompt"], "xBlue");
    let rendered = daemon.post("/api/render/prompts/ext.hi", &json!({"variables": {"who": "you"}})).await;
    assert_eq!(rendered.expect_status(200)["rendered_prompt"], "Hi you");
    assert_eq!(daemon.get("/api/prompts/ext.hi").await.expect_status(200)["origin"], "extension");

    assert_eq!(daemon.as_owner("DELETE", "/api/environs/team.name", &json!({})).await.status, 204);
    assert_eq!(daemon.get("/api/environs/team.name").await.status, 404);
    assert_eq!(daemon.as_owner("DELETE", "/api/environs/team.name", &json!({})).await.status, 404);
}

#[tokio::test]
async fn invalid_documents_are_not_written() {
    let daemon = Daemon::start().await;
    for (path, value) in [
        ("/api/templates/bad", json!({"name": "bad", "prompt": "{{.x"})),
        ("/api/tools/bad", json!({"type": "restful"})),
        ("/api/extensions/bad", json!([])),
        ("/api/environs/a..b", json!(1)),
    ] {
        let put = daemon.as_owner("PUT", path, &value).await;
        assert!(put.is_problem() && put.status.is_client_error(), "{path}: {put:?}");
        assert_eq!(daemon.get(path).await.status, 404, "{path}");
    }
    let bad = send(daemon.request("PUT", "/api/environs/a").bearer_auth(&daemon.token).body("{")).await;
    assert_eq!(bad.expect_status(400)["code"], "request");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_daemons_on_one_redis_share_changes() {
    let server = servers::Server::start(&[]);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let open = || RedisStore::open(&url, RedisOptions::default()).expect("redis answers");
    let one = Setup::new().store(Arc::new(open())).start().await;
    let other = Setup::new().store(Arc::new(open())).start().await;
    let mut events = crate::events::Listener::open(&other, None).await;
    assert_eq!(events.next().await.0, "hello");
    let put =
        one.as_owner("PUT", "/api/templates/shared", &json!({"name": "s", "prompt": "{{.word}}"})).await;
    assert_eq!(put.status, 204, "{put:?}");
    assert_eq!(one.as_owner("PUT", "/api/environs/word", &json!("live")).await.status, 204);
    tokio::time::timeout(LONG, async {
        // The notice of the environ is the last one.
        while !events.next().await.1["changed"].to_string().contains("environs") {}
    })
    .await
    .expect("the other daemon is notified");
    let rendered = other.post("/api/render/prompts/shared", &json!({})).await.expect_status(200);
    assert_eq!(rendered["rendered_prompt"], "live");
}

#[tokio::test]
async fn readiness_includes_the_store() {
    let daemon = Setup::new().store(Arc::new(MemoryStore::new("x:"))).start().await;
    assert_eq!(daemon.get("/healthz").await.expect_status(200)["status"], "ok");
    let ready = daemon.get("/readyz").await.expect_status(200);
    assert_eq!((&ready["status"], &ready["store"]["up"]), (&json!("ready"), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_redis_is_reported_and_its_last_snapshot_served() {
    let mut server = servers::Server::start(&[]);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let store = RedisStore::open(&url, RedisOptions::default()).expect("redis answers");
    let daemon = Setup::new().store(Arc::new(store)).start().await;
    let template = json!({"name": "s", "prompt": "still here"});
    assert_eq!(daemon.as_owner("PUT", "/api/templates/kept", &template).await.status, 204);
    let mut events = crate::events::Listener::open(&daemon, None).await;
    assert_eq!(events.next().await.0, "hello");
    server.kill();
    tokio::time::timeout(LONG, async { while events.next().await.0 != "health" {} })
        .await
        .expect("an event arrives");
    let ready = daemon.get("/readyz").await.expect_status(200);
    assert_eq!((&ready["status"], &ready["store"]["up"]), (&json!("degraded"), &json!(false)));
    assert_eq!(
        daemon.post("/api/render/prompts/kept", &json!({})).await.expect_status(200)["rendered_prompt"],
        "still here"
    );
    let metrics = daemon.get("/metrics").await;
    assert!(metrics.text.contains("hinagata_store_up 0"), "{}", metrics.text);
    let write = daemon.as_owner("PUT", "/api/environs/x", &json!(1)).await;
    assert_eq!(write.expect_status(503)["code"], "store");
}
