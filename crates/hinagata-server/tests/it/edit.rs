//! New, copied, renamed, deleted and drafted prompts.

use serde_json::{Value, json};

use crate::{
    files::PROMPTS,
    support::{Answered, Daemon, Setup, send},
};

fn workspace() -> Setup {
    Setup::new()
        .file(
            "user_data/shared/prompts/hello/template.md",
            "Hello {{ name }}!{% include 'partials/sign.md' %}",
        )
        .file("user_data/shared/prompts/partials/sign.md", " Yours")
        .file("user_data/shared/prompts/letter/template.md", "{% include \"hello/template.md\" %} hello")
}

async fn render(daemon: &Daemon, prompt: &str, variables: Value) -> Answered {
    daemon.post(&format!("/api/render/prompts/{prompt}"), &json!({"variables": variables})).await
}

#[tokio::test]
async fn a_new_prompt_comes_from_a_skeleton() {
    let daemon = workspace().keys(&[("writer", &["read", "render", "write"], None)]).start().await;
    for (form, file) in [
        ("simple", "template.md"),
        ("messages", "prompt.yaml"),
        ("module", "module.yaml"),
        ("full", "prompt.py"),
    ] {
        let body = json!({"prompt_id": format!("new_{form}"), "form": form});
        let made = daemon.as_owner("POST", "/api/prompts", &body).await.expect_status(201);
        assert_eq!(made["findings"], json!([]), "{made}");
        let source = format!("user_data/shared/prompts/new_{form}");
        assert_eq!(made["source"], source);
        assert!(daemon.root().join(&source).join(file).is_file());
        let again = daemon.as_owner("POST", "/api/prompts", &body).await.expect_status(409);
        assert_eq!(again["code"], "exists");
    }
    let as_writer = |body: Value| {
        send(daemon.request("POST", "/api/prompts").bearer_auth("key-writer").body(body.to_string()))
    };
    assert_eq!(as_writer(json!({"prompt_id": "mine"})).await.status, 201);
    assert_eq!(
        as_writer(json!({"prompt_id": "code", "form": "full"})).await.expect_status(403)["scope"],
        "admin"
    );
    for bad in [
        json!({}),
        json!({"prompt_id": "../x"}),
        json!({"prompt_id": "a.b"}),
        json!({"prompt_id": "a", "form": "odd"}),
    ] {
        assert_eq!(as_writer(bad.clone()).await.status, 400, "{bad}");
    }
    assert_eq!(as_writer(json!({"prompt_id": "a", "in": "user_data/packs"})).await.status, 403);
}

#[tokio::test]
async fn a_built_in_prompt_becomes_an_own_copy_that_is_chosen() {
    let daemon = workspace().start().await;
    let copied =
        daemon.as_owner("POST", "/api/prompts/general_system/copy", &json!({})).await.expect_status(201);
    let source = "user_data/shared/prompts/general_system";
    assert_eq!((&copied["source"], &copied["resolution"]), (&json!(source), &json!(source)));
    let candidates = daemon.get("/api/prompts/general_system/candidates").await.expect_status(200);
    let chosen: Vec<&Value> =
        candidates.as_array().expect("a list").iter().filter(|one| one["chosen"] == true).collect();
    assert_eq!(chosen.len(), 1);
    assert_eq!(chosen[0]["source"], source);
    let original = daemon.get("/api/files/ecosystem/default/prompts/general_system/template.md").await;
    let copy = daemon.get(&format!("/api/files/{source}/template.md")).await;
    assert_eq!((copy.header("etag"), copy.status), (original.header("etag"), original.status));
    assert_eq!(daemon.as_owner("POST", "/api/prompts/general_system/copy", &json!({})).await.status, 409);
    let other = daemon
        .as_owner("POST", "/api/prompts/hello/copy", &json!({"to": "hello_two"}))
        .await
        .expect_status(201);
    assert_eq!(other["resolution"], Value::Null);
    assert_eq!(
        render(&daemon, "hello_two", json!({"name": "A"})).await.expect_status(200)["rendered_prompt"],
        "Hello A! Yours"
    );
}

#[tokio::test]
async fn renaming_lists_what_names_a_prompt() {
    let daemon = workspace().start().await;
    let trial = daemon
        .as_owner("POST", "/api/prompts/hello/rename", &json!({"to": "hi", "dry_run": true}))
        .await
        .expect_status(200);
    assert_eq!(trial["moved"], false);
    assert_eq!(trial["references"].as_array().map(Vec::len), Some(1), "{trial}");
    assert_eq!(trial["references"][0]["file"], "user_data/shared/prompts/letter/template.md");
    assert_eq!((&trial["references"][0]["line"], &trial["references"][0]["column"]), (&json!(1), &json!(13)));
    assert_eq!(render(&daemon, "hello", json!({"name": "A"})).await.status, 200);
    let taken = daemon.as_owner("POST", "/api/prompts/hello/rename", &json!({"to": "letter"})).await;
    assert_eq!(taken.expect_status(409)["code"], "exists");
    let done =
        daemon.as_owner("POST", "/api/prompts/hello/rename", &json!({"to": "hi"})).await.expect_status(200);
    assert_eq!((&done["moved"], &done["new_source"]), (&json!(true), &json!("user_data/shared/prompts/hi")));
    assert_eq!(render(&daemon, "hello", json!({"name": "A"})).await.status, 404);
    assert_eq!(render(&daemon, "hi", json!({"name": "A"})).await.status, 200);
    let builtin = daemon.as_owner("POST", "/api/prompts/general_system/rename", &json!({"to": "x"})).await;
    assert_eq!(builtin.expect_status(403)["code"], "read_only");
}

