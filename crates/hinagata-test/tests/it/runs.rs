//! Whole runs: surroundings, stubs, snapshots and reports.

use hinagata_test::{
    SnapshotMode,
    report::{case_text, summary_text, to_github, to_json, to_junit, to_tap},
};

use crate::support::{FILE, Workspace, outcome};

#[test]
fn surroundings_are_fixed_unless_they_are_given() {
    let workspace =
        Workspace::new("{{ system.datetime }} {{ system.timezone }} {{ system.os }} {{ system.language }}");
    let tests = "
tests:
- {name: fixed, assert: [{equals: '2026-01-01T00:00:00+00:00 UTC linux en'}]}
- name: given
  context: {now: '2026-02-20T15:30:00+09:00', os: plan9, language: ja}
  assert: [{equals: '2026-02-20T15:30:00+09:00 +09:00 plan9 ja'}]
- name: named
  context: {now: '2026-02-20T06:30:00Z', timezone: Asia/Tokyo}
  assert: [{starts-with: '2026-02-20T15:30:00+09:00 Asia/Tokyo'}]
";
    for result in &workspace.run(tests).results {
        assert_eq!(outcome(result), "", "{}", result.name);
    }
}

#[test]
fn random_choices_are_the_same_in_every_run() {
    let workspace = Workspace::new("{{ range(1000)|random }}");
    let first = workspace.run_with("tests: [{name: a, assert: [{snapshot: true}]}]", SnapshotMode::WriteNew);
    assert_eq!((first.snapshots_written, first.counts()), (1, (1, 0, 0)));
    let again = workspace.run("tests: [{name: a, assert: [{snapshot: true}]}]");
    assert_eq!(again.counts(), (1, 0, 0));
}

#[test]
fn tools_are_answered_by_stubs_and_fail_without() {
    let workspace = Workspace::new("{{ tools.weather.now('Oslo').sky }}");
    let tests = "
tests:
- {name: stubbed, stubs: {tools: {weather.now: {sky: blue}}}, assert: [{equals: blue}]}
";
    for result in &workspace.run(tests).results {
        assert_eq!(outcome(result), "", "{}", result.name);
    }
    // The other tool is declared by its stub, so the template knows `tools`.
    let other = workspace.run("tests: [{name: a, stubs: {tools: {other.one: 1}}, assert: []}]");
    assert!(other.results[0].is_failed());
}

#[test]
fn snapshots_are_refused_where_nobody_would_see_them() {
    let workspace = Workspace::new("one\n");
    let tests = "tests: [{name: a, assert: [{snapshot: true}]}]";
    let found = outcome(&workspace.run(tests).results[0]);
    assert!(found.contains("the snapshot `a.txt` is new"), "{found}");
    assert_eq!(workspace.run_with(tests, SnapshotMode::WriteNew).snapshots_written, 1);
    assert_eq!(workspace.run(tests).counts(), (1, 0, 0));
    workspace.write("user_data/shared/prompts/greeting/template.md", "two\n");
    let report = workspace.run_with(tests, SnapshotMode::WriteNew);
    let hinagata_test::Status::Failed(failures) = &report.results[0].status else { panic!("it differs") };
    assert!(
        failures[0]
            .difference
            .as_deref()
            .is_some_and(|text| text.contains("-one\n") && text.contains("+two\n")),
        "{failures:?}"
    );
    let updated = workspace.run_with("tests: [{name: b, assert: [{snapshot: true}]}]", SnapshotMode::Update);
    assert_eq!((updated.snapshots_written, updated.snapshots_removed), (1, 1));
    let directory = workspace.path().join(FILE).with_file_name("snapshots").join("greeting");
    assert!(directory.join("b.txt").exists() && !directory.join("a.txt").exists());
}

#[test]
fn orphans_are_named() {
    let workspace = Workspace::new("one");
    workspace.write("user_data/shared/prompts/greeting/tests/snapshots/greeting/old.txt", "x");
    let report = workspace.run("tests: [{name: a, assert: [{contains: one}]}]");
    assert_eq!(report.orphans, ["user_data/shared/prompts/greeting/tests/snapshots/greeting/old.txt"]);
}

#[test]
fn reports_hold_everything() {
    let workspace = Workspace::new("<Hello & goodbye>");
    let tests = "
tests:
- {name: passes, assert: [{contains: Hello}]}
- {name: 'fails #1', assert: [{contains: '<you>'}]}
- {name: waits, skip: not yet}
";
    let report = workspace.run(tests);
    assert_eq!(report.counts(), (1, 1, 1));
    let json = to_json(&report);
    assert_eq!((&json["passed"], &json["failed"], &json["skipped"]), (&1.into(), &1.into(), &1.into()));
    assert_eq!(json["cases"][1]["failures"][0]["assertion"], "contains");
    let junit = to_junit(&report);
    let parsed = roxmltree::Document::parse(&junit).expect("is XML");
    let failures: Vec<_> = parsed.descendants().filter(|node| node.has_tag_name("failure")).collect();
    assert_eq!(failures.len(), 1);
    assert!(failures[0].attribute("message").is_some_and(|text| text.contains("\"<you>\" is not in")));
    let tap = to_tap(&report);
    assert!(tap.starts_with("TAP version 14\n1..3\nok 1 - "), "{tap}");
    assert!(
        tap.contains("not ok 2 - ") && tap.contains("fails \\#1") && tap.contains("# SKIP not yet"),
        "{tap}"
    );
    let github = to_github(&report);
    assert!(github.starts_with(&format!("::error file={FILE},line=4,col=")), "{github}");
    let text: String = report.results.iter().map(|result| case_text(result, &str::to_owned)).collect();
    assert!(
        text.contains("ok    passes")
            && text.contains("FAIL  fails #1")
            && text.contains("skip  waits (not yet)")
    );
    assert!(summary_text(&report).starts_with("1 passed, 1 failed, 1 skipped ("));
}

#[test]
fn hooks_do_not_run_without_trust() {
    let workspace = Workspace::new("Hello");
    workspace.write(
        "user_data/shared/prompts/greeting/prompt.py",
        "METADATA = {\"name\": \"x\"}\n\ndef pre_render(variables, context):\n    return variables\n",
    );
    let report = workspace.run("tests: [{name: a, assert: [{contains: Hello}]}, {name: b, error: approval}]");
    let found = outcome(&report.results[0]);
    assert!(found.contains("does not run in tests of an untrusted workspace"), "{found}");
    assert_eq!(outcome(&report.results[1]), "");
}
