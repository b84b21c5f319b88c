//! Test cases of prompts over HTTP.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Answered, Daemon, Setup, send, write};

const HELLO: &str = "user_data/shared/prompts/hello";
const TESTS: &str = "/api/prompts/hello/tests";

fn workspace() -> Setup {
    Setup::new().file(&format!("{HELLO}/template.md"), "Hello {{ who }}!\nBe kind.\n").keys(&[
        ("reader", &["read", "render"], None),
        ("writer", &["read", "render", "write"], None),
        ("bound", &["read", "render", "write"], Some(&["hello"])),
    ])
}

async fn as_key(daemon: &Daemon, key: &str, path: &str, body: &Value) -> Answered {
    send(daemon.request("POST", path).bearer_auth(format!("key-{key}")).body(body.to_string())).await
}

fn snapshot_case(name: &str, who: &str) -> Value {
    json!({"name": name, "variables": {"who": who}, "assert": [{"snapshot": true}]})
}

/// Changes the template, so that the daemon knows.
async fn change_template(daemon: &Daemon, text: &str) {
    let path = format!("/api/files/{HELLO}/template.md");
    let put =
        daemon.request("PUT", &path).bearer_auth(&daemon.token).header("if-match", "*").body(text.to_owned());
    send(put).await.expect_status(200);
}

#[tokio::test]
async fn a_call_becomes_a_case_that_runs_and_is_compared() {
    let daemon = workspace().start().await;
    let empty = daemon.as_owner("GET", TESTS, &json!({})).await.expect_status(200);
    assert_eq!((&empty["files"], &empty["source"]), (&json!([]), &json!(HELLO)));
    let saved =
        as_key(&daemon, "writer", TESTS, &snapshot_case("greets Ada", "Ada")).await.expect_status(201);
    assert_eq!(
        saved,
        json!({"file": format!("{HELLO}/tests/cases.yaml"), "name": "greets Ada", "left_out": []})
    );
    let second = json!({"name": "is loud", "variables": {"who": "Bo"}, "assert": [{"contains": "HELLO"}]});
    as_key(&daemon, "writer", TESTS, &second).await.expect_status(200);
    let listed = daemon.as_owner("GET", TESTS, &json!({})).await.expect_status(200);
    let names: Vec<&Value> =
        listed["files"][0]["cases"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["greets Ada", "is loud"]);

    // Nobody but a writer makes a snapshot.
    let run = format!("{TESTS}/run");
    let first = as_key(&daemon, "reader", &run, &json!({})).await.expect_status(200);
    assert_eq!((&first["passed"], &first["failed"]), (&json!(0), &json!(2)), "{first}");
    let update = json!({"name": "greets Ada", "update": true});
    assert_eq!(as_key(&daemon, "reader", &run, &update).await.expect_status(403)["scope"], "write");
    let snapshot = daemon.root().join(HELLO).join("tests/snapshots/cases/greets-ada.txt");
    assert!(!snapshot.exists());
    let updated = as_key(&daemon, "writer", &run, &update).await.expect_status(200);
    assert_eq!((&updated["passed"], &updated["snapshots"]["written"]), (&json!(1), &json!(1)), "{updated}");
    assert_eq!(fs::read_to_string(&snapshot).expect("is written"), "Hello Ada!\nBe kind.");

    change_template(&daemon, "Hello {{ who }}!\nBe brief.\n").await;
    let changed = as_key(&daemon, "reader", &run, &json!({})).await.expect_status(200);
    let failures: Vec<&Value> =
        changed["cases"].as_array().expect("a list").iter().map(|one| &one["failures"][0]).collect();
    let difference = failures[0]["difference"].as_str().expect("a difference");
    assert!(difference.contains("-Be kind.") && difference.contains("+Be brief."), "{difference}");
    assert!(failures[1]["message"].as_str().is_some_and(|message| message.contains("HELLO")), "{changed}");
    let alone = as_key(&daemon, "reader", &run, &json!({"name": "is loud"})).await.expect_status(200);
    assert_eq!(alone["cases"].as_array().map(Vec::len), Some(1));
    assert_eq!(as_key(&daemon, "reader", &run, &json!({"name": "no such"})).await.status, 404);
}

#[tokio::test]
async fn a_case_is_added_to_a_file_that_keeps_its_text() {
    let old =
        "# Why these cases\nvars: {who: Ada}\ntests:\n- {name: one, assert: [{contains: Ada}]}   # short\n";
    let daemon = workspace().file(&format!("{HELLO}/tests/own.yaml"), old).start().await;
    let mut case = snapshot_case("two", "Bo");
    case["file"] = "own.yaml".into();
    as_key(&daemon, "bound", TESTS, &case).await.expect_status(200);
    let file = daemon.root().join(HELLO).join("tests/own.yaml");
    let text = fs::read_to_string(&file).expect("is there");
    let added = "- name: \"two\"\n  vars:\n    who: \"Bo\"\n  assert:\n    - snapshot: true\n";
    assert_eq!(text, format!("{old}{added}"));
    let again = as_key(&daemon, "bound", TESTS, &case).await.expect_status(400);
    assert!(again["detail"].as_str().is_some_and(|detail| detail.contains("`two`")), "{again}");
    for (name, value) in [
        ("name", json!("")),
        ("file", json!("../own.yaml")),
        ("file", json!("own.py")),
        ("assert", json!([{"contain": "x"}])),
        ("odd", json!(1)),
    ] {
        let mut wrong = snapshot_case("three", "Cy");
        wrong[name] = value;
        assert_eq!(as_key(&daemon, "bound", TESTS, &wrong).await.status, 400, "{wrong}");
    }
    assert_eq!(as_key(&daemon, "reader", TESTS, &case).await.status, 403);
    assert_eq!(fs::read_to_string(&file).expect("is there"), text);
}

