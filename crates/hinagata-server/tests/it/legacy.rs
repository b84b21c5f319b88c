//! Legacy routes beside the current ones, on the same prompts.

use fake_provider::FakeProvider;
use hinagata::store::StoreKind;
use hinagata_server::legacy_config::RAISED_LIMITS;
use serde_json::{Value, json};

use crate::support::{Daemon, Setup, send};

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

#[tokio::test]
async fn documents_of_the_store_have_the_ids_that_other_programs_gave_them() {
    let daemon = Daemon::start().await;
    for id in ["ext.2fa", "9start.1", "x-y.z+1", "team@home.größe"] {
        let path = encode(id);
        let document = json!({"name": id, "prompt": "Hello {{.args.name}} from {{.variables.name}}!"});
        let put = daemon.as_owner("PUT", &format!("/api/templates/{path}"), &document).await;
        assert!(put.status.is_success(), "{put:?}");
        let body = json!({"args": {"name": "Rumi"}});
        let second = daemon.post(&format!("/api/prompts/{path}/render"), &body).await.expect_status(200);
        assert_eq!(second["prompt"], "Hello Rumi from Rumi!", "{id}");
        let body = json!({"variables": {"name": "Rumi"}});
        daemon.post(&format!("/api/render/prompts/{path}"), &body).await.expect_status(200);
        daemon.get(&format!("/api/prompts/{path}")).await.expect_status(200);
        daemon.get(&format!("/api/templates/{path}")).await.expect_status(200);
    }
    let listed = daemon.get("/api/prompts").await.expect_status(200);
    for id in ["ext.2fa", "9start.1", "x_y.z+1", "team@home.größe"] {
        assert!(listed.as_array().expect("a list").contains(&json!(id)), "{id}: {listed}");
    }
    let extension = json!({"name": "2-factor", "contributes": {"prompts": [{"name": "1st", "prompt": "x"}]}});
    daemon.put(StoreKind::Extension, "2-factor", extension).await;
    daemon.post("/api/prompts/2-factor.1st/render", &json!({"args": {}})).await.expect_status(200);
    for invalid in ["a%2Fb", "..", "a..b", "9%07"] {
        let path = format!("/api/templates/{invalid}");
        let put = daemon.as_owner("PUT", &path, &json!({"name": "x", "prompt": "x"})).await;
        assert!(put.status.is_client_error(), "{invalid}: {put:?}");
    }
}

/// The id as a path segment.
fn encode(id: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    id.bytes().map(byte).collect()
}

#[tokio::test]
async fn an_unknown_role_is_passed_on() {
    let daemon = Daemon::start().await;
    let document = json!({"name": "w", "messages": [{"role": "weird", "content": "Hi {{.args.name}}"}]});
    let put = daemon.as_owner("PUT", "/api/templates/w", &document).await;
    assert!(put.status.is_success() && put.text.contains("unknown role `weird`"), "{put:?}");
    let expected = json!([{"role": "weird", "content": "Hi Rumi"}]);
    let body = json!({"args": {"name": "Rumi"}});
    let second = daemon.post("/api/prompts/w/render", &body).await.expect_status(200);
    assert_eq!(second["messages"], expected);
    let body = json!({"variables": {"name": "Rumi"}});
    let ours = daemon.post("/api/render/prompts/w", &body).await.expect_status(200);
    assert_eq!(ours["rendered_prompt"], expected);
    assert!(ours["warnings"].to_string().contains("unknown role"), "{ours}");
}

#[tokio::test]
async fn a_text_beside_messages_wins_unless_it_is_empty() {
    let daemon = Daemon::start().await;
    let messages = json!([{"role": "user", "content": "message"}]);
    let document = json!({"name": "both", "messages": messages, "prompt": "text", "supports": null});
    let put = daemon.as_owner("PUT", "/api/templates/both", &document).await;
    assert!(put.status.is_success() && put.text.contains("`messages` is ignored"), "{put:?}");
    let second = daemon.post("/api/prompts/both/render", &json!({"args": {}})).await.expect_status(200);
    assert_eq!(second, json!({"kind": "prompt", "prompt": "text"}));
    let empty = json!({"name": "empty", "messages": messages, "prompt": ""});
    daemon.put(StoreKind::Template, "empty", empty).await;
    let second = daemon.post("/api/prompts/empty/render", &json!({"args": {}})).await.expect_status(200);
    assert_eq!(second["messages"], messages);
}

