//! Packed contexts and calls to agents.

use serde_json::{Value, json};

use crate::support::{Daemon, Setup};

const CONFIG: &str = "\
[context]
include = [\"src/**\"]

[agents.manager]
prompt = \"You manage {{ team }}.\"
variables = { team = \"Blue\" }
";

async fn daemon() -> Daemon {
    Setup::new()
        .file("hinagata.toml", CONFIG)
        .file("src/lamp.rs", "fn lamp() {}\n")
        .file("src/.env", "TOKEN=very-secret\n")
        .file("notes.md", "notes\n")
        .start()
        .await
}

#[tokio::test]
async fn packing_leaves_out_secrets_and_requires_a_key() {
    let daemon = daemon().await;
    let path = "/api/context/pack";
    assert_eq!(daemon.post(path, &json!({})).await.status, 401);
    let packed = daemon.as_owner("POST", path, &json!({})).await;
    let text = packed.expect_status(200)["text"].as_str().unwrap_or_default().to_owned();
    assert!(
        text.contains("fn lamp()") && !text.contains("notes") && !packed.text.contains("very-secret"),
        "{text}"
    );
    let notes = json!({"include": ["*.md"], "format": "markdown"});
    let text = daemon.as_owner("POST", path, &notes).await.expect_status(200)["text"].to_string();
    assert!(text.contains("## `notes.md`"), "{text}");
    for wrong in [
        json!({"include": ["../*"]}),
        json!({"include": ["/etc/*"]}),
        json!({"include": ["a/{..,b}/c"]}),
        json!({"include": "src"}),
        json!({"format": "html"}),
        json!({"max_bytes": -1}),
        json!({"incldue": []}),
    ] {
        let refused = daemon.as_owner("POST", path, &wrong).await;
        assert_eq!(refused.expect_status(400)["code"], "request", "{wrong}");
    }
}

#[tokio::test]
async fn an_agent_call_has_system_prompt_history_and_context() {
    let daemon = daemon().await;
    let path = "/api/agents/manager/invoke";
    let body = json!({"prompt": "Look at {{ this }}", "history": [{"role": "user", "content": "before"}]});
    assert_eq!(daemon.post(path, &body).await.status, 401);
    let invoked = daemon.as_owner("POST", path, &body).await.expect_status(200);
    assert_eq!(invoked["system"], "You manage Blue.");
    let roles: Vec<&str> = invoked["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(roles, ["system", "user", "user"]);
    let last = invoked["messages"][2]["content"].to_string();
    assert!(last.contains("Look at {{ this }}") && last.contains("fn lamp()"), "{last}");
    let none = daemon.as_owner("POST", "/api/agents/nobody/invoke", &body).await.expect_status(404);
    assert_eq!(none["code"], "not_found");
    let no_prompt: Value = daemon.as_owner("POST", path, &json!({})).await.expect_status(400);
    assert_eq!(no_prompt["code"], "request");
}
