//! What is wrong with prompts and documents, and conditional writes.

use hinagata::store::StoreKind;
use serde_json::{Value, json};

use crate::support::{Answered, Daemon, Setup, send};

/// An extension that needs another one, which the store does not have.
fn dependent_extension() -> Value {
    json!({"name": "team", "extensionType": "prompt", "version": "1.0.0", "publisher": "p",
    "contributes": {
        "prompts": [{"name": "quality", "prompt": "x"}],
        "dependences": [{"name": "scan-gitrepo", "version": "^1.0.0"}],
    }})
}

#[tokio::test]
async fn a_written_extension_that_cannot_be_used_is_reported_everywhere() {
    let daemon = Daemon::start().await;
    let put = daemon.as_owner("PUT", "/api/extensions/team", &dependent_extension()).await.expect_status(200);
    let warning = &put["warnings"][0];
    assert_eq!((&warning["severity"], &warning["reason"]), (&json!("error"), &json!("dependence")), "{put}");
    assert_eq!(warning["prompts"], json!(["team.quality"]));
    let missing = daemon.post("/api/render/prompts/team.quality", &json!({})).await.expect_status(404);
    assert!(missing["detail"].as_str().is_some_and(|text| text.contains("scan-gitrepo")), "{missing}");
    assert_eq!(missing["reason"], "dependence");
    let found = daemon.get("/api/diagnostics").await.expect_status(200);
    let found = found.as_array().expect("is a list");
    let about = found.iter().find(|found| found["reason"] == "dependence").expect("is reported");
    assert!(about["source"].as_str().is_some_and(|source| source.starts_with("store:")), "{about}");
    assert!(about["hint"].is_string() && about["code"] == "not_found", "{about}");
    let none = daemon.get("/api/diagnostics?severity=warning").await.expect_status(200);
    assert!(!none.to_string().contains("scan-gitrepo"), "{none}");
    daemon.get("/api/diagnostics?severity=odd").await.expect_status(400);

    let needed = json!({"name": "scan-gitrepo", "extensionType": "prompt", "version": "1.2.0", "publisher": "p",
        "contributes": {"prompts": [{"name": "scan", "prompt": "x"}]}});
    assert_eq!(daemon.as_owner("PUT", "/api/extensions/scan-gitrepo", &needed).await.status, 204);
    daemon.post("/api/render/prompts/team.quality", &json!({})).await.expect_status(200);
    let found = daemon.get("/api/diagnostics").await.expect_status(200);
    assert!(!found.to_string().contains("dependence"), "{found}");
}

#[tokio::test]
async fn a_check_of_nothing_is_an_error_that_says_what_to_send() {
    let daemon = Daemon::start().await;
    for body in [json!({}), json!({"hints": true}), json!({"prompt_ids": [], "files": {}})] {
        let refused = daemon.post("/api/check", &body).await.expect_status(400);
        let hint = refused["hint"].as_str().unwrap_or_default();
        assert!(hint.contains("`text`, `files` or `prompt_ids`"), "{refused}");
    }
    let text = json!({"text": "{{ day|uper }}"});
    let found = daemon.post("/api/check", &text).await.expect_status(200);
    assert_eq!(found["findings"][0]["check"], "name.filter", "{found}");
}

