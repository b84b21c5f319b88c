//! Looking at and changing the store.

use std::sync::Arc;

use hinagata_store::{EmbeddedStore, MemoryStore, RedisOptions, RedisStore};
use serde_json::json;

use crate::support::{Daemon, LONG, Setup, send};

#[path = "../../../hinagata-store/tests/it/support/mod.rs"]
#[expect(dead_code, reason = "the tests of the store use the rest")]
pub(crate) mod servers;

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
    assert_eq!(ready["store"]["reason"], "unreachable");
    assert_eq!(
        daemon.post("/api/render/prompts/kept", &json!({})).await.expect_status(200)["rendered_prompt"],
        "still here"
    );
    let metrics = daemon.get("/metrics").await;
    assert!(metrics.text.contains("hinagata_store_up 0"), "{}", metrics.text);
    let write = daemon.as_owner("PUT", "/api/environs/x", &json!(1)).await;
    assert_eq!(write.expect_status(503)["code"], "store");
}

/// Waits until the daemon is ready.
async fn wait_until_ready(daemon: &Daemon) {
    let ready = async { while daemon.get("/readyz").await.status != 200 {} };
    tokio::time::timeout(LONG, ready).await.expect("the store is read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_never_read_is_unavailable_and_not_empty() {
    let port = servers::free_port();
    let store =
        RedisStore::open(&format!("redis://127.0.0.1:{port}"), servers::options()).expect("an address");
    let every: &[&str] = &["read", "render", "write"];
    let daemon = Setup::new()
        .store(Arc::new(store))
        .file("user_data/shared/prompts/own/template.md", "from a file")
        .keys(&[("all", every, None), ("bound", every, Some(&["team.*", "own"]))])
        .start()
        .await;
    let call = async |key: &str, method: &str, path: &str| {
        let request = daemon.request(method, path).bearer_auth(format!("key-{key}"));
        send(request.header("accept", "application/problem+json").body("{}")).await
    };
    let ready = daemon.get("/readyz").await.expect_status(503);
    assert_eq!((&ready["status"], &ready["store"]["reason"]), (&json!("waiting"), &json!("unreachable")));
    for (method, path) in [
        ("GET", "/api/environs"),
        ("GET", "/api/environs/team.name"),
        ("GET", "/api/environs/team.name?view=merged"),
        ("GET", "/api/templates"),
        ("GET", "/api/extensions/team"),
        ("GET", "/api/tools"),
        ("PUT", "/api/environs/team.name"),
        ("DELETE", "/api/environs/team.name"),
        ("GET", "/api/prompts/team.review"),
        ("POST", "/api/render/prompts/team.review"),
    ] {
        // The bound key may not write environs at all.
        for key in ["all", "bound"].into_iter().filter(|key| *key == "all" || method != "PUT") {
            let refused = call(key, method, path).await;
            let problem = refused.expect_status(503);
            assert_eq!(
                (&problem["code"], &problem["reason"]),
                (&json!("store"), &json!("unreachable")),
                "{path}"
            );
            assert_eq!(refused.header("retry-after"), "1", "{path}");
            assert!(key == "all" || !refused.text.contains(&port.to_string()), "{path}: {refused:?}");
        }
    }
    for key in ["all", "bound"] {
        let rendered = call(key, "POST", "/api/render/prompts/own").await.expect_status(200);
        assert_eq!(rendered["rendered_prompt"], "from a file");
    }
    call("all", "GET", "/api/prompts/general_system").await.expect_status(200);

    let _server = servers::Server::start_at(port, &[]);
    wait_until_ready(&daemon).await;
    assert_eq!(call("all", "GET", "/api/environs").await.expect_status(200), json!([]));
    call("all", "GET", "/api/environs/team.name").await.expect_status(404);
    call("all", "POST", "/api/render/prompts/team.review").await.expect_status(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_password_has_a_reason_of_its_own() {
    let server = servers::Server::start(&["--requirepass", "secret"]);
    let url = format!("redis://:wrong@127.0.0.1:{}", server.port);
    let store = RedisStore::open(&url, servers::options()).expect("an address");
    let daemon = Setup::new().store(Arc::new(store)).start().await;
    let ready = daemon.get("/readyz").await.expect_status(503);
    assert_eq!((&ready["status"], &ready["store"]["reason"]), (&json!("waiting"), &json!("password")));
}

#[tokio::test]
async fn an_environ_is_returned_as_stored_or_as_templates_see_it() {
    let daemon = Daemon::start().await;
    for (path, value) in [
        ("/api/environs/team", json!({"name": "Blue", "lead": "Ada"})),
        ("/api/environs/team.lead", json!("Grace")),
    ] {
        assert_eq!(daemon.as_owner("PUT", path, &value).await.status, 204);
    }
    let stored = json!({"name": "Blue", "lead": "Ada"});
    for path in ["/api/environs/team", "/api/environs/team?view=stored", "/api/environs/team?other=1"] {
        assert_eq!(daemon.get(path).await.expect_status(200), stored, "{path}");
    }
    let merged = daemon.get("/api/environs/team?view=merged").await;
    assert_eq!(merged.expect_status(200), json!({"name": "Blue", "lead": "Grace"}));
    assert_eq!(merged.header("etag"), "", "it is no version of a document");
    assert_eq!(daemon.get("/api/environs/team.lead?view=merged").await.expect_status(200), "Grace");
    daemon.get("/api/environs/none?view=merged").await.expect_status(404);
    daemon.get("/api/environs/team?view=odd").await.expect_status(400);
    let template = json!({"name": "t", "prompt": "{{.team.lead}}"});
    assert_eq!(daemon.as_owner("PUT", "/api/templates/t", &template).await.status, 204);
    let rendered = daemon.post("/api/render/prompts/t", &json!({})).await.expect_status(200);
    assert_eq!(rendered["rendered_prompt"], "Grace");
}

#[tokio::test]
async fn errors_name_no_directories_of_this_machine() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("root/user_data/store/store.redb");
    crate::support::write(&file, "not a database");
    let store = EmbeddedStore::open(place.path().join("root"), "shenma:");
    let daemon = Setup::new_in(place).store(Arc::new(store)).start().await;
    let refused = daemon.as_owner("PUT", "/api/environs/a", &json!(1)).await;
    assert_eq!(refused.expect_status(503)["path"], "user_data/store/store.redb", "{refused:?}");
    assert!(!refused.text.contains(&daemon.root().display().to_string()), "{refused:?}");
}

#[tokio::test]
async fn a_bad_document_is_not_about_variables() {
    let daemon = Daemon::start().await;
    let bad = daemon.as_owner("PUT", "/api/tools/bad", &json!({"type": "restful"})).await.expect_status(400);
    assert_eq!((&bad["code"], &bad["title"]), (&json!("validation"), &json!("Invalid input")));
    assert!(bad["schema_errors"].is_array(), "{bad}");
}
