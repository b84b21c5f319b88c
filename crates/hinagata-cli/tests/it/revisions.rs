//! `hina diff`, `hina bisect` and `hina why` on a real repository.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::prompt_tests::{commit_all, git};

const PROMPT: &str = "user_data/shared/prompts/greeting";

fn run(root: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_hina"))
        .current_dir(root)
        .env("HINAGATA_STATE", root.join("../state"))
        .env("XDG_CONFIG_HOME", root.join("../config"))
        .env_remove("HINAGATA_ROOT")
        .args(arguments)
        .output()
        .expect("hina runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("has a code"), text(&output.stdout), text(&output.stderr))
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
    fs::write(path, text).expect("written");
}

/// A repository with a prompt, a partial and two cases.
fn repository() -> (tempfile::TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().join("work");
    write(&root, "hinagata.toml", "");
    write(&root, &format!("{PROMPT}/template.md"), "Dear {{ who }},\n{% include 'partials/tone.md' %}\n");
    write(&root, "user_data/shared/prompts/partials/tone.md", "Write plainly.\n");
    write(
        &root,
        &format!("{PROMPT}/tests/a.yaml"),
        "tests: [{name: Ada, vars: {who: Ada}, assert: [{contains: plainly}]}, {name: Bob, vars: {who: Bob}}]",
    );
    git(&root, &["init", "-q"]);
    (place, root)
}

#[test]
fn a_change_of_a_partial_shows_in_every_case() {
    let (_place, root) = repository();
    let first = commit_all(&root, "first");
    assert_eq!(run(&root, &["diff"]), (0, "0 of 2 cases differ\n".to_owned(), String::new()));
    write(&root, "user_data/shared/prompts/partials/tone.md", "Write in plain words.\n");
    let (code, text, errors) = run(&root, &["diff"]);
    assert_eq!(code, 1, "{errors}");
    for part in [
        "changed greeting: Ada\n",
        "changed greeting: Bob\n",
        "  @ line 2\n  - Write plainly.\n  + Write in plain words.\n",
        "    HEAD: user_data/shared/prompts/partials/tone.md:1 text\n",
        "    workspace: user_data/shared/prompts/partials/tone.md:1 text\n",
        "2 of 2 cases differ\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let second = commit_all(&root, "second");
    let (code, text, _) = run(&root, &["diff", &format!("{first}..{second}"), "--json"]);
    let report: Value = serde_json::from_str(&text).expect("is JSON");
    assert_eq!((code, report["changes"].as_array().map(Vec::len)), (1, Some(2)));
    assert_eq!(report["changes"][0]["hunks"][0]["new"][0], "Write in plain words.");
    let (_, text, _) = run(&root, &["diff", "HEAD~1..HEAD", "greeting", "--format", "markdown"]);
    assert!(text.contains("```diff\n@@ line 2 @@\n- Write plainly.\n+ Write in plain words.\n```"), "{text}");
    assert_eq!(run(&root, &["diff"]).0, 0, "the working directory was not touched");
    assert_eq!(run(&root, &["diff", "nobody"]).0, 2);
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
}

#[test]
fn added_removed_and_broken_prompts_are_named() {
    let (_place, root) = repository();
    write(&root, "user_data/shared/prompts/old/template.md", "{% if style %}x{% endif %}");
    commit_all(&root, "first");
    fs::remove_dir_all(root.join("user_data/shared/prompts/old")).expect("removed");
    write(&root, "user_data/shared/prompts/new/template.md", "x");
    write(&root, &format!("{PROMPT}/template.md"), "{% if %}");
    let (code, text, _) = run(&root, &["diff"]);
    assert_eq!(code, 1);
    for part in ["removed old\n", "added new\n", "broken greeting: Ada\n", "render.syntax"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn values_are_the_cause_of_changed_lines() {
    let (_place, root) = repository();
    let with_default = |default: &str| {
        format!("---\ninputs: {{tone: {{type: string, default: {default}}}}}\n---\nBe {{{{ tone }}}}.\n")
    };
    write(&root, "user_data/shared/prompts/tone/template.md", &with_default("calm"));
    commit_all(&root, "first");
    write(&root, "user_data/shared/prompts/tone/template.md", &with_default("loud"));
    let (_, text, _) = run(&root, &["diff", "HEAD", "tone"]);
    assert!(
        text.contains("changed tone: sample values") && text.contains("  - Be calm.\n  + Be loud.\n"),
        "{text}"
    );
    assert!(text.contains("tone/template.md:4 value of tone"), "{text}");
}

#[test]
fn bisect_finds_the_commit_and_skips_broken_ones() {
    let (_place, root) = repository();
    commit_all(&root, "first");
    git(&root, &["tag", "v1"]);
    let tone = "user_data/shared/prompts/partials/tone.md";
    let mut commits = Vec::new();
    for (index, text) in [
        "Please write plainly.",
        "Write plainly, please.",
        "{% if %}",
        "Write in words.",
        "Words.",
        "Only words.",
    ]
    .iter()
    .enumerate()
    {
        write(&root, tone, &format!("{text}\n"));
        commits.push(commit_all(&root, &format!("change {index}")));
    }
    let (code, text, errors) = run(&root, &["bisect", "greeting", "--case", "Ada", "--good", "v1", "--json"]);
    assert_eq!(code, 0, "{errors}");
    let found: Value = serde_json::from_str(&text).expect("is JSON");
    assert_eq!(found["commit"], commits[3].as_str(), "{found} {errors}");
    assert_eq!(found["skipped"], serde_json::json!([commits[2]]), "{found}");
    assert!(found["failure"].as_str().is_some_and(|text| text.contains("\"plainly\" is not in")), "{found}");
    let (code, _, errors) = run(&root, &["bisect", "greeting", "--case", "Ada", "--good", "HEAD~1"]);
    assert!(code == 2 && errors.contains("the case fails at `HEAD~1`"), "{errors}");
    let (code, _, errors) = run(&root, &["bisect", "greeting", "--case", "Adda", "--good", "v1"]);
    assert!(code == 3 && errors.contains("Ada"), "{errors}");
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
}

#[test]
fn why_shows_the_chain() {
    let (_place, root) = repository();
    let (code, text, errors) = run(&root, &["why", "partials/tone.md"]);
    assert_eq!(code, 0, "{errors}");
    assert!(
        text.contains("user_data/shared/prompts/partials/tone.md") && text.contains("greeting"),
        "{text}"
    );
    let (_, text, _) = run(&root, &["why", "Greeting"]);
    assert!(text.contains("the only candidate") && text.contains("partials/tone.md"), "{text}");
    let (_, text, _) = run(&root, &["why", "general_system", "--json"]);
    let chain: Value = serde_json::from_str(&text).expect("is JSON");
    let rows = chain[0]["chain"].as_array().expect("rows");
    assert!(
        rows.iter().any(|row| row["step"] == "used by"
            && row["is"].as_str().is_some_and(|text| text.starts_with("coding_system"))),
        "{chain}"
    );
    let (_, text, _) = run(&root, &["why", "agent_name"]);
    assert!(text.contains("declared by") && text.contains("general_system"), "{text}");
    let (code, _, errors) = run(&root, &["why", "greetin"]);
    assert!(code == 3 && errors.contains("greeting"), "{errors}");
}
