//! Prompts of other formats: imported over HTTP, and exported.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use crate::support::{Daemon, Setup};

async fn import(daemon: &Daemon, body: Value) -> Value {
    let answered = daemon.as_owner("POST", "/api/import", &body).await;
    assert!(answered.status.is_success(), "{answered:?}");
    answered.json()
}

#[tokio::test]
async fn an_import_is_shown_before_it_is_written() {
    let daemon = Setup::new().start().await;
    let files = json!({
        "greet.prompt": "Hello {{name}}! {{>tail}} {{shout name}}",
        "_tail.prompt": "Bye.",
        "README.md": "read me",
        "bad.prompt": "{{#each x}}",
    });
    let trial = import(&daemon, json!({"files": files, "dry_run": true})).await;
    assert_eq!(
        trial["summary"],
        json!({"imported": 1, "with_losses": 1, "conflicts": 0, "unrecognised": 1, "failed": 1})
    );
    let prompt = &trial["prompts"][0];
    assert_eq!((&prompt["prompt_id"], &prompt["written"]), (&json!("greet"), &json!(false)));
    assert_eq!(prompt["files"][0]["path"], "template.md");
    assert_eq!(prompt["partials"][0], json!({"path": "partials/tail.md", "content": "Bye."}));
    assert_eq!((&prompt["losses"][0]["code"], &prompt["losses"][0]["line"]), (&json!("helper"), &json!(1)));
    assert_eq!(trial["unrecognised"], json!(["README.md"]));
    assert_eq!(trial["failed"][0]["error"]["code"], "render.syntax");
    assert!(!daemon.root().join("user_data").exists());

    let strict = import(&daemon, json!({"files": files, "strict": true})).await;
    assert_eq!((&strict["refused"], &strict["summary"]["imported"]), (&json!(true), &json!(0)));
    let simple = json!({"greet.prompt": "Hello {{name}}!"});
    let answered = daemon.as_owner("POST", "/api/import", &json!({"files": simple})).await;
    let written = answered.expect_status(201);
    assert_eq!(written["prompts"][0]["source"], "user_data/shared/prompts/greet");
    let body = json!({"variables": {"name": "Ada"}});
    let rendered = daemon.post("/api/render/prompts/greet", &body).await.expect_status(200);
    assert_eq!(rendered["rendered_prompt"], "Hello Ada!");
    let again = import(&daemon, json!({"files": simple})).await;
    assert_eq!((&again["prompts"][0]["conflict"], &again["summary"]["imported"]), (&json!(true), &json!(0)));
    let exported = daemon.get("/api/prompts/greet/export?to=dotprompt").await.expect_status(200);
    assert_eq!(
        (&exported["lossless"], &exported["files"][0]["path"]),
        (&json!(true), &json!("greet.prompt"))
    );
    assert!(exported["files"][0]["content"].as_str().is_some_and(|text| text.ends_with("Hello {{name}}!")));
}

#[tokio::test]
async fn wrong_imports_and_exports_are_errors() {
    let daemon = Setup::new().start().await;
    for bad in [
        json!({}),
        json!({"files": {}}),
        json!({"files": {"../x.prompt": "a"}}),
        json!({"files": {"/x.prompt": "a"}}),
        json!({"files": {"x.prompt": 1}}),
        json!({"files": {"x.prompt": "a"}, "format": "odd"}),
        json!({"files": {"x.prompt": "a", "y.prompt": "b"}, "as": "z"}),
        json!({"files": {"x.prompt": "a"}, "more": 1}),
    ] {
        let answered = daemon.as_owner("POST", "/api/import", &bad).await;
        assert_eq!(answered.status, 400, "{bad}: {answered:?}");
    }
    let place = json!({"files": {"x.prompt": "a"}, "in": "/etc"});
    assert_eq!(daemon.as_owner("POST", "/api/import", &place).await.status, 403);
    import(&daemon, json!({"files": {"x.prompt": "a"}})).await;
    for path in ["/api/prompts/x/export", "/api/prompts/x/export?to=odd", "/api/prompts/x/export?to=llm"] {
        assert_eq!(daemon.get(path).await.status, 400, "{path}");
    }
    assert_eq!(daemon.get("/api/prompts/unknown/export?to=skill").await.status, 404);
}

