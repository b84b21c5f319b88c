//! The command line: exit codes and streams.

use std::path::Path;
use std::process::{Command, Output};

fn conformance(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_conformance"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"))
        .args(arguments)
        .output()
        .expect("the command was built for this test")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the report is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("messages are UTF-8")
}

#[test]
fn a_failing_case_gives_exit_code_1_and_the_counts_last() {
    let output = conformance(&["jinja", "jinja", "--only", "basic/other-output"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = stdout(&output);
    assert!(text.starts_with("FAIL basic/other-output (basic.json)\n"), "{text}");
    assert!(text.ends_with("\n0 passed, 1 failed, 0 skipped\n"), "{text}");
}

#[test]
fn brief_names_failures_only() {
    let output = conformance(&["jinja", "jinja", "--only", "basic/other-output", "--brief"]);
    assert_eq!(stdout(&output), "FAIL basic/other-output (basic.json)\n0 passed, 1 failed, 0 skipped\n");
}

#[test]
fn a_directory_whose_selected_cases_are_all_skipped_passes() {
    let output = conformance(&["jinja", "jinja", "--only", "basic/skipped"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(stdout(&output), "0 passed, 0 failed, 1 skipped\n");
}

#[test]
fn json_is_the_only_output_on_stdout() {
    let output = conformance(&["jinja", "jinja", "--only", "basic/other-output", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("is JSON");
    assert_eq!(report["failures"][0]["id"], "basic/other-output");
    assert_eq!(stderr(&output), "0 passed, 1 failed, 0 skipped\n");
}

#[test]
fn verbose_names_a_case_before_it_runs() {
    let output = conformance(&["jinja", "jinja", "--only", "basic/other-output", "-v"]);
    assert_eq!(stderr(&output), "run basic/other-output\n");
}

#[test]
fn usage_errors_and_unreadable_input_give_exit_code_2() {
    for (arguments, message) in [
        (
            &["jinja2", "jinja"][..],
            "unknown kind `jinja2`; expected one of context, exchange, gotemplate, jinja, module, rumi",
        ),
        (&["jinja"], "<DIR>"),
        (&["gotemplate", "not-json"], "one.json: not valid JSON"),
        (&["gotemplate", "absent"], "absent: cannot read the directory"),
    ] {
        let output = conformance(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(stderr(&output).contains(message), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn the_kinds_that_can_be_run_are_listed() {
    let output = conformance(&["--kinds"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let ready = conformance::kinds::KINDS.iter().filter(|kind| kind.ready).map(|kind| kind.name);
    assert_eq!(stdout(&output).lines().collect::<Vec<_>>(), ready.collect::<Vec<_>>());
}
