//! Who may do what: every route without a key, with a key of each scope, from a foreign page.

use hinagata::store::StoreKind;
use serde_json::{Value, json};

use crate::support::{Daemon, KeyOf, Setup, send};

/// Method, path and needed scope of every route that the OpenAPI document describes.
fn routes() -> Vec<(String, String, Option<String>)> {
    let document = hinagata_server::openapi_document();
    let mut all = Vec::new();
    for (path, operations) in document["paths"].as_object().expect("are paths") {
        for (method, operation) in operations.as_object().expect("are operations") {
            let scope = operation["x-scope"].as_str().map(str::to_owned);
            let path = path.replace("{id}", "general_system").replace("{pack}", "some_pack");
            all.push((method.to_uppercase(), path, scope));
        }
    }
    assert!(all.len() > 40, "the document describes everything");
    all
}

async fn status(
    daemon: &Daemon,
    method: &str,
    path: &str,
    change: impl Fn(reqwest::RequestBuilder) -> reqwest::RequestBuilder,
) -> u16 {
    // Only the head is waited for: some answers do not end.
    let request = change(daemon.request(method, path).header("accept", "application/problem+json"));
    let response = request.send().await.expect("is answered");
    let status = response.status().as_u16();
    // A route that admits the caller can refuse what the request is about: files of others, Python.
    let is_about_content = |problem: &Value| {
        problem["code"] == "read_only"
            || problem["detail"].as_str().is_some_and(|detail| detail.contains("Python"))
    };
    if status == 403 && response.json().await.is_ok_and(|problem| is_about_content(&problem)) {
        return 422;
    }
    status
}

const SCOPES: [&str; 5] = ["read", "render", "chat", "write", "admin"];

#[tokio::test]
async fn every_route_requires_its_scope() {
    let keys: Vec<KeyOf<'_>> =
        SCOPES.iter().map(|scope| (*scope, std::slice::from_ref(scope), None)).collect();
    let daemon = Setup::new().keys(&keys).start().await;
    for (method, path, needed) in routes() {
        let refused = |status: u16| matches!(status, 401 | 403);
        let Some(needed) = needed else {
            assert!(!refused(status(&daemon, &method, &path, |request| request).await), "{method} {path}");
            continue;
        };
        assert_eq!(
            status(&daemon, &method, &path, |request| request).await,
            401,
            "{method} {path} without a key"
        );
        let wrong = status(&daemon, &method, &path, |request| request.bearer_auth("key-nobody")).await;
        assert_eq!(wrong, 401, "{method} {path} with a wrong key");
        for scope in SCOPES {
            let got =
                status(&daemon, &method, &path, |request| request.bearer_auth(format!("key-{scope}"))).await;
            let expected = scope == needed || scope == "admin";
            assert_eq!(got == 403, !expected, "{method} {path} with {scope}: {got}");
            assert_ne!(got, 401, "{method} {path} with {scope}");
        }
    }
}

#[tokio::test]
async fn without_keys_only_reading_and_rendering_are_open() {
    let daemon = Daemon::start().await;
    for (method, path, needed) in routes() {
        let open = matches!(needed.as_deref(), None | Some("read" | "render"));
        let got = status(&daemon, &method, &path, |request| request).await;
        assert_eq!(got == 401, !open, "{method} {path}: {got}");
        let got = status(&daemon, &method, &path, |request| request.bearer_auth(&daemon.token)).await;
        assert!(!matches!(got, 401 | 403), "{method} {path} with the token: {got}");
    }
}

