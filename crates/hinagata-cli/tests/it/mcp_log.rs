//! What `hina mcp` writes to its log.
#![cfg(unix)]

use std::{fs, process::Stdio};

use serde_json::json;

use crate::mcp_install::{Home, stderr, stdout};

/// The answer and the log of a server that is asked for its prompts.
fn list_prompts(home: &Home, arguments: &[&str]) -> (String, String) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": {"_meta": meta}});
    let requests = home.write("requests.jsonl", &format!("{request}\n"));
    let mut command = home.command(&[&["mcp", "--root", "../prompts"], arguments].concat());
    command.stdin(Stdio::from(fs::File::open(requests).expect("opens")));
    let output = command.output().expect("runs");
    assert!(output.status.success(), "{}", stderr(&output));
    (stdout(&output), stderr(&output))
}

#[test]
fn a_prompt_that_is_left_out_is_logged_with_its_place() {
    let home = Home::new();
    let prompts = "prompts/user_data/shared/prompts";
    home.write(&format!("{prompts}/good/template.md"), "good");
    home.write(&format!("{prompts}/broken/template.md"), "one\n{% if %}\n");
    home.write(&format!("{prompts}/wrong/prompt.yaml"), "messages:\n  - role: user\n    content: [5]\n");
    let (listed, log) = list_prompts(&home, &[]);
    assert!(listed.contains("\"good\"") && !listed.contains("broken"), "{listed}");
    for (prompt, place) in [
        ("broken", "user_data/shared/prompts/broken/template.md:2:"),
        ("wrong", "user_data/shared/prompts/wrong/prompt.yaml:3:"),
    ] {
        let line = log.lines().find(|line| line.contains(&format!("prompt=\"{prompt}\"")));
        let line = line.unwrap_or_else(|| panic!("{prompt}: {log}"));
        assert!(line.contains("WARN") && line.contains(&format!("place={place}")), "{line}");
    }
}

#[test]
fn a_conflict_with_a_library_is_logged_with_both_candidates() {
    let home = Home::new();
    for directory in ["prompts", "library"] {
        home.write(&format!("{directory}/user_data/shared/prompts/greet/template.md"), directory);
    }
    home.write("library/user_data/shared/prompts/other/template.md", "other");
    let (listed, log) = list_prompts(&home, &["--set", "catalog.libraries=../library"]);
    assert!(listed.contains("\"other\"") && !listed.contains("greet"), "{listed}");
    let line = log.lines().find(|line| line.contains("prompt=\"greet\"")).unwrap_or_else(|| panic!("{log}"));
    let library = home.path("library").canonicalize().expect("is there").display().to_string();
    for candidate in ["\"user_data/shared/prompts/greet\"", &library] {
        assert!(line.contains(candidate), "{line}");
    }
}
