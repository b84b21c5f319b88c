//! `hina mcp doctor` against servers that work, hang, die and print rubbish.
#![cfg(unix)]

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};

use crate::{
    mcp_install::{Home, stderr, stdout},
    serve::Daemon,
};

fn checks(home: &Home, arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
    let output = home.run(&[&["mcp", "doctor", "--json"], arguments].concat());
    let checks = serde_json::from_str(&stdout(&output));
    (output.status.code(), checks.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output))))
}

/// The state and text of the first check of `subject`.
fn check(checks: &[Value], subject: &str) -> (String, String) {
    let found = checks.iter().find(|check| check["subject"] == subject);
    let text = |key: &str| found.and_then(|check| check[key].as_str()).unwrap_or_default().to_owned();
    (text("state"), format!("{} {}", text("text"), text("advice")))
}

/// A home whose Cursor starts `command`.
fn with_command(command: &Value) -> Home {
    let home = Home::new();
    home.write("home/.cursor/mcp.json", &json!({"mcpServers": {"prompts": command}}).to_string());
    home
}

fn script(home: &Home, text: &str) -> Value {
    let file = home.write("server.sh", &format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("changed");
    json!({"command": file})
}

fn with_script(text: &str) -> Home {
    let place = Home::new();
    let entry = script(&place, text);
    place.write("home/.cursor/mcp.json", &json!({"mcpServers": {"prompts": entry}}).to_string());
    place
}

#[test]
fn an_installed_entry_is_found_healthy_in_both_eras() {
    let home = Home::new();
    home.write("prompts/user_data/shared/prompts/greet/template.md", "Hello\n");
    let root = home.path("prompts").display().to_string();
    assert!(home.run(&["mcp", "install", "claude-code", "--root", &root, "--yes"]).status.success());
    let (code, checks) = checks(&home, &["claude-code"]);
    assert_eq!(code, Some(0), "{checks:#?}");
    for subject in ["entry", "command", "2026-07-28", "2025-11-25", "get", "prompts"] {
        assert_eq!(check(&checks, subject).0, "ok", "{subject}: {checks:#?}");
    }
    assert!(check(&checks, "2026-07-28").1.contains("first answer after"), "{checks:#?}");
    let text = stdout(&home.run(&["mcp", "doctor", "claude-code"]));
    assert!(
        text.starts_with("claude-code (user) `prompts`\n  ok       entry       ~/.claude.json: "),
        "{text}"
    );
}

#[test]
fn broken_prompts_short_names_and_second_entries_are_warnings() {
    let home = Home::new();
    home.write("prompts/user_data/shared/prompts/greet/template.md", "Hello\n");
    home.write("prompts/user_data/shared/prompts/broken/template.md", "{% if %}\n");
    home.write("prompts/user_data/shared/prompts/日本語/template.md", "Hello\n");
    let root = home.path("prompts").display().to_string();
    for name in ["one", "two"] {
        let arguments = ["mcp", "install", "gemini-cli", "--root", &root, "--yes", "--name", name];
        assert!(home.run(&arguments).status.success());
    }
    let (code, checks) = checks(&home, &["gemini-cli"]);
    assert_eq!(code, Some(0), "{checks:#?}");
    for (subject, text) in [("prompts", "`broken`"), ("names", "`日本語` as `p-"), ("duplicates", "`greet`")]
    {
        let (state, found) = check(&checks, subject);
        assert!(state == "warning" && found.contains(text), "{subject}: {checks:#?}");
    }
}

#[test]
fn commands_that_cannot_run_are_problems() {
    for (command, problem) in [
        (json!({"command": "/nowhere/hina", "args": ["mcp"]}), "does not exist"),
        (json!({"command": "hina-that-nobody-has"}), "is not in PATH"),
        (json!({"args": ["mcp"]}), "neither a command"),
        (json!({"command": "/etc/passwd"}), "is not executable"),
    ] {
        let (code, checks) = checks(&with_command(&command), &["cursor"]);
        assert_eq!(code, Some(1), "{checks:#?}");
        assert!(checks.iter().any(|check| check["text"].to_string().contains(problem)), "{checks:#?}");
        assert!(
            checks.iter().all(|check| check["state"] == "ok" || check["advice"].is_string()),
            "{checks:#?}"
        );
    }
}

#[test]
fn servers_that_hang_die_or_print_rubbish_are_named_and_do_not_block() {
    for (script, problem) in [
        ("exec sleep 1000", "no answer within 1 s"),
        ("sleep 1000 & sleep 1000", "no answer within 1 s"),
        ("echo no such workspace >&2; exit 3", "its standard error ends with: no such workspace"),
        ("echo 'Welcome to my server'; exec sleep 1000", "not a message: `Welcome to my server`"),
    ] {
        let (code, checks) = checks(&with_script(script), &["cursor", "--timeout", "1"]);
        assert_eq!(code, Some(1), "{checks:#?}");
        for era in ["2026-07-28", "2025-11-25"] {
            let (state, text) = check(&checks, era);
            assert!(state == "problem" && text.contains(problem), "{script}: {text}");
        }
    }
}

#[test]
fn missing_entries_broken_files_and_unset_variables_are_problems() {
    let home = Home::new();
    let (code, none) = checks(&home, &[]);
    assert_eq!((code, check(&none, "entry").0.as_str()), (Some(1), "problem"));
    home.write("home/.cursor/mcp.json", "{\n oops");
    let (code, broken) = checks(&home, &["cursor"]);
    assert!(code == Some(1) && check(&broken, "file").1.contains("mcp.json:2"), "{broken:#?}");
    let home = with_command(&json!({"url": "http://127.0.0.1:1/mcp", "headers": {"A": "${env:NO_KEY}"}}));
    let (code, unset) = checks(&home, &["cursor"]);
    assert!(code == Some(1) && check(&unset, "variables").1.contains("NO_KEY"), "{unset:#?}");
}

#[test]
fn a_daemon_is_reached_and_a_wrong_key_is_not_accepted() {
    let daemon = Daemon::start(|_| (), &["--listen", "127.0.0.1:0"]);
    let home = Home::new();
    let url = format!("http://{}/mcp", daemon.address);
    let call = |key: &str| {
        let arguments = ["mcp", "doctor", "--json", "--url", &url, "--key-env", "KEY"];
        let output = home.command(&arguments).env("KEY", key).output().expect("runs");
        let checks: Vec<Value> = serde_json::from_slice(&output.stdout).expect("is JSON");
        (output.status.code(), checks)
    };
    let (code, good) = call(&daemon.token);
    assert_eq!(code, Some(0), "{good:#?}");
    assert_eq!(check(&good, "2025-11-25").0, "ok");
    let (code, wrong) = call("wrong");
    assert_eq!(code, Some(1));
    assert!(check(&wrong, "2025-11-25").1.contains("the key was not accepted"), "{wrong:#?}");
    drop(daemon);
    let (code, gone) = call("any");
    assert!(
        code == Some(1) && check(&gone, "2026-07-28").1.contains("check that `hina serve` answers"),
        "{gone:#?}"
    );
}