#[tokio::test]
async fn a_deleted_prompt_comes_back_whole() {
    let daemon = workspace().file("user_data/shared/prompts/hello/examples/a.json", "{}").start().await;
    let deleted = daemon.as_owner("DELETE", "/api/prompts/hello", &json!({})).await.expect_status(200);
    assert_eq!(render(&daemon, "hello", json!({"name": "A"})).await.status, 404);
    assert!(!daemon.root().join("user_data/shared/prompts/hello").exists());
    let trash = send(daemon.request("GET", "/api/trash").bearer_auth(&daemon.token)).await.expect_status(200);
    let entry = &trash["entries"][0];
    assert_eq!(
        (&entry["prompt_id"], &entry["files"], &entry["kind"]),
        (&json!("hello"), &json!(2), &json!("prompt"))
    );
    let restore = format!("/api/trash/{}/restore", deleted["trash"].as_str().expect("an entry"));
    daemon.as_owner("POST", "/api/prompts", &json!({"prompt_id": "hello"})).await.expect_status(201);
    assert_eq!(daemon.as_owner("POST", &restore, &json!({})).await.status, 409);
    daemon.as_owner("DELETE", "/api/prompts/hello", &json!({})).await.expect_status(200);
    daemon.as_owner("POST", &restore, &json!({})).await.expect_status(200);
    assert_eq!(
        render(&daemon, "hello", json!({"name": "A"})).await.expect_status(200)["rendered_prompt"],
        "Hello A! Yours"
    );
    assert!(daemon.root().join("user_data/shared/prompts/hello/examples/a.json").is_file());
    assert_eq!(daemon.as_owner("DELETE", "/api/prompts/general_system", &json!({})).await.status, 403);
}

#[tokio::test]
async fn a_draft_is_explained_and_nothing_is_saved() {
    let daemon = workspace()
        .file("user_data/shared/prompts/hello/prompt.py", "REQUIRED_VARIABLES = ['name']\n")
        .keys(&[("writer", &["read", "render", "write"], None), ("reader", &["read", "render"], None)])
        .start()
        .await;
    let body = json!({
        "prompt_id": "hello",
        "files": {
            "user_data/shared/prompts/hello/template.md": "Bye {{ name }}{% include 'partials/sign.md' %}",
            "user_data/shared/prompts/partials/sign.md": " Mine",
            "user_data/shared/prompts/hello/prompt.py": "raise SystemExit",
        },
        "variables": {"name": "Ann"},
    });
    let as_key = |key: &str, body: &Value| {
        send(daemon.request("POST", "/api/draft").bearer_auth(format!("key-{key}")).body(body.to_string()))
    };
    let draft = as_key("writer", &body).await.expect_status(200);
    assert_eq!(draft["body"], "Bye Ann Mine", "{draft}");
    assert!(draft["map"].is_object() && draft["findings"].is_array());
    assert_eq!(draft["warnings"][0]["about"], "user_data/shared/prompts/hello/prompt.py", "{draft}");
    assert_eq!(as_key("reader", &body).await.status, 403);
    let saved = daemon.request("GET", &format!("{PROMPTS}/hello/template.md")).bearer_auth(&daemon.token);
    assert!(send(saved).await.text.starts_with("Hello"));
    let broken = json!({"prompt_id": "hello", "variables": {"name": "A"},
        "files": {"user_data/shared/prompts/hello/template.md": "a\nb {{ name"}});
    let problem = as_key("writer", &broken).await.expect_status(400);
    assert_eq!((&problem["code"], &problem["place"]["line"]), (&json!("render.syntax"), &json!(2)));
    // A prompt that exists only as a draft.
    let fresh = json!({"prompt_id": "fresh", "files": {"user_data/shared/prompts/fresh/template.md": "New"}});
    assert_eq!(as_key("writer", &fresh).await.expect_status(200)["body"], "New");
    let gone = json!({"prompt_id": "hello", "variables": {"name": "A"},
        "files": {"user_data/shared/prompts/partials/sign.md": null}});
    assert_eq!(as_key("writer", &gone).await.expect_status(500)["code"], "render.template_not_found");
    let chat = json!({"prompt_id": "hello", "variables": {"name": "A"}, "chat": {}});
    assert_eq!(as_key("writer", &chat).await.expect_status(403)["scope"], "chat");
    let builtin =
        json!({"prompt_id": "hello", "files": {"ecosystem/default/prompts/general_system/template.md": "x"}});
    assert_eq!(as_key("writer", &builtin).await.expect_status(403)["code"], "read_only");
    let outside = json!({"prompt_id": "hello", "files": {"hinagata.toml": "x"}});
    assert_eq!(as_key("writer", &outside).await.status, 404);
}