#[tokio::test]
async fn names_of_files_never_become_paths() {
    let daemon = Setup::new().start().await;
    let files = json!({
        "s/SKILL.md": "---\nname: s\ndescription: d\n---\nx",
        "s/prompt.py": "def pre_render(context): raise SystemExit",
        "s/prompt.yaml": "messages: []",
        "s/scripts/run.py": "print(1)",
    });
    let written = import(&daemon, json!({"files": files})).await;
    let paths: Vec<&str> = written["prompts"][0]["files"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|file| file["path"].as_str())
        .collect();
    assert_eq!(paths, ["template.md", "scripts/run.py"], "{written}");
    let rendered = daemon.post("/api/render/prompts/s", &json!({})).await.expect_status(200);
    assert_eq!(rendered["rendered_prompt"], "x");
    let langfuse = json!([{"name": "../../etc/passwd", "version": 1, "prompt": "x"}]).to_string();
    let written = import(&daemon, json!({"files": {"x.json": langfuse}})).await;
    assert_eq!(
        written["prompts"][0]["source"], "user_data/shared/prompts/prompt_prompt_etc_passwd",
        "{written}"
    );
}

/// The recorded cases, each imported over HTTP and rendered over HTTP.
#[tokio::test]
async fn recorded_files_give_the_same_over_http() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/exchange");
    let skips = fs::read_to_string(vectors.join("skips.toml")).unwrap_or_default();
    let daemon = Setup::new().start().await;
    let (mut count, mut wrong) = (0, Vec::new());
    for file in fs::read_dir(&vectors).expect("is there") {
        let path = file.expect("readable").path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("readable");
        let recorded: Value = serde_json::from_str(&text).expect("is JSON");
        for case in recorded["cases"].as_array().into_iter().flatten() {
            let id = case["id"].as_str().unwrap_or_default();
            let needs_more = case["format"] == "hf" || case.get("workspace").is_some();
            let is_skipped = skips.contains(&format!("\"{id}\""));
            // Other prompts of the same file would take other ids.
            if needs_more || is_skipped || case["format"] == "langfuse" {
                continue;
            }
            count += 1;
            let name = format!("case_{count}");
            if let Some(difference) = check_case(&daemon, case, &name).await {
                wrong.push(format!("{id}: {difference}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 250, "{count}");
}

/// What is not as recorded.
async fn check_case(daemon: &Daemon, case: &Value, name: &str) -> Option<String> {
    let format = case["format"].as_str().unwrap_or_default();
    let mut body = json!({"files": case["files"], "as": name});
    if matches!(format, "mustache" | "chevron" | "nunjucks") {
        body["format"] = format.into();
    }
    let imported = daemon.as_owner("POST", "/api/import", &body).await;
    let fails = case["expect"].get("error").is_some();
    let report = imported.json();
    if report["summary"]["imported"] != 1 {
        return (!fails).then(|| report.to_string());
    }
    let mut variables = case["variables"].as_object().cloned().unwrap_or_default();
    variables.extend(case["context"].as_object().cloned().unwrap_or_default());
    if let Some(history) = case.get("history") {
        variables.insert("history".to_owned(), history.clone());
    }
    let rendered =
        daemon.post(&format!("/api/render/prompts/{name}"), &json!({"variables": variables})).await;
    if !rendered.status.is_success() {
        return (!fails).then(|| rendered.text.clone());
    }
    let expected = match case["expect"].get("messages") {
        Some(messages) => messages.clone(),
        None => json!([{"role": "user", "content": case["expect"]["text"]}]),
    };
    let body = with_recorded_names(&rendered.json()["rendered_prompt"]);
    let found = if body.is_string() { json!([{"role": "user", "content": body}]) } else { body };
    (fails || found != expected).then(|| format!("{found} instead of {expected}"))
}

/// The names of fields that the cases use.
fn with_recorded_names(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(with_recorded_names).collect(),
        Value::Object(fields) => {
            let renamed = fields.iter().map(|(key, value)| {
                let key = if key == "media_type" { "mime_type" } else { key };
                (key.to_owned(), with_recorded_names(value))
            });
            Value::Object(renamed.collect::<Map<String, Value>>())
        }
        other => other.clone(),
    }
}