#[tokio::test]
async fn findings_include_broken_files_and_their_places() {
    let daemon = Setup::new()
        .file("user_data/shared/prompts/broken/prompt.yaml", "type: task\nprompt: [\n")
        .start()
        .await;
    let found = daemon.get("/api/diagnostics?severity=error").await.expect_status(200);
    let about = found.as_array().expect("is a list").iter();
    let about =
        about.filter(|found| found["source"].as_str().is_some_and(|source| source.contains("broken")));
    assert!(about.clone().count() > 0, "{found}");
    assert!(about.clone().all(|found| found["message"].is_string()), "{found}");
    assert!(about.clone().any(|found| found["place"]["line"].is_u64()), "{found}");
    assert!(!found.to_string().contains(&daemon.root().display().to_string()), "paths are relative: {found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_does_not_parse_is_listed_with_its_error() {
    let server = crate::store::servers::Server::start(&[]);
    server.set("shenma:templates:broken", r#"{"name": "broken", "prompt": "{{if .a}}"}"#);
    server.set("shenma:templates:whole", r#"{"name": "whole", "prompt": "x"}"#);
    let store = crate::store::servers::open(&server);
    let daemon = Setup::new().store(store).start().await;
    let listed = daemon.get("/api/prompts?view=full&limit=1000").await.expect_status(200);
    let error = |id: &str| {
        let mut all = listed.as_array().expect("is a list").iter();
        all.find(|entry| entry["prompt_id"] == id).expect("is listed")["error"].clone()
    };
    assert_eq!((&error("broken")["code"], &error("whole")), (&json!("render.syntax"), &json!(null)));
}

#[tokio::test]
async fn a_bound_key_sees_findings_of_its_prompts_only() {
    let read: &[&str] = &["read", "write"];
    let daemon = Setup::new().keys(&[("team", read, Some(&["team.*"])), ("all", read, None)]).start().await;
    let mut other = dependent_extension();
    other["name"] = json!("other");
    daemon.put(StoreKind::Extension, "other", other).await;
    let asked = async |key: &str, method: &str, path: &str, body: &Value| -> Answered {
        send(daemon.request(method, path).bearer_auth(format!("key-{key}")).body(body.to_string())).await
    };
    let put = asked("team", "PUT", "/api/extensions/team", &dependent_extension()).await.expect_status(200);
    assert_eq!(put["warnings"][0]["reason"], "dependence");
    assert!(!put.to_string().contains("scan-gitrepo"), "it learns nothing about others: {put}");
    let theirs = asked("team", "GET", "/api/diagnostics", &json!(null)).await.expect_status(200);
    assert_eq!(theirs.as_array().map(Vec::len), Some(1), "{theirs}");
    assert!(!theirs.to_string().contains("other") && !theirs.to_string().contains("scan"), "{theirs}");
    let hidden = asked("team", "GET", "/api/prompts/team.quality", &json!(null)).await;
    assert!(hidden.status == 404 && !hidden.text.contains("scan-gitrepo"), "{hidden:?}");
    let all = asked("all", "GET", "/api/diagnostics", &json!(null)).await.expect_status(200);
    assert!(all.to_string().contains("`other` needs"), "{all}");
}

#[tokio::test]
async fn a_conditional_write_changes_only_the_expected_document() {
    let daemon = Daemon::start().await;
    let path = "/api/environs/team.name";
    let write = async |method: &str, header: (&str, &str), body: Value| -> Answered {
        let request = daemon.request(method, path).bearer_auth(&daemon.token).header(header.0, header.1);
        send(request.body(body.to_string())).await
    };
    let missing = write("PUT", ("if-match", "*"), json!("Red")).await.expect_status(412);
    assert_eq!(missing["code"], "precondition");
    let created = write("PUT", ("if-none-match", "*"), json!("Blue")).await;
    assert_eq!(created.status, 204, "{created:?}");
    let tag = created.header("etag").to_owned();
    assert_eq!(daemon.get(path).await.header("etag"), tag, "both answers name the same version");
    write("PUT", ("if-none-match", "*"), json!("Red")).await.expect_status(412);
    let changed = write("PUT", ("if-match", &tag), json!("Green")).await;
    assert_eq!(changed.status, 204, "{changed:?}");
    let stale = write("PUT", ("if-match", &tag), json!("Red")).await.expect_status(412);
    assert_eq!(stale["etag"], changed.header("etag"));
    write("DELETE", ("if-match", &tag), json!(null)).await.expect_status(412);
    assert_eq!(daemon.get(path).await.expect_status(200), "Green");
    assert_eq!(write("DELETE", ("if-match", changed.header("etag")), json!(null)).await.status, 204);
    assert_eq!(daemon.get(path).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_writers_with_the_same_version_one_wins() {
    let daemon = Daemon::start().await;
    daemon.put(StoreKind::Environ, "n", json!(0)).await;
    let tag = daemon.get("/api/environs/n").await.header("etag").to_owned();
    let writers = (1..=8).map(|number| {
        let request = daemon.request("PUT", "/api/environs/n").bearer_auth(&daemon.token);
        tokio::spawn(send(request.header("if-match", &tag).body(number.to_string())))
    });
    let writers: Vec<_> = writers.collect();
    let mut written = 0;
    for writer in writers {
        match writer.await.expect("is answered").status.as_u16() {
            204 => written += 1,
            status => assert_eq!(status, 412),
        }
    }
    assert_eq!(written, 1);
}
