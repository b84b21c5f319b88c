//! Every check passes and fails.

use hinagata_test::CheckKind;

use crate::support::{Workspace, check, outcome};

/// The text, an assertion that holds, one that fails, and a part of its message.
const CHECKS: &[(&str, &str, &str, &str)] = &[
    ("Hello", "equals: Hello", "equals: hello", "not \"hello\""),
    ("{\"a\": 1}", "equals: {a: 1.0}", "equals: {a: 2}", "not \"{\\n"),
    ("Hello you", "contains: you", "contains: us", "\"us\" is not in \"Hello you\""),
    ("Hello you", "contains-all: [Hello, you]", "contains-all: [Hello, us]", "\"us\" is not in"),
    ("Hello you", "contains-any: [us, you]", "contains-any: [us, them]", "none of \"us\", \"them\""),
    ("Hello you", "icontains: YOU", "icontains: US", "\"US\" is not in"),
    ("Hello you", "icontains-all: HELLO, You", "icontains-all: [HELLO, us]", "\"us\" is not in"),
    ("Hello you", "icontains-any: [US, YOU]", "icontains-any: [US]", "none of \"US\""),
    ("Hello you", "starts-with: Hello", "starts-with: you", "not with \"you\""),
    ("Hello you", "regex: \"^Hello(?= you)\"", "regex: \"\\\\d\"", "finds nothing"),
    ("[1]", "is-json: true", "is-json: {type: object}", "the value: [1] is not of type \"object\""),
    ("So: {\"a\": 1}.", "contains-json: {required: [a]}", "contains-json: {required: [b]}", "required"),
    ("<a><b/></a>", "is-xml: [a.b]", "is-xml: [a.c]", "`a.c` is missing"),
    ("So: <a/>, <b></b>", "contains-xml: true", "contains-xml: [c]", "`c` is missing"),
    ("one two", "word-count: 2", "word-count: {min: 3}", "it has 2 words; at least 3 are allowed"),
    (
        "kitten",
        "levenshtein: sitting",
        "{type: levenshtein, value: sitting, threshold: 2}",
        "3 edits, at most 2",
    ),
    ("Hello", "{type: latency, threshold: 60000}", "{type: latency, threshold: 0}", "at most 0 ms"),
    ("{\"a\": \"x\"}", "schema: {properties: {a: {type: string}}}", "schema: {required: [b]}", "required"),
    ("Hello you", "tokens: {max: 9}", "tokens: {model: gpt-4o, max: 1}", "at most 1 are allowed"),
    ("Hello", "roles: [user]", "roles: [system, user]", "the roles are user, not system, user"),
    ("Hello Rumi", "expression: vars.name in output", "expression: output|length > 99", "is false"),
    (
        "Hello",
        "{type: expression, value: 0.5, threshold: 0.4}",
        "{type: expression, value: 0.5, threshold: 0.6}",
        "is 0.5",
    ),
    ("{\"a\": [1]}", "path: \"$.a[0]\"", "path: \"$.b\"", "$.b selects nothing"),
    (
        "{\"a\": [1, 2]}",
        "{path: \"$.a[*]\", equals: [1, 2]}",
        "{path: \"$.a[0]\", equals: 2}",
        "it is \"1\", not \"2\"",
    ),
    (
        "Hello",
        "{on: messages, path: \"$[0].role\", equals: user}",
        "{on: messages, path: \"$[0].role\", equals: x}",
        "not \"x\"",
    ),
    (
        "Hello",
        "{on: request.openai, path: \"$.messages[0].content\", equals: Hello}",
        "{on: request.anthropic, path: \"$.messages[0].role\", equals: assistant}",
        "it is \"user\", not \"assistant\"",
    ),
    (
        "Hello",
        "{type: assert-set, threshold: 0.5, assert: [{contains: Hello}, {contains: you}]}",
        "{type: assert-set, assert: [{contains: Hello}, {contains: you}]}",
        "contains: \"you\" is not in",
    ),
    (
        "Hello Rumi",
        "{type: contains, value: \"{{ name }}\", template: true}",
        "{type: contains, value: \"{{ name }}\"}",
        "is not in",
    ),
    ("Hello", "not-contains: you", "not-contains: Hello", "not-contains holds, and must not"),
    ("Hello", "not-path: \"$.a\"", "{on: messages, not-path: \"$[0]\"}", "holds, and must not"),
];