#[tokio::test]
async fn foreign_origins_and_hosts_are_refused_on_every_route() {
    let daemon = Setup::new().set("server.origins=https://ui.example").start().await;
    for (method, path, needed) in routes() {
        if needed.is_none() {
            continue;
        }
        let as_owner = |request: reqwest::RequestBuilder| request.bearer_auth(&daemon.token);
        let foreign = status(&daemon, &method, &path, |request| {
            as_owner(request).header("origin", "https://evil.example")
        });
        assert_eq!(foreign.await, 403, "{method} {path}");
        let rebound =
            status(&daemon, &method, &path, |request| as_owner(request).header("host", "evil.example:80"));
        assert_eq!(rebound.await, 403, "{method} {path}");
    }
    let own = send(daemon.request("GET", "/api/prompts").header("origin", "https://ui.example")).await;
    assert_eq!((own.status.as_u16(), own.header("access-control-allow-origin")), (200, "https://ui.example"));
    let asked = send(daemon.request("OPTIONS", "/api/prompts").header("origin", "https://ui.example")).await;
    assert_eq!(asked.header("access-control-allow-methods"), "GET, POST, HEAD, OPTIONS");
    let foreign =
        send(daemon.request("OPTIONS", "/api/prompts").header("origin", "https://evil.example")).await;
    assert_eq!(foreign.status, 403);
    assert_eq!(foreign.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn a_key_for_some_prompts_sees_no_others() {
    let all = ["read", "render", "chat", "write"];
    let daemon = Setup::new().keys(&[("team", &all, Some(&["team.*"])), ("all", &all, None)]).start().await;
    daemon.put(StoreKind::Template, "team.one", json!({"name": "one", "prompt": "1"})).await;
    daemon.put(StoreKind::Template, "other.two", json!({"name": "two", "prompt": "2"})).await;
    let extension = json!({"name": "other", "extensionType": "prompt", "version": "1.0.0", "publisher": "p",
        "contributes": {"prompts": [{"name": "three", "prompt": "3"}]}});
    daemon.put(StoreKind::Extension, "other", extension).await;
    let asked = async |key: &str, method: &str, path: &str, body: &Value| {
        send(daemon.request(method, path).bearer_auth(format!("key-{key}")).body(body.to_string())).await
    };
    let nothing = json!({});
    assert_eq!(asked("team", "GET", "/api/prompts", &nothing).await.expect_status(200), json!(["team.one"]));
    assert_eq!(
        asked("team", "GET", "/api/templates", &nothing).await.expect_status(200),
        json!(["team.one"])
    );
    assert_eq!(asked("team", "GET", "/api/extensions", &nothing).await.expect_status(200), json!([]));
    asked("team", "POST", "/api/render/prompts/team.one", &nothing).await.expect_status(200);
    for (method, path) in [
        ("POST", "/api/render/prompts/other.two"),
        ("POST", "/api/render/prompts/Other.Two"),
        ("POST", "/api/prompts/other.two/render"),
        ("POST", "/api/chat/prompts/other.two"),
        ("GET", "/api/prompts/other.two"),
        ("GET", "/api/prompts/general_system/definition"),
        ("GET", "/api/prompts/other.three/explain"),
        ("GET", "/api/templates/other.two"),
        ("GET", "/api/extensions/other"),
    ] {
        let got = asked("team", method, path, &nothing).await;
        assert_eq!(got.status, 404, "{method} {path}: {got:?}");
        assert!(!got.text.contains("conflict"), "{got:?}");
    }
    let template = json!({"name": "x", "prompt": "x"});
    assert_eq!(asked("team", "PUT", "/api/templates/other.two", &template).await.status, 403);
    assert_eq!(asked("team", "PUT", "/api/templates/team.new", &template).await.status, 204);
    assert_eq!(asked("team", "PUT", "/api/environs/x", &template).await.status, 403);
    assert_eq!(asked("all", "GET", "/api/prompts/other.two", &nothing).await.status, 200);
}

#[tokio::test]
async fn the_audit_log_records_calls_without_values() {
    let mut daemon = Setup::new().keys(&[("ci", &["render", "write"], None)]).start().await;
    daemon.put(StoreKind::Template, "greet", json!({"name": "g", "prompt": "{{.variables.who}}"})).await;
    let path = daemon.directory.path().join("state/daemon/audit.jsonl");
    let body = json!({"variables": {"who": "secret-value"}}).to_string();
    send(daemon.request("POST", "/api/render/prompts/greet").bearer_auth("key-ci").body(body))
        .await
        .expect_status(200);
    let put = daemon.request("PUT", "/api/environs/e").bearer_auth("key-ci").body("\"secret-value\"");
    assert_eq!(send(put).await.status, 204);
    send(daemon.request("DELETE", "/api/packs/p").bearer_auth("key-ci")).await.expect_status(403);
    daemon.begin_stop();
    daemon.stopped().await;
    drop(daemon.engine.clone());
    // The log is written by a thread; it is whole when the daemon is gone.
    let text = std::fs::read_to_string(&path).expect("is there");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    let recorded: Vec<(&str, &str, u64)> = lines
        .iter()
        .map(|line| {
            (
                line["who"].as_str().unwrap_or_default(),
                line["did"].as_str().unwrap_or_default(),
                line["status"].as_u64().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        recorded,
        [
            ("ci", "POST /api/render/prompts/{id}", 200),
            ("ci", "PUT /api/environs/{id}", 204),
            ("ci", "DELETE /api/packs/{pack}", 403),
        ]
    );
    assert_eq!(lines[0]["names"]["id"], "greet");
    assert!(!text.contains("secret-value") && !text.contains("key-ci"), "{text}");
}

#[tokio::test]
async fn health_shows_the_python_sandbox_to_callers_that_may_read() {
    let open = Daemon::start().await;
    assert_eq!(open.get("/healthz").await.expect_status(200)["sandbox"]["tier"], "A");
    let foreign = send(open.request("GET", "/healthz").header("origin", "https://evil.example")).await;
    assert_eq!(foreign.expect_status(200)["sandbox"], Value::Null);
    let daemon =
        Setup::new().keys(&[("reader", &["read"], None), ("writer", &["write"], None)]).start().await;
    for (key, is_shown) in
        [(None, false), (Some("wrong"), false), (Some("writer"), false), (Some("reader"), true)]
    {
        let request = daemon.request("GET", "/healthz");
        let request = key.iter().fold(request, |request, key| request.bearer_auth(format!("key-{key}")));
        let health = send(request).await.expect_status(200);
        assert_eq!(
            (health["status"].as_str(), health.get("sandbox").is_some()),
            (Some("ok"), is_shown),
            "{key:?}"
        );
    }
}

#[tokio::test]
async fn only_the_user_can_read_the_token_file_and_it_is_removed_at_the_end() {
    let mut daemon = Daemon::start().await;
    let port = daemon.url.rsplit(':').next().expect("has a port").to_owned();
    let path = daemon.directory.path().join(format!("state/daemon/token-{port}"));
    assert_eq!(std::fs::read_to_string(&path).expect("is there").trim(), daemon.token);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(path.metadata().expect("is there").permissions().mode() & 0o777, 0o600);
    }
    daemon.begin_stop();
    daemon.stopped().await;
    assert!(!path.exists());
}
