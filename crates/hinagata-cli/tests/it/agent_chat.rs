//! `hina agent chat` with a provider and a tool on this machine.

use std::{fs, path::Path, process::Command};

use fake_provider::{ANSWER, FakeProvider, Reply};
use serde_json::{Value, json};

use crate::tools::{printed_texts, serve, write};

/// A workspace with an agent, a file and the tool `loud.shout`.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    let root = place.path();
    write(
        root,
        "hinagata.toml",
        "[agents.manager]\nprompt = \"You manage lamps.\"\n[context]\ninclude = [\"*.md\"]\n",
    );
    write(root, "lamp.md", "A lamp.\n");
    write(root, "user_data/packs/loud/pack.json", r#"{"pack_id": "loud", "version": "1.0.0"}"#);
    write(
        root,
        "user_data/packs/loud/tools/shout.json",
        r#"{"url": "/shout", "description": "Shouts.",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}"#,
    );
    place
}

fn hina(root: &Path, provider: &FakeProvider, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
    command.current_dir(root).env("HINAGATA_STATE", root.join("state"));
    command.env("XDG_CONFIG_HOME", root.join("config")).env("HINAGATA_LLM_RETRIES", "");
    command.env("OPENAI_BASE_URL", provider.base_url()).env("OPENAI_API_KEY", "sk-1");
    command.env("ANTHROPIC_BASE_URL", provider.url()).env("ANTHROPIC_API_KEY", "sk-2");
    let output = command.args(arguments).output().expect("hina runs");
    let (text, talk) = printed_texts(&output);
    (output.status.code(), text, talk)
}

fn approve_tool(root: &Path, provider: &FakeProvider) -> String {
    assert_eq!(hina(root, provider, &["pack", "approve", "loud"]).0, Some(0));
    format!("tools.base_url=http://{}", serve())
}

fn tool_call_reply(arguments: &Value) -> Reply {
    let function = json!({"name": "loud_shout", "arguments": arguments.to_string()});
    let call = json!({"id": "c1", "type": "function", "function": function});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    Reply::Json(json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]}))
}

#[test]
fn a_session_keeps_the_conversation_without_the_context() {
    let (place, provider) = (place(), FakeProvider::start());
    let root = place.path();
    let call = ["agent", "chat", "manager", "Which lamps?", "--model", "m", "--session", "s.jsonl"];
    let (code, text, talk) = hina(root, &provider, &call);
    assert_eq!((code, text.trim_end()), (Some(0), ANSWER), "{talk}");
    let call = ["agent", "chat", "manager", "And now?", "--model", "m", "--session", "s.jsonl"];
    assert_eq!(hina(root, &provider, &call).0, Some(0));
    let asked = &provider.received()[1].body["messages"];
    assert_eq!(asked[0]["content"], "You manage lamps.");
    assert_eq!((&asked[1]["content"], &asked[2]["content"]), (&json!("Which lamps?"), &json!(ANSWER)));
    let last = asked[3]["content"].as_str().expect("is a text");
    assert!(last.starts_with("And now?") && last.contains("A lamp."), "{last}");
    let lines = fs::read_to_string(root.join("s.jsonl")).expect("is there");
    assert_eq!(lines.lines().count(), 4, "{lines}");
    assert!(!lines.contains("A lamp."), "each call packs its own context: {lines}");
}

#[test]
fn a_model_calls_the_tools_that_are_allowed_and_gets_their_results() {
    let (place, provider) = (place(), FakeProvider::start());
    let root = place.path();
    let address = approve_tool(root, &provider);
    provider.reply(tool_call_reply(&json!({"text": "hello"})));
    let call = ["--set", &address, "agent", "chat", "manager", "Shout", "--model", "m", "--allow", "loud.*"];
    let (code, text, talk) = hina(root, &provider, &call);
    assert_eq!((code, text.trim_end(), talk.as_str()), (Some(0), ANSWER, ""));
    let asked = provider.received();
    let tool = &asked[0].body["tools"][0]["function"];
    assert_eq!((&tool["name"], &tool["description"]), (&json!("loud_shout"), &json!("Shouts.")));
    let messages = asked[1].body["messages"].as_array().expect("is a list");
    let result = messages.last().expect("is there");
    assert_eq!((&result["role"], &result["tool_call_id"]), (&json!("tool"), &json!("c1")));
    assert!(result["content"].as_str().is_some_and(|text| text.contains("HELLO")), "{result}");

    // Nobody is there to confirm the call: the model is told, and the user.
    provider.reply(tool_call_reply(&json!({"text": "hello"})));
    let call = ["--set", &address, "agent", "chat", "manager", "Shout", "--model", "m"];
    let (code, _, talk) = hina(root, &provider, &call);
    assert_eq!(code, Some(0), "{talk}");
    assert!(talk.contains("the call of `loud.shout` is not allowed"), "{talk}");
    let told = provider.received()[3].body["messages"].to_string();
    assert!(told.contains("is not allowed") && !told.contains("HELLO"), "{told}");
}

#[test]
fn reasoning_with_its_signature_goes_back_to_its_provider() {
    let (place, provider) = (place(), FakeProvider::start());
    let root = place.path();
    let address = approve_tool(root, &provider);
    let content = json!([
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "I shout."},
        {"type": "tool_use", "id": "t1", "name": "loud_shout", "input": {"text": "hello"}},
    ]);
    let answer = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": content,
        "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    provider.reply(Reply::Json(answer));
    let call = [
        "--set",
        &address,
        "agent",
        "chat",
        "manager",
        "Shout",
        "--model",
        "anthropic/claude-x",
        "--allow",
        "loud.shout",
        "--session",
        "s.jsonl",
        "--json",
    ];
    let (code, text, talk) = hina(root, &provider, &call);
    assert_eq!(code, Some(0), "{talk}");
    let completion: Value = serde_json::from_str(&text).expect("is JSON");
    assert_eq!((&completion["steps"], completion["messages"].as_array().map(Vec::len)), (&json!(2), Some(4)));
    let messages = &provider.received()[1].body["messages"];
    assert_eq!(messages[1], json!({"role": "assistant", "content": content}));
    assert_eq!(messages[2]["content"][0]["tool_use_id"], "t1");
    let lines = fs::read_to_string(root.join("s.jsonl")).expect("is there");
    assert!(lines.contains("c2ln"), "{lines}");
}

