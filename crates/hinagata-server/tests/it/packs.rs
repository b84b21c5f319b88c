//! Managing packs over HTTP.

use serde_json::json;

use crate::support::{Daemon, pack_archive, send};

/// A pack with one prompt.
fn archive(template: &str) -> Vec<u8> {
    let manifest = json!({"pack_id": "greetings", "version": "1.0.0", "name": "Greetings"}).to_string();
    pack_archive(&[("pack.json", &manifest), ("prompts/hello/template.md", template)])
}

async fn install(daemon: &Daemon, query: &str, bytes: Vec<u8>) -> crate::support::Answered {
    send(daemon.request("POST", &format!("/api/packs{query}")).bearer_auth(&daemon.token).body(bytes)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_is_installed_approved_changed_and_removed() {
    let daemon = Daemon::start().await;
    assert_eq!(daemon.get("/api/packs").await.expect_status(200), json!([]));
    let refused = send(daemon.request("POST", "/api/packs").body(archive("x"))).await;
    assert_eq!(refused.status, 401);
    let installed = install(&daemon, "", archive("Hello {{ who }}!")).await.expect_status(201);
    assert_eq!(installed["pack"]["pack_id"], "greetings", "{installed}");
    let listed = daemon.get("/api/packs").await.expect_status(200);
    assert_eq!(
        (&listed[0]["pack_id"], &listed[0]["state"]),
        (&json!("greetings"), &json!("pending")),
        "{listed}"
    );
    let render =
        async || daemon.post("/api/render/prompts/hello", &json!({"variables": {"who": "you"}})).await;
    assert!(render().await.status.is_client_error(), "nothing of it is used before it is approved");

    let shown = daemon.get("/api/packs/greetings").await.expect_status(200);
    let content = shown["content"].clone();
    let wrong = json!({"content": "0".repeat(64)});
    let approve = "/api/packs/greetings/approve";
    assert!(daemon.as_owner("POST", approve, &wrong).await.status.is_client_error());
    daemon.as_owner("POST", approve, &json!({"content": content})).await.expect_status(200);
    assert_eq!(render().await.expect_status(200)["rendered_prompt"], "Hello you!");

    assert_eq!(install(&daemon, "", archive("x")).await.expect_status(409)["code"], "conflict");
    install(&daemon, "?replace=true", archive("Changed")).await.expect_status(201);
    assert!(render().await.status.is_client_error(), "what changed has to be approved again");
    let verified = send(daemon.request("POST", "/api/packs/greetings/verify")).await.expect_status(200);
    assert!(verified["files"].as_array().is_some_and(|files| !files.is_empty()), "{verified}");
    daemon.as_owner("POST", "/api/packs/greetings/reject", &json!({})).await.expect_status(200);
    daemon.as_owner("DELETE", "/api/packs/greetings", &json!({})).await.expect_status(200);
    assert_eq!(daemon.get("/api/packs").await.expect_status(200), json!([]));
    assert_eq!(daemon.get("/api/packs/greetings").await.status, 404);
}

#[tokio::test]
async fn an_archive_that_is_not_a_pack_is_refused() {
    let daemon = Daemon::start().await;
    assert_eq!(install(&daemon, "", b"no archive".to_vec()).await.expect_status(400)["code"], "request");
    assert!(install(&daemon, "", vec![0x1f, 0x8b, 8, 0]).await.status.is_client_error());
    assert_eq!(install(&daemon, "?replce=true", archive("x")).await.status, 400);
    assert_eq!(daemon.get("/api/packs").await.expect_status(200), json!([]));
}