#[tokio::test]
async fn a_path_with_a_slash_at_its_end_is_redirected() {
    let daemon = with_prompts().await;
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
    let client = client.expect("a client");
    let url = |path: &str| format!("{}{path}", daemon.url);
    let moved = client.get(url("/api/prompts/?q=greet")).send().await.expect("answers");
    assert_eq!(
        (moved.status().as_u16(), &moved.headers()["location"]),
        (301, &"/api/prompts?q=greet".parse().expect("text"))
    );
    let moved = client.post(url("/api/prompts/a%2Egreet/render/")).body("{}").send().await.expect("answers");
    assert_eq!(
        (moved.status().as_u16(), &moved.headers()["location"]),
        (307, &"/api/prompts/a%2Egreet/render".parse().expect("text"))
    );
    for path in ["/api/nothing/", "//example.com/", "/docs/"] {
        let unknown = client.get(url(path)).send().await.expect("answers");
        assert_eq!(unknown.status().as_u16(), 404, "{path}");
    }
    let rendered = daemon.post("/api/prompts/a.greet/render/", &json!({"args": {"name": "R"}})).await;
    assert_eq!(rendered.expect_status(200)["prompt"], "Hello R of Blue, R!");
}

#[tokio::test]
async fn a_declared_variable_with_the_name_of_the_tools_stays_a_variable() {
    let daemon = Daemon::start().await;
    let tool = json!({"name": "find", "module": "files", "type": "restful", "url": "http://files.example/"});
    daemon.put(StoreKind::Tool, "files.find", tool).await;
    let second =
        daemon.post("/api/prompts/coding_system/render", &json!({"args": {}})).await.expect_status(200);
    assert!(second["prompt"].as_str().is_some_and(|text| text.contains("software engineer")), "{second}");
    let tools = json!([{"name": "look", "description": "Looks"}]);
    let body = json!({"args": {"tools": tools, "agent_name": "A"}});
    let second = daemon.post("/api/prompts/coding_system/render", &body).await.expect_status(200);
    assert!(second["prompt"].as_str().is_some_and(|text| text.contains("look")), "{second}");
}

/// Chats in the legacy format without a key, and returns the status.
async fn chat_without_key(daemon: &Daemon, headers: &[(&str, &str)]) -> u16 {
    let request = daemon.request("POST", "/api/prompts/a.talk/chat").body("{\"model\": \"m\", \"args\": {}}");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    send(request).await.status.as_u16()
}

#[tokio::test]
async fn programs_on_this_machine_chat_without_a_key_if_the_settings_let_them() {
    let provider = FakeProvider::start();
    let setup = || {
        Setup::new()
            .variable("OPENAI_BASE_URL", &provider.base_url())
            .variable("OPENAI_API_KEY", "sk-x")
            .set("server.local_chat=true")
    };
    let document = json!({"name": "talk", "messages": [{"role": "user", "content": "Hi"}]});
    let start = async |setup: Setup| {
        let daemon = setup.start().await;
        daemon.put(StoreKind::Template, "a.talk", document.clone()).await;
        daemon
    };
    let daemon = start(setup()).await;
    assert_eq!(chat_without_key(&daemon, &[]).await, 200);
    let own = daemon.url.clone();
    for (headers, status) in [
        (&[("origin", "https://example.com")][..], 403),
        (&[("origin", "null")], 403),
        (&[("host", "rebound.example")], 403),
        (&[("origin", own.as_str())], 401),
        (&[("sec-fetch-site", "none")], 401),
        (&[("x-forwarded-for", "127.0.0.1")], 401),
        (&[("forwarded", "for=127.0.0.1")], 401),
        (&[("via", "1.1 proxy")], 401),
    ] {
        assert_eq!(chat_without_key(&daemon, headers).await, status, "{headers:?}");
    }
    let put = daemon.request("PUT", "/api/environs/a").body("1");
    assert_eq!(send(put).await.status.as_u16(), 401, "nothing else is open");

    let usual = start(setup().set("server.local_chat=false")).await;
    assert_eq!(chat_without_key(&usual, &[]).await, 401);
    let proxied = start(setup().set("server.trusted_proxies=127.0.0.0/8")).await;
    assert_eq!(chat_without_key(&proxied, &[]).await, 401, "also without a header");
    let with_keys = start(setup().keys(&[("a", &["read"], None)])).await;
    assert_eq!(chat_without_key(&with_keys, &[]).await, 401, "with keys, everybody needs one");
    assert_eq!(provider.received().len(), 1);
}

#[tokio::test]
async fn a_long_text_names_the_setting_that_limits_it() {
    let code = "x".repeat(60_000);
    let body = json!({"args": {"code": code}});
    let document = json!({"name": "review", "prompt": "{{.args.code}}"});
    let usual = Daemon::start().await;
    usual.put(StoreKind::Template, "review", document.clone()).await;
    let refused = usual.post("/api/prompts/review/render", &body).await;
    assert!(
        !refused.status.is_success() && refused.text.contains("`limits.max_output_size`"),
        "{}",
        refused.text
    );
    let raised = RAISED_LIMITS
        .into_iter()
        .fold(Setup::new(), |setup, (name, value)| setup.set(format!("{name}={value}")));
    let raised = raised.start().await;
    raised.put(StoreKind::Template, "review", document).await;
    raised.post("/api/prompts/review/render", &body).await.expect_status(200);
    let body = json!({"args": {"code": "\n".repeat(1_900_000), "more": "x".repeat(4 << 20)}});
    raised.post("/api/prompts/review/render", &body).await.expect_status(200);
}