#[test]
fn every_check_passes_and_fails() {
    for (text, holds, fails, message) in CHECKS {
        assert_eq!(check(text, holds), "", "{holds}");
        let found = check(text, fails);
        assert!(found.contains(message), "{fails}: {found}");
    }
}

#[test]
fn every_kind_of_check_is_tested() {
    // Those about answers, snapshots, errors and undefined variables have tests of their own.
    let elsewhere = [
        "cost",
        "finish-reason",
        "is-valid-openai-tools-call",
        "llm-rubric",
        "snapshot",
        "no-undefined",
        "error",
    ];
    for kind in CheckKind::ALL {
        let name = kind.name();
        let is_tested = CHECKS.iter().any(|(_, holds, fails, _)| {
            [holds, fails].iter().all(|text| {
                text.starts_with(&format!("{name}:"))
                    || text.contains(&format!("type: {name},"))
                    || text.contains(name)
            })
        });
        assert!(is_tested || elsewhere.contains(&name), "{name}");
    }
}

#[test]
fn undefined_variables_are_found_at_their_place() {
    let workspace = Workspace::new("Hello\n{{ nobody }}");
    let report = workspace.run("tests: [{name: one, assert: [{no-undefined: true}]}]");
    let found = outcome(&report.results[0]);
    assert!(found.contains("greeting/template.md:2:4: undefined variable `nobody`"), "{found}");
    let workspace = Workspace::new("Hello {{ somebody }}");
    let report = workspace.run("tests: [{name: one, vars: {somebody: x}, assert: [{no-undefined: true}]}]");
    assert_eq!(outcome(&report.results[0]), "");
}

#[test]
fn a_threshold_needs_a_share_of_the_weights() {
    let workspace = Workspace::new("Hello");
    let run = |threshold: &str| {
        let report = workspace.run(&format!(
            "tests:\n- name: one\n  threshold: {threshold}\n  assert: [{{contains: Hello, weight: 3}}, {{contains: you}}]"
        ));
        (outcome(&report.results[0]), report.results[0].score)
    };
    assert_eq!(run("0.75"), (String::new(), 0.75));
    let (found, _) = run("0.8");
    assert!(found.starts_with("threshold: the score is 0.75, at least 0.8 is needed"), "{found}");
}

#[test]
fn an_assertion_without_weight_cannot_fail_a_case() {
    let workspace = Workspace::new("Hello");
    let report =
        workspace.run("tests: [{name: one, assert: [{contains: you, weight: 0}, {contains: Hello}]}]");
    assert_eq!(outcome(&report.results[0]), "");
}

#[test]
fn long_texts_have_a_difference() {
    let workspace = Workspace::new("one\ntwo\nthree\n");
    let report = workspace.run("tests: [{name: one, assert: [{equals: \"one\\n2\\nthree\"}]}]");
    let hinagata_test::Status::Failed(failures) = &report.results[0].status else { panic!("it fails") };
    let difference = failures[0].difference.as_deref().unwrap_or_default();
    assert!(difference.contains("-2\n+two"), "{difference}");
}

#[test]
fn errors_are_expected_by_their_codes() {
    let workspace = Workspace::new("---\ninputs: {who: string}\n---\nHello {{ who }}");
    let run = |case: &str| outcome(&workspace.run(&format!("tests: [{{name: one, {case}}}]")).results[0]);
    assert_eq!(run("error: validation"), "");
    assert_eq!(run("error: {code: validation, message: who}"), "");
    assert_eq!(run("assert: [{error: validation}]"), "");
    assert_eq!(run("assert: [{not-error: conflict}]"), "");
    assert!(run("error: conflict").starts_with("error: expected the error `conflict`, found `validation`"));
    assert!(run("error: {code: validation, message: nobody}").contains("expected a message with \"nobody\""));
    assert!(
        run("error: validation, vars: {who: Ada}")
            .contains("the render succeeds; expected the error `validation`")
    );
    assert!(run("assert: [{contains: Hello}]").starts_with("render: "));
}