#[test]
fn a_session_that_ended_in_a_call_or_in_a_line_goes_on() {
    let (place, provider) = (place(), FakeProvider::start());
    let root = place.path();
    let call = json!({"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let lines = [
        json!({"role": "user", "content": "Look"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    write(root, "s.jsonl", &format!("{text}{{\"role\": \"to"));
    let call = ["agent", "chat", "manager", "And?", "--model", "m", "--session", "s.jsonl"];
    let (code, _, talk) = hina(root, &provider, &call);
    assert_eq!(code, Some(0), "{talk}");
    assert!(talk.contains("the last line of `s.jsonl` is incomplete"), "{talk}");
    let messages = provider.received()[0].body["messages"].clone();
    assert_eq!((&messages[3]["role"], &messages[3]["tool_call_id"]), (&json!("tool"), &json!("c1")));
    let lines = fs::read_to_string(root.join("s.jsonl")).expect("is there");
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines}");

    write(root, "bad.jsonl", "{\"role\": \"user\", \"content\": \"a\"}\nnot JSON\n");
    let call = ["agent", "chat", "manager", "And?", "--model", "m", "--session", "bad.jsonl"];
    let (code, _, talk) = hina(root, &provider, &call);
    assert!(code == Some(2) && talk.contains("bad.jsonl:2: not a message"), "{code:?} {talk}");
}

#[test]
fn a_model_that_only_calls_tools_is_stopped() {
    let (place, provider) = (place(), FakeProvider::start());
    for _ in 0..3 {
        provider.reply(tool_call_reply(&json!({})));
    }
    let call = ["--set", "agent.max_steps=2", "agent", "chat", "manager", "Shout", "--model", "m"];
    let (code, _, talk) = hina(place.path(), &provider, &call);
    assert!(code == Some(5) && talk.contains("still calls tools after 2 answers"), "{code:?} {talk}");
    assert_eq!(provider.received().len(), 2);
}

#[test]
fn an_answer_follows_the_schema_or_the_call_fails() {
    let (place, provider) = (place(), FakeProvider::start());
    write(
        place.path(),
        "s.json",
        r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#,
    );
    let said = |text: &str| {
        Reply::Json(
            json!({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}),
        )
    };
    provider.reply(said("Here: {n: \"3\"}"));
    let call = ["agent", "chat", "manager", "Count", "--model", "m", "--schema", "s.json"];
    let (code, text, talk) = hina(place.path(), &provider, &call);
    assert_eq!((code, serde_json::from_str::<Value>(&text).ok()), (Some(0), Some(json!({"n": 3}))), "{talk}");
    provider.reply(said("none")).reply(said("{}"));
    let (code, _, talk) = hina(place.path(), &provider, &call);
    assert!(code == Some(1) && talk.contains('n'), "{code:?} {talk}");
}

#[test]
fn a_context_can_be_given_as_files_or_as_messages() {
    let (place, provider) = (place(), FakeProvider::start());
    let root = place.path();
    write(root, "files.json", r#"{"files": [{"path": "a.rs", "content": "fn a() {}"}]}"#);
    write(root, "messages.json", r#"[{"role": "user", "content": "The lamp is red."}]"#);
    let messages = |file: &str| {
        let (code, text, talk) = hina(root, &provider, &["agent", "invoke", "Go", "--context", file]);
        assert_eq!(code, Some(0), "{talk}");
        serde_json::from_str::<Value>(&text).expect("is JSON")
    };
    let last = messages("files.json")[1]["content"].to_string();
    assert!(
        last.contains("// File: a.rs") && last.contains("fn a() {}") && !last.contains("A lamp."),
        "{last}"
    );
    let given = messages("messages.json");
    assert_eq!((&given[1]["content"], &given[2]["content"]), (&json!("The lamp is red."), &json!("Go")));
}

#[test]
fn attached_files_have_the_marks_of_the_packed_ones() {
    let (place, provider) = (place(), FakeProvider::start());
    let root = place.path();
    let (packed, other) =
        ("ghp_A7bC9dE1fG3hI5jK7lM9nO1pQ3rS5tU7vW9x", "ghp_Z8yX6wV4uT2sR9qP7oN5mL3kJ1iH8gF6eD4c");
    write(root, "lamp.md", &format!("Its token is {packed}.\n"));
    write(root, "attached/a.txt", &format!("{other} and {packed}\n"));
    let file = json!({"type": "file", "file": {"path": "a.txt", "mime_type": "text/plain"}});
    write(root, "history.json", &json!([{"role": "user", "content": [file]}]).to_string());
    let call = [
        "agent",
        "chat",
        "manager",
        "Compare",
        "--model",
        "m",
        "--history",
        "history.json",
        "--files",
        "attached",
    ];
    let (code, _, talk) = hina(root, &provider, &call);
    assert_eq!(code, Some(0), "{talk}");
    let asked = provider.received()[0].body["messages"].to_string();
    let marks = asked.matches("«redacted:github-token»").count();
    assert_eq!((marks, asked.matches("«redacted:github-token-2»").count()), (2, 1), "{asked}");
}
