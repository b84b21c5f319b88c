//! Looking at prompts, rendering them.

use std::time::Duration;

use hinagata::store::StoreKind;
use serde_json::json;

use crate::support::{Daemon, Setup, send};

#[tokio::test]
async fn a_built_in_prompt_renders_without_configuration() {
    let daemon = Daemon::start().await;
    let answer = daemon
        .post("/api/render/prompts/general_system", &json!({"variables": {"agent_name": "Rumi"}}))
        .await;
    let body = answer.expect_status(200);
    assert_eq!(body["status"], "success");
    assert!(body["rendered_prompt"].as_str().is_some_and(|text| text.starts_with("You are Rumi")), "{body}");
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn messages_are_rendered_as_a_list() {
    let daemon = Daemon::start().await;
    let prompt = json!({"name": "talk", "messages": [
        {"role": "system", "content": "You know {{.lang.name}}."},
        {"role": "user", "content": "{{.variables.question}}"},
    ]});
    daemon.put(StoreKind::Template, "team.talk", prompt).await;
    daemon.put(StoreKind::Environ, "lang.name", json!("Go")).await;
    let body =
        daemon.post("/api/render/prompts/team.talk", &json!({"variables": {"question": "Why?"}})).await;
    assert_eq!(
        body.expect_status(200)["rendered_prompt"],
        json!([{"role": "system", "content": "You know Go."}, {"role": "user", "content": "Why?"}])
    );
}

#[tokio::test]
async fn every_kind_of_failure_has_its_status_and_code() {
    let daemon = Setup::new()
        .file("user_data/shared/prompts/failing/template.md", "{{ [1][5].x.y }}")
        .file("user_data/shared/prompts/failing/prompt.yaml", "undefined: jinja\n")
        .file(
            "user_data/shared/prompts/endless/template.md",
            "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
        )
        .deadline(Duration::from_millis(20))
        .start()
        .await;
    daemon.put(StoreKind::Template, "gap", json!({"name": "gap", "prompt": "{{.no.such.thing}}"})).await;
    let two = json!({"name": "two", "prompt": "{{.variables.a}}", "parameters": [
        {"name": "a", "type": "string", "required": true}, {"name": "b", "type": "number", "required": true}]});
    daemon.put(StoreKind::Template, "two", two).await;
    let render = async |id: &str, variables: serde_json::Value| {
        daemon.post(&format!("/api/render/prompts/{id}"), &json!({"variables": variables})).await
    };

    let missing = render("two", json!({})).await;
    assert!(missing.is_problem());
    let missing = missing.expect_status(400);
    assert_eq!((&missing["code"], &missing["missing"]), (&json!("validation"), &json!(["a", "b"])));
    assert_eq!(missing["prompt_id"], "two");

    let wrong = render("two", json!({"a": "x", "b": "y"})).await.expect_status(400);
    assert_eq!(wrong["code"], "validation");

    let gap = render("gap", json!({})).await.expect_status(400);
    assert_eq!(gap["code"], "render.undefined");

    let none = render("genaral_system", json!({})).await.expect_status(404);
    assert_eq!((&none["code"], &none["near"]), (&json!("not_found"), &json!(["general_system"])));

    let failed = render("failing", json!({})).await;
    assert!(failed.status.is_server_error() || failed.status.is_client_error(), "{failed:?}");

    let slow = render("endless", json!({})).await;
    assert_eq!(slow.header("retry-after"), "1");
    assert_eq!(slow.expect_status(503)["code"], "deadline");

    for body in ["{", "[]", "{\"variables\": 1}", "{\"variabels\": {}}", "\"x\""] {
        let bad = send(daemon.request("POST", "/api/render/prompts/two").body(body)).await;
        assert!(bad.is_problem(), "{bad:?}");
        assert_eq!(bad.expect_status(400)["code"], "request", "{body}");
    }
}

#[tokio::test]
async fn a_template_with_a_syntax_error_in_the_body_is_a_client_error() {
    let daemon = Setup::new()
        .file("user_data/shared/prompts/broken/template.md", "first\n{% if x %}never ended")
        .start()
        .await;
    let problem = daemon.post("/api/render/prompts/broken", &json!({})).await.expect_status(400);
    assert_eq!(problem["code"], "render.syntax");
    assert!(
        problem["place"]["file"].as_str().is_some_and(|file| file.ends_with("broken/template.md")),
        "{problem}"
    );
}

#[tokio::test]
async fn a_conflict_lists_the_candidates_and_can_be_resolved() {
    let daemon = Setup::new()
        .file("user_data/shared/prompts/twin/template.md", "one")
        .file("more/twin/template.md", "other")
        .set("catalog.paths=more")
        .start()
        .await;
    let conflict = daemon.post("/api/render/prompts/twin", &json!({})).await.expect_status(409);
    assert_eq!(conflict["code"], "conflict");
    assert_eq!(conflict["candidates"].as_array().map(Vec::len), Some(2), "{conflict}");

    let candidates = daemon.get("/api/prompts/twin/candidates").await.expect_status(200);
    let source = candidates[1]["source"].clone();
    let path = "/api/prompts/twin/resolution";
    let refused = send(daemon.request("PUT", path).body(json!({"source": source}).to_string())).await;
    assert_eq!(refused.expect_status(401)["code"], "key");
    let settled = daemon.as_owner("PUT", path, &json!({"source": source})).await.expect_status(200);
    assert_eq!((&settled[0]["chosen"], &settled[1]["chosen"]), (&json!(false), &json!(true)));
    daemon.post("/api/render/prompts/twin", &json!({})).await.expect_status(200);

    assert_eq!(daemon.as_owner("DELETE", path, &json!({})).await.status, 204);
    daemon.post("/api/render/prompts/twin", &json!({})).await.expect_status(409);
    let unknown = daemon.as_owner("PUT", path, &json!({"source": "nowhere"})).await;
    assert!(unknown.status.is_client_error(), "{unknown:?}");
}

#[tokio::test]
async fn a_prompt_has_a_definition_candidates_and_an_explanation() {
    let daemon = Daemon::start().await;
    let one = daemon.get("/api/prompts/general_system").await.expect_status(200);
    assert_eq!((&one["origin"], &one["prompt_id"]), (&json!("builtin"), &json!("general_system")));
    let document = json!({"name": "x", "prompt": "{{.a}}", "supports": ["chat"], "odd": {"kept": true}});
    daemon.put(StoreKind::Template, "mine", document.clone()).await;
    let stored = daemon.get("/api/prompts/mine").await.expect_status(200);
    assert_eq!((&stored["origin"], &stored["prompt"]), (&json!("direct"), &document));

    let definition = daemon.get("/api/prompts/General-System/definition").await.expect_status(200);
    assert_eq!(definition["variables"]["required"], json!(["agent_name"]));

    let explained =
        daemon.get("/api/prompts/general_system/explain?agent_name=Rumi").await.expect_status(200);
    assert!(explained["trace"]["variables"].is_array(), "{explained}");
    let body = json!({"variables": {"agent_name": "Rumi"}});
    let posted = daemon.post("/api/prompts/general_system/explain", &body).await.expect_status(200);
    assert_eq!(posted["body"], explained["body"]);
    assert_eq!(posted["map"]["texts"][0]["text"], explained["body"], "the spans are of what is shown");
    let without = json!({"variables": {"agent_name": "Rumi"}, "map": false});
    let without = daemon.post("/api/prompts/general_system/explain", &without).await.expect_status(200);
    assert_eq!(without.get("map"), None);
    let units = |name: &str| json!({"variables": {"agent_name": "Rumi"}, "units": name});
    let counted =
        daemon.post("/api/prompts/general_system/explain", &units("utf16")).await.expect_status(200);
    assert_eq!(counted["map"]["units"], "utf16");
    daemon.post("/api/prompts/general_system/explain", &units("bytes")).await.expect_status(400);

    let validation = daemon.post("/api/prompts/general_system/validate", &json!({})).await.expect_status(200);
    assert_eq!((&validation["valid"], &validation["missing"]), (&json!(false), &json!(["agent_name"])));
    assert_eq!(
        daemon.post("/api/prompts/general_system/validate", &body).await.expect_status(200)["valid"],
        true
    );
}

#[tokio::test]
async fn a_caller_reads_no_files_but_those_of_the_workspace() {
    let daemon = Daemon::start().await;
    let render = async |path: &str| {
        let body = json!({"variables": {"agent_name": "R"}, "context": {"workspace_path": path}});
        daemon.post("/api/render/prompts/general_system", &body).await
    };
    std::fs::create_dir_all(daemon.root().join("inside")).expect("a directory");
    render("inside").await.expect_status(200);
    for path in ["/", "/etc", "..", "inside/../..", "nowhere"] {
        assert_eq!(render(path).await.expect_status(400)["reason"], "workspace_path", "{path}");
    }
}

#[tokio::test]
async fn modules_are_compiled_and_formatted() {
    let daemon = Daemon::start().await;
    let module = json!({"sections": {"objective": ["Summarize {{ topic }}"]}, "context": {"topic": {"type": "string"}}});
    let body = json!({"module": module, "variables": {"topic": "tea"}});
    let compiled = daemon.post("/api/modules/compile", &body).await.expect_status(200);
    assert!(compiled.to_string().contains("Summarize tea"), "{compiled}");
    let mut body = body;
    body["format"] = json!("openai");
    body["model"] = json!("gpt-x");
    let formatted = daemon.post("/api/modules/format", &body).await.expect_status(200);
    assert_eq!(formatted["request"]["model"], "gpt-x");
    assert!(formatted["request"]["messages"].is_array(), "{formatted}");
    body["format"] = json!("opnai");
    assert_eq!(daemon.post("/api/modules/format", &body).await.expect_status(400)["near"], json!(["openai"]));
    let wrong =
        daemon.post("/api/modules/compile", &json!({"module": {"sections": {"objektive": ["x"]}}})).await;
    assert!(wrong.is_problem(), "{wrong:?}");
    assert_eq!(daemon.post("/api/modules/compile", &json!({})).await.expect_status(400)["code"], "request");
}

#[tokio::test]
async fn model_options_and_undefined_values_of_modules_are_obeyed() {
    let daemon = Daemon::start().await;
    let module = json!({"model": "gpt-4o", "config": {"temperature": 0.2}, "undefined": "error",
        "context": {"topic": {"type": "string"}}, "sections": {"objective": ["Summarize {{ topic }}"]}});
    let mut body = json!({"module": module, "variables": {"topic": "tea"}, "format": "openai"});
    let formatted = daemon.post("/api/modules/format", &body).await.expect_status(200);
    assert_eq!(formatted["request"]["model"], "gpt-4o");
    assert_eq!(formatted["request"]["temperature"], 0.2);
    body["model"] = json!("gpt-x");
    let formatted = daemon.post("/api/modules/format", &body).await.expect_status(200);
    assert_eq!(formatted["request"]["model"], "gpt-x", "the call decides");
    body["variables"] = json!({});
    let undefined = daemon.post("/api/modules/format", &body).await.expect_status(400);
    assert_eq!(undefined["code"], "render.undefined", "{undefined}");
    body["module"]["limits"] = json!({"max_outputs": 3});
    body["variables"] = json!({"topic": "tea"});
    let formatted = daemon.post("/api/modules/format", &body).await.expect_status(200);
    assert_eq!(formatted["warnings"][0]["line"], 1, "{formatted}");
}

#[tokio::test]
async fn values_are_proposed_as_the_prompt_declares_them() {
    let definition = "\
parameters:
  country: {type: string, required: false, complete: [Norway, Finland]}
  city: {type: string, required: false, complete: {by: country, values: {Norway: [Oslo, Bergen], Finland: [Oulu]}}}
  mood: {type: string, required: false, schema: {type: string, enum: [calm, keen]}}
template: template.md
";
    let daemon = Setup::new()
        .file("user_data/shared/prompts/trip/prompt.yaml", definition)
        .file("user_data/shared/prompts/trip/template.md", "{{ city }} {{ country }} {{ mood }}\n")
        .start()
        .await;
    let path = "/api/prompts/trip/complete";
    for (asked, values) in [
        (json!({"parameter": "country"}), json!(["Norway", "Finland"])),
        (json!({"parameter": "country", "value": "f"}), json!(["Finland"])),
        (json!({"parameter": "city", "value": "O"}), json!(["Oslo", "Oulu"])),
        (json!({"parameter": "city", "variables": {"country": "Norway"}}), json!(["Oslo", "Bergen"])),
        (json!({"parameter": "mood", "variables": {"country": ["a"]}}), json!(["calm", "keen"])),
        (json!({"parameter": "country", "value": "x"}), json!([])),
    ] {
        let proposed = daemon.post(path, &asked).await.expect_status(200);
        assert_eq!(proposed["values"], values, "{asked}");
    }
    let unknown = daemon.post(path, &json!({"parameter": "citty"})).await.expect_status(404);
    assert_eq!(unknown["near"], json!(["city"]));
    assert_eq!(daemon.post(path, &json!({})).await.status, 400);
    assert_eq!(daemon.post("/api/prompts/none/complete", &json!({"parameter": "a"})).await.status, 404);
    let declared = daemon.get("/api/prompts/trip/definition").await.expect_status(200);
    assert_eq!(declared["parameters"][0]["complete"], json!(["Norway", "Finland"]));
}
