//! `hina store` with a Redis whose contents others wrote.
#![cfg(unix)]

use std::process::{Command, Output};

use serde_json::Value;

use crate::serve::redis;

/// Runs `hina store` with the store at `port`.
fn store(port: u16, arguments: &[&str]) -> Output {
    let place = tempfile::tempdir().expect("a directory");
    Command::new(env!("CARGO_BIN_EXE_hina"))
        .args(["--set", &format!("store.url=redis://127.0.0.1:{port}"), "store"])
        .args(arguments)
        .current_dir(place.path())
        .env("HINAGATA_STATE", place.path().join("state"))
        .env("XDG_CONFIG_HOME", place.path().join("config"))
        .output()
        .expect("runs")
}

fn set(port: u16, key: &str, value: &str) {
    let set =
        Command::new("redis-cli").args(["-p", &port.to_string(), "set", key, value]).output().expect("runs");
    assert!(set.status.success(), "{set:?}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn an_export_without_a_broken_document_is_a_failure() {
    let server = redis::Server::start(&[]);
    set(server.port, "shenma:environs:team:name", "\"Blue\"");
    let whole = store(server.port, &["export"]);
    assert_eq!(whole.status.code(), Some(0), "{whole:?}");

    set(server.port, "shenma:environs:team:lead", "Ada");
    set(server.port, "shenma:templates:review", "[1]");
    let partial = store(server.port, &["export"]);
    assert_eq!(partial.status.code(), Some(1), "{partial:?}");
    assert_eq!(partial.stdout, whole.stdout, "the rest is exported");
    let said = text(&partial.stderr);
    for part in ["shenma:environs:team:lead", "shenma:templates:review", "2 invalid documents are left out"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json = store(server.port, &["--json", "export"]);
    let said = text(&json.stderr);
    let last: Value = serde_json::from_str(said.lines().last().expect("a line")).expect("is JSON");
    let keys = &last["error"]["details"]["keys"];
    assert_eq!(keys.as_array().map(Vec::len), Some(2), "{said}");
}

#[test]
fn an_import_reports_every_bad_document_and_writes_none() {
    let server = redis::Server::start(&[]);
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("store.json");
    let path = file.to_str().expect("is text");
    let bad = r#"{"environs": {"good": 1, "a..b": 2}, "templates": {"broken": {"prompt": "{{"}, "fine": {"prompt": "x"}},
        "tools": {"odd": 7}, "widgets": {}}"#;
    std::fs::write(&file, bad).expect("written");
    let refused = store(server.port, &["import", path]);
    assert!(!refused.status.success() && refused.stdout.is_empty(), "{refused:?}");
    let said = text(&refused.stderr);
    for part in [
        "`a..b` is not a valid id",
        "broken",
        "odd",
        "unknown kind of document `widgets`",
        "4 of 6 documents are invalid",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(text(&store(server.port, &["list"]).stdout), "", "nothing is written");

    let json = store(server.port, &["--json", "import", path]);
    let error: Value = serde_json::from_str(&text(&json.stderr)).expect("one object");
    let documents = error["error"]["details"]["documents"].as_array().expect("a list").clone();
    let mut names: Vec<&str> =
        documents.iter().map(|document| document["document"].as_str().expect("a name")).collect();
    names.sort_unstable();
    assert_eq!(names, ["environs a..b", "templates broken", "tools odd", "widgets"]);

    std::fs::write(&file, r#"{"environs": {"good": 1}}"#).expect("written");
    set(server.port, "shenma:environs:old", "1");
    let written = store(server.port, &["import", path, "--replace"]);
    assert_eq!(text(&written.stdout), "1 written, 1 deleted\n", "{written:?}");
    assert_eq!(text(&store(server.port, &["list"]).stdout), "environs\tgood\n");
}

#[test]
fn the_status_of_a_store_that_does_not_answer_is_a_failure() {
    let port = redis::free_port();
    let silent = store(port, &["status"]);
    assert_eq!(silent.status.code(), Some(5), "{silent:?}");
    assert!(text(&silent.stdout).contains("answers     no (unreachable): "), "{silent:?}");
    let json = store(port, &["--json", "status"]);
    let status: Value = serde_json::from_slice(&json.stdout).expect("is JSON");
    assert_eq!((json.status.code(), &status["up"]), (Some(5), &Value::Bool(false)));
    assert_eq!(status["reason"], "unreachable");
    let server = redis::Server::start(&[]);
    assert_eq!(store(server.port, &["status"]).status.code(), Some(0));
    let json = store(server.port, &["--json", "status"]);
    let status: Value = serde_json::from_slice(&json.stdout).expect("is JSON");
    assert_eq!((&status["up"], &status["reason"]), (&Value::Bool(true), &Value::Null));
    let locked = redis::Server::start(&["--requirepass", "secret"]);
    let refused = store(locked.port, &["status"]);
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    assert!(text(&refused.stdout).contains("answers     no (password): "), "{refused:?}");
}

/// A document of the store may have that name, but nobody can tell.
#[test]
fn a_prompt_that_a_silent_store_may_have_is_not_reported_as_missing() {
    let place = tempfile::tempdir().expect("a directory");
    let render = |port: u16| {
        Command::new(env!("CARGO_BIN_EXE_hina"))
            .args([
                "--json",
                "--set",
                &format!("store.url=redis://127.0.0.1:{port}"),
                "render",
                "team.review",
            ])
            .current_dir(place.path())
            .env("HINAGATA_STATE", place.path().join("state"))
            .env("XDG_CONFIG_HOME", place.path().join("config"))
            .output()
            .expect("runs")
    };
    let silent = render(redis::free_port());
    assert_eq!(silent.status.code(), Some(5), "{silent:?}");
    let said = text(&silent.stderr);
    assert!(said.contains("\"store\"") && said.contains("unreachable"), "{said}");
    let server = redis::Server::start(&[]);
    assert_eq!(render(server.port).status.code(), Some(3));
}
