//! Values that prompts take from the project, on the command line.
#![cfg(unix)]

use std::process::Command;

use serde_json::Value;

use crate::mcp_install::{Home, stderr, stdout};

fn git(home: &Home, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]).args(arguments);
    command.current_dir(home.path("project")).env("HOME", home.path("home"));
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
}

#[test]
fn explain_shows_that_a_value_is_the_diff_of_the_project() {
    let home = Home::new();
    home.write("project/lamp.rs", "fn light() {}\n");
    git(&home, &["init", "--quiet"]);
    git(&home, &["add", "."]);
    git(&home, &["commit", "--quiet", "-m", "one"]);
    home.write("project/lamp.rs", "fn light() {}\nfn shade() {}\n");
    home.write(
        "prompts/user_data/shared/prompts/commit/prompt.yaml",
        "parameters: [{name: changes, source: diff, default: nothing}]\nmessages: [{role: user, content: \"{{ changes }}\"}]\n",
    );
    let explain =
        |more: &[&str]| home.run(&[&["explain", "commit", "--root", "../prompts", "--json"], more].concat());
    let untrusted = explain(&[]);
    let found: Value = serde_json::from_str(&stdout(&untrusted)).expect("is JSON");
    assert!(found.to_string().contains("take no values from a project"), "{found}");
    assert!(!found.to_string().contains("shade"), "{found}");
    assert!(home.run(&["trust", "--root", "../prompts", "--yes"]).status.success());
    let trusted = explain(&[]);
    let found: Value =
        serde_json::from_str(&stdout(&trusted)).unwrap_or_else(|_| panic!("{}", stderr(&trusted)));
    let variables = found["trace"]["variables"].as_array().unwrap_or_else(|| panic!("{found:#}"));
    let changes = variables.iter().find(|one| one["name"] == "changes").expect("is read");
    assert_eq!(
        (&changes["layer"], &changes["origin"]),
        (&"project".into(), &"\"diff\"".into()),
        "{changes:#}"
    );
    assert!(changes["value"].as_str().is_some_and(|text| text.contains("+fn shade() {}")), "{changes:#}");
    let passed = stdout(&explain(&["changes=mine"]));
    assert!(passed.contains("mine") && !passed.contains("shade"), "{passed}");
}