#[tokio::test]
async fn undo_brings_the_previous_choice_back() {
    let daemon = Setup::new()
        .file("hinagata.toml", "[catalog]\npaths = [\"one\", \"two\"]\n")
        .file("one/p/template.md", "1")
        .file("two/p/template.md", "2")
        .start()
        .await;
    let chosen = |candidates: &Value| -> Vec<String> {
        let all = candidates.as_array().expect("a list").iter().filter(|one| one["chosen"] == true);
        all.filter_map(|one| one["source"].as_str().map(str::to_owned)).collect()
    };
    let undo = "/api/prompts/p/resolution/undo";
    assert_eq!(daemon.as_owner("POST", undo, &json!({})).await.expect_status(409)["code"], "nothing_to_undo");
    for source in ["one/p", "two/p"] {
        let put = daemon.as_owner("PUT", "/api/prompts/p/resolution", &json!({"source": source})).await;
        assert_eq!(chosen(&put.expect_status(200)), [source]);
    }
    let undone = daemon.as_owner("POST", undo, &json!({})).await.expect_status(200);
    assert_eq!(chosen(&undone), ["one/p"]);
    assert_eq!(render(&daemon, "p", json!({})).await.expect_status(200)["rendered_prompt"], "1");
}

#[tokio::test]
async fn the_audit_log_names_what_was_changed() {
    let mut daemon = workspace().start().await;
    let path = daemon.directory.path().join("state/daemon/audit.jsonl");
    daemon.as_owner("POST", "/api/prompts", &json!({"prompt_id": "audited"})).await.expect_status(201);
    let renamed = daemon.as_owner("POST", "/api/prompts/audited/rename", &json!({"to": "renamed"})).await;
    renamed.expect_status(200);
    daemon.begin_stop();
    daemon.stopped().await;
    // The log is written by a thread; it is whole when the daemon is gone.
    let text = std::fs::read_to_string(&path).expect("is there");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    let names: Vec<&Value> = lines.iter().map(|line| &line["names"]).collect();
    assert_eq!(names, [&json!({"id": "audited"}), &json!({"id": "audited", "to": "renamed"})]);
}

#[tokio::test]
async fn a_source_has_colours_findings_and_completions() {
    let daemon = workspace().start().await;
    let path = "user_data/shared/prompts/hello/template.md";
    let text = "日 {{ name|upper }}{{ na";
    let body = json!({"path": path, "text": text, "units": "utf16", "offset": 23});
    let view = daemon.post("/api/source", &body).await.expect_status(200);
    let kinds: Vec<&str> =
        view["kinds"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let units: Vec<u16> = text.encode_utf16().collect();
    let tokens: Vec<(String, &str)> = view["tokens"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|token| {
            let number =
                |index: usize| token[index].as_u64().and_then(|n| usize::try_from(n).ok()).expect("a number");
            (String::from_utf16_lossy(&units[number(0)..number(0) + number(1)]), kinds[number(2)])
        })
        .collect();
    for expected in [("name", "variable"), ("upper", "filter"), ("{{", "tag"), ("na", "variable")] {
        assert!(tokens.contains(&(expected.0.to_owned(), expected.1)), "{expected:?}: {tokens:?}");
    }
    assert_eq!(
        (&view["kind"], view["findings"].as_array().map(Vec::len)),
        (&json!("jinja"), Some(1)),
        "{view}"
    );
    let completion = &view["completion"];
    assert_eq!((&completion["start"], &completion["end"]), (&json!(21), &json!(23)), "{view}");
    let labels = |view: &Value| -> Vec<String> {
        let items = view["completion"]["items"].as_array().cloned().unwrap_or_default();
        items.iter().filter_map(|item| item["label"].as_str().map(str::to_owned)).collect()
    };
    assert!(labels(&view).contains(&"name".to_owned()), "{view}");
    for (text, label) in [
        ("{{ x|up", "upper"),
        ("{% if x is def", "defined"),
        ("{% incl", "include"),
        ("{% include 'par", "partials/sign.md"),
    ] {
        let body = json!({"path": path, "text": text, "offset": text.len()});
        let view = daemon.post("/api/source", &body).await.expect_status(200);
        assert!(labels(&view).iter().any(|known| known == label), "{text}: {view}");
    }
    let yaml =
        daemon.post("/api/source", &json!({"kind": "yaml", "text": "a: [1\nb: 2"})).await.expect_status(200);
    assert_eq!(yaml["findings"][0]["severity"], "error", "{yaml}");
    let front = json!({"kind": "jinja", "text": "---\ntitle: x\n---\n{{ a }}\n{% if %}"});
    let front = daemon.post("/api/source", &front).await.expect_status(200);
    assert_eq!(front["findings"][0]["place"]["line"], 5, "{front}");
    assert_eq!(daemon.post("/api/source", &json!({"text": "x"})).await.status, 400);
}
