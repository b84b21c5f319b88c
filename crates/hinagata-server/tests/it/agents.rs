//! Packed contexts and calls to agents.

use fake_provider::{ANSWER, FakeProvider, Reply};
use hinagata::store::StoreKind;
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

#[tokio::test]
async fn an_agent_call_has_the_format_and_the_context_of_the_caller() {
    let daemon = daemon().await;
    let path = "/api/agents/manager/invoke";
    let body = json!({"prompt": "Look", "format": "anthropic", "model": "claude-x", "context": {"files": [
        {"path": "a.rs", "content": "fn a() {}"}]}});
    let invoked = daemon.as_owner("POST", path, &body).await.expect_status(200);
    assert_eq!(invoked["request"]["model"], "claude-x");
    let sent = invoked["request"]["messages"].to_string();
    assert!(sent.contains("fn a() {}") && !sent.contains("fn lamp()"), "{sent}");
    let given = [json!({"role": "user", "content": "The lamp is red."})];
    for context in [json!({"messages": given}), json!(given)] {
        let body = json!({"prompt": "Look", "format": "text", "context": context});
        let invoked = daemon.as_owner("POST", path, &body).await.expect_status(200);
        assert_eq!(invoked["text"], "You manage Blue.\n\nThe lamp is red.\n\nLook");
    }
    for wrong in [
        json!({"prompt": "Look", "format": "html"}),
        json!({"prompt": "Look", "context": {"texts": "x"}}),
        json!({"prompt": "Look", "history": [{"role": "nobody"}]}),
    ] {
        daemon.as_owner("POST", path, &wrong).await.expect_status(400);
    }
}

#[tokio::test]
async fn a_model_answers_as_an_agent_and_calls_no_tool_that_is_not_allowed() {
    let provider = FakeProvider::start();
    let daemon = Setup::new()
        .file("hinagata.toml", CONFIG)
        .variable("OPENAI_BASE_URL", &provider.base_url())
        .variable("OPENAI_API_KEY", "sk-1")
        .start()
        .await;
    let tool = json!({"url": "https://tools.test/look", "parameters": {"type": "object", "properties": {}}});
    daemon.put(StoreKind::Tool, "house.look", tool).await;
    let function = json!({"name": "house_look", "arguments": "{}"});
    let call = json!({"id": "c1", "type": "function", "function": function});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    provider.reply(Reply::Json(json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]})));
    let path = "/api/agents/manager/chat";
    let body = json!({"prompt": "Look", "model": "m", "temperature": 0, "context": ""});
    assert_eq!(daemon.post(path, &body).await.status, 401);
    let answer = daemon.as_owner("POST", path, &body).await.expect_status(200);
    assert_eq!((&answer["choices"][0]["message"]["content"], &answer["steps"]), (&json!(ANSWER), &json!(2)));
    assert!(answer["warnings"].to_string().contains("`house.look` is not allowed"), "{answer}");
    let roles: Vec<&Value> =
        answer["messages"].as_array().into_iter().flatten().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let received = provider.received();
    assert_eq!(received[0].body["temperature"], 0);
    assert_eq!(received[0].body["tools"][0]["function"]["name"], "house_look");

    // The messages of a chat are the history of the next one.
    let next = json!({"prompt": "And?", "model": "m", "context": "", "history": answer["messages"]});
    daemon.as_owner("POST", path, &next).await.expect_status(200);
    let sent = &provider.received()[2].body["messages"];
    assert_eq!(sent.as_array().map(Vec::len), Some(6));
    assert_eq!(sent[2]["tool_calls"][0]["id"], "c1");
    for wrong in [json!({"stream": true}), json!({"schema": true}), json!({"schema": {"type": 3}})] {
        let mut body = json!({"prompt": "Look", "model": "m"});
        body.as_object_mut().expect("is an object").extend(wrong.as_object().cloned().unwrap_or_default());
        daemon.as_owner("POST", path, &body).await.expect_status(400);
    }
}

#[tokio::test]
async fn the_agents_of_settings_and_files_are_listed() {
    let daemon = Setup::new()
        .file("hinagata.toml", CONFIG)
        .file("user_data/shared/agents/keeper/agent.json", "{\"prompt\": \"You keep the lamp.\"}")
        .start()
        .await;
    let listed = daemon.get("/api/agents").await.expect_status(200);
    let wanted = json!({"agents": [
        {"agent_id": "keeper", "origin": "file"},
        {"agent_id": "manager", "origin": "settings"},
    ]});
    assert_eq!(listed, wanted);
}