#[tokio::test]
async fn secrets_are_not_written_and_other_places_stay_as_they_are() {
    let definition =
        "parameters:\n  who: {type: string}\n  code: {type: string, secret: true}\ntemplate: template.md\n";
    let daemon = workspace().file(&format!("{HELLO}/prompt.yaml"), definition).start().await;
    let mut case = snapshot_case("one", "Ada");
    case["variables"]["code"] = "hunter2hunter2".into();
    let saved = as_key(&daemon, "writer", TESTS, &case).await.expect_status(201);
    assert_eq!(saved["left_out"], json!(["code"]));
    let text = fs::read_to_string(daemon.root().join(HELLO).join("tests/cases.yaml")).expect("is there");
    assert!(text.contains("Ada") && !text.contains("hunter2"), "{text}");

    let built_in = "/api/prompts/general_system/tests";
    let refused = as_key(&daemon, "writer", built_in, &snapshot_case("one", "Ada")).await.expect_status(403);
    assert_eq!(
        (&refused["code"], &refused["copy_route"]),
        (&json!("read_only"), &json!("/api/prompts/general_system/copy"))
    );
    assert_eq!(as_key(&daemon, "bound", built_in, &snapshot_case("one", "Ada")).await.status, 404);
    assert!(!daemon.root().join("ecosystem").exists());
}

#[tokio::test]
async fn cases_read_no_files_that_a_call_may_not_read() {
    let other = "prompt: letter\ntests:\n- {name: of another prompt}\n";
    let daemon = workspace()
        .file("user_data/shared/prompts/letter/template.md", "A letter")
        .file(&format!("{HELLO}/tests/far.yaml"), "tests:\n- {name: far, context: {project: /etc}}\n")
        .file(&format!("{HELLO}/tests/wrong.yaml"), "tests: [\n")
        .start()
        .await;
    let run = format!("{TESTS}/run");
    let far = as_key(&daemon, "reader", &run, &json!({"name": "far"})).await.expect_status(400);
    assert_eq!(far["code"], "validation", "{far}");
    let listed = daemon.as_owner("GET", TESTS, &json!({})).await.expect_status(200);
    assert_eq!(
        listed["problems"][0]["place"]["file"],
        json!(format!("{HELLO}/tests/wrong.yaml")),
        "{listed}"
    );
    fs::remove_file(daemon.root().join(HELLO).join("tests/far.yaml")).expect("is removed");
    write(&daemon.root().join(HELLO).join("tests/other.yaml"), other);
    // A key that is bound to prompts renders no other ones, whatever a file names.
    let bound =
        as_key(&daemon, "bound", &run, &json!({"name": "of another prompt"})).await.expect_status(200);
    assert_eq!(
        (&bound["failed"], &bound["cases"][0]["failures"][0]["code"]),
        (&json!(1), &json!("not_found"))
    );
    let owner = daemon.as_owner("POST", &run, &json!({"name": "of another prompt"})).await.expect_status(200);
    assert_eq!(owner["passed"], 1, "{owner}");
}

#[cfg(unix)]
#[tokio::test]
async fn snapshots_are_written_through_no_link() {
    let daemon = workspace().start().await;
    as_key(&daemon, "writer", TESTS, &snapshot_case("one", "Ada")).await.expect_status(201);
    let outside = daemon.directory.path().join("outside");
    fs::create_dir(&outside).expect("a directory");
    let link = daemon.root().join(HELLO).join("tests/snapshots");
    std::os::unix::fs::symlink(&outside, link).expect("a link");
    let run = format!("{TESTS}/run");
    let refused = as_key(&daemon, "writer", &run, &json!({"update": true})).await.expect_status(403);
    assert_eq!(refused["code"], "read_only");
    assert_eq!(fs::read_dir(&outside).expect("is there").count(), 0);
}

#[tokio::test]
async fn hooks_do_not_run_in_an_untrusted_workspace() {
    let hook = "REQUIRED_VARIABLES = ['who']\n\ndef pre_render(variables, context):\n    raise SystemExit\n";
    let daemon = workspace()
        .untrusted()
        .file(&format!("{HELLO}/prompt.py"), hook)
        .file(&format!("{HELLO}/tests/a.yaml"), "tests:\n- {name: one, vars: {who: Ada}}\n")
        .start()
        .await;
    let report = daemon.as_owner("POST", &format!("{TESTS}/run"), &json!({})).await.expect_status(200);
    let message = report["cases"][0]["failures"][0]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("does not run in tests of an untrusted workspace"), "{report}");
}
