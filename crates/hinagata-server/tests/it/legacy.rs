//! Legacy routes beside the current ones, on the same prompts.

use hinagata::store::StoreKind;
use serde_json::{Value, json};

use crate::support::{Daemon, send};

async fn with_prompts() -> Daemon {
    let daemon = Daemon::start().await;
    let text = json!({"name": "greet", "prompt": "Hello {{.args.name}} of {{.team.name}}, {{.variables.name}}!",
        "parameters": [{"name": "must", "type": "string", "required": true}]});
    daemon.put(StoreKind::Template, "a.greet", text).await;
    let messages = json!({"name": "talk", "messages": [{"role": "user", "content": "{{.args.name}}"}]});
    daemon.put(StoreKind::Template, "a.talk", messages).await;
    daemon.put(StoreKind::Environ, "team.name", json!("Blue")).await;
    daemon
}

#[tokio::test]
async fn both_render_routes_render_the_same_prompt() {
    let daemon = with_prompts().await;
    let values = json!({"name": "Rumi", "must": "x"});
    let ours =
        daemon.post("/api/render/prompts/a.greet", &json!({"variables": values})).await.expect_status(200);
    assert_eq!(ours, json!({"rendered_prompt": "Hello Rumi of Blue, Rumi!", "status": "success"}));
    let second =
        daemon.post("/api/prompts/a.greet/render", &json!({"args": values})).await.expect_status(200);
    assert_eq!(second, json!({"kind": "prompt", "prompt": "Hello Rumi of Blue, Rumi!"}));

    let ours =
        daemon.post("/api/render/prompts/a.talk", &json!({"variables": values})).await.expect_status(200);
    assert_eq!(ours["rendered_prompt"], json!([{"role": "user", "content": "Rumi"}]));
    let second = daemon.post("/api/prompts/a.talk/render", &json!({"args": values})).await.expect_status(200);
    assert_eq!(second, json!({"kind": "messages", "messages": [{"role": "user", "content": "Rumi"}]}));
}

#[tokio::test]
async fn the_legacy_route_prints_undefined_variables() {
    let daemon = with_prompts().await;
    daemon.post("/api/render/prompts/a.greet", &json!({})).await.expect_status(400);
    let second = daemon.post("/api/prompts/a.greet/render", &json!({})).await.expect_status(200);
    assert_eq!(second["prompt"], "Hello <no value> of Blue, <no value>!");
}

#[tokio::test]
async fn the_legacy_route_accepts_lenient_bodies_and_encoded_ids() {
    let daemon = with_prompts().await;
    for (body, kind) in [
        ("{\"ARGS\": {\"name\": \"R\"}}", "text/plain"),
        ("{\"Args\": {\"name\": \"R\"}, \"more\": 1} ", "application/x-www-form-urlencoded"),
        ("null", "application/json"),
        ("{\"args\": null}", "application/xml"),
    ] {
        let request = daemon.request("POST", "/api/prompts/a%2Egreet/render");
        let answer = send(request.header("content-type", kind).body(body)).await;
        assert_eq!(answer.expect_status(200)["kind"], "prompt", "{body}");
    }
    for body in ["", "[]", "{", "{\"args\": []}"] {
        let answer = send(daemon.request("POST", "/api/prompts/a.greet/render").body(body)).await;
        assert_eq!(answer.expect_status(400)["code"], "400", "{body}");
    }
}

#[tokio::test]
async fn errors_have_the_format_of_their_route() {
    let daemon = with_prompts().await;
    let is_legacy = |body: &Value| body["success"] == json!(false) && body["message"].is_string();
    let second = daemon.post("/api/prompts/no.such/render", &json!({"args": {}})).await.expect_status(404);
    assert!(is_legacy(&second) && second["code"] == "404", "{second}");
    let ours = daemon.post("/api/render/prompts/no.such", &json!({})).await;
    assert!(ours.is_problem() && ours.expect_status(404)["code"] == "not_found", "{ours:?}");
    for path in ["/api/prompts/no.such", "/api/environs/none", "/api/tools/none", "/api/extensions/none"] {
        let shared = daemon.get(path).await.expect_status(404);
        assert!(is_legacy(&shared), "{shared}");
        let asked = daemon.get_with_problem(path).await;
        assert!(asked.is_problem() && asked.expect_status(404)["code"] == "not_found", "{asked:?}");
    }
}

#[tokio::test]
async fn defaults_of_parameters_are_in_variables_and_args() {
    let daemon = Daemon::start().await;
    let template = json!({"name": "d", "prompt": "{{.variables.repo}} {{.args.repo}} {{.repo}}",
        "parameters": [{"name": "repo", "type": "string", "default": "dflt"}]});
    daemon.put(StoreKind::Template, "d", template).await;
    let ours = daemon.post("/api/render/prompts/d", &json!({})).await.expect_status(200);
    assert_eq!(ours["rendered_prompt"], "dflt dflt dflt");
    let second = daemon.post("/api/prompts/d/render", &json!({"args": {}})).await.expect_status(200);
    assert_eq!(second["prompt"], "dflt dflt dflt");
    let body = json!({"variables": {"repo": "mine"}});
    let passed = daemon.post("/api/render/prompts/d", &body).await.expect_status(200);
    assert_eq!(passed["rendered_prompt"], "mine mine mine");
}

#[tokio::test]
async fn a_failed_tool_is_in_the_warnings_of_the_legacy_route() {
    let daemon = Daemon::start().await;
    let tool =
        json!({"name": "find", "module": "files", "type": "restful", "url": "http://forbidden.example/"});
    daemon.put(StoreKind::Tool, "files.find", tool).await;
    daemon.put(StoreKind::Template, "u", json!({"name": "u", "prompt": "[{{files_find}}]"})).await;
    let rendered = daemon.post("/api/prompts/u/render", &json!({"args": {}})).await.expect_status(200);
    assert_eq!(rendered["warnings"][0]["about"], "tool files.find", "{rendered}");
}
