//! `hina test` as its users run it: the cases of the project's own prompts, recordings, reports, selections.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use fake_provider::{FakeProvider, Reply};
use serde_json::{Value, json};

const PROMPT: &str = "user_data/shared/prompts/greeting";

fn hina(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
    command.current_dir(root).env("HINAGATA_STATE", root.join("../state")).env_remove("CI");
    command.env("XDG_CONFIG_HOME", root.join("../config")).env("HINAGATA_LLM_RETRIES", "1ms");
    for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "HINAGATA_ROOT"] {
        command.env_remove(name);
    }
    command
}

fn run(root: &Path, arguments: &[&str]) -> (i32, String, String) {
    code_and_texts(&hina(root).args(arguments).output().expect("hina runs"))
}

fn code_and_texts(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("has a code"), text(&output.stdout), text(&output.stderr))
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
    fs::write(path, text).expect("written");
}

/// A workspace in a directory beside the state and the settings of nobody.
fn workspace(template: &str, tests: &str) -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().join("work");
    write(&root, "hinagata.toml", "");
    write(&root, &format!("{PROMPT}/template.md"), template);
    write(&root, &format!("{PROMPT}/tests/greeting.yaml"), tests);
    (place, root)
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("readable").path();
        let there = to.join(path.file_name().expect("has a name"));
        if path.is_dir() {
            copy_tree(&path, &there);
        } else {
            fs::copy(&path, there).expect("copied");
        }
    }
}

#[test]
fn the_cases_of_the_built_in_prompts_pass() {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().join("work");
    copy_tree(&project().join("crates/hinagata-catalog/builtin"), &root.join("ecosystem/default/prompts"));
    let (code, text, errors) = run(&root, &["test", "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{errors}"));
    assert_eq!(code, 0, "{text}");
    assert!(report["passed"].as_u64().is_some_and(|count| count >= 19), "{report}");
    assert_eq!(report["skipped"], 0, "{report}");
    let prompts = [
        "coding_system",
        "general_system",
        "history_compression",
        "memory_update",
        "planning_task_decomposition",
    ];
    for prompt in prompts {
        let cases = report["cases"].as_array().expect("cases");
        assert!(cases.iter().any(|case| case["prompt"] == prompt), "{prompt}");
    }
}

#[test]
fn the_cases_of_the_examples_pass() {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().join("prompts");
    copy_tree(&project().join("examples/prompts"), &root);
    let (code, text, errors) = run(&root, &["test"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(text.contains("7 passed"), "{text}");
}

#[test]
fn a_failure_shows_its_place_and_the_difference() {
    let (_place, root) =
        workspace("one\ntwo\n", "tests:\n- name: greets\n  assert:\n  - equals: \"one\\n2\\n\"\n");
    let (code, text, _) = run(&root, &["test"]);
    assert_eq!(code, 1);
    for part in [
        "user_data/shared/prompts/greeting/tests/greeting.yaml: 0 of 1 ok",
        "  FAIL  greets",
        "greeting.yaml:4:5",
        "-2\n",
        "+two\n",
        "0 passed, 1 failed (",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_wrong_file_lists_all_problems_and_runs_nothing() {
    let (_place, root) = workspace(
        "one",
        "tests:\n- {name: a, assert: [{containz: x}]}\n- {name: a}\n- {name: b, assert: [{contains: x}]}\n",
    );
    let (code, text, errors) = run(&root, &["test"]);
    assert_eq!((code, text.as_str()), (2, ""), "{errors}");
    for part in [
        "unknown assertion `containz`",
        "did you mean `contains`?",
        "two cases are called `a`",
        "greeting.yaml:2:",
    ] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    assert!(errors.contains("2 problems in test files; no case ran"), "{errors}");
}

#[test]
fn clock_zone_and_random_numbers_of_hooks_are_fixed() {
    let (_place, root) = workspace(
        "{{ seen }}\n{{ chance }}\n",
        "tests:\n- name: afternoon\n  context: {now: 2026-02-20T15:30:00+09:00}\n  assert:\n  - contains: \"2026-02-20 15:30:00 \
         +0900 1771569000\"\n  - snapshot: true\n\
         - name: summer\n  context: {now: '2026-07-01T12:00:00+02:00[Europe/Berlin]'}\n  assert:\n  - contains: \"2026-07-01 \
         12:00:00 +0200\"\n\
         - name: none\n  assert:\n  - contains: \"2026-01-01 00:00:00 +0000\"\n",
    );
    write(
        &root,
        &format!("{PROMPT}/prompt.py"),
        r#"from datetime import date, datetime, timezone
import random, time, uuid

METADATA = {"name": "greeting", "version": "1.0.0", "template": "template.md"}

def pre_render(variables, context):
    assert abs(datetime.now(timezone.utc).timestamp() - time.time()) < 60 and isinstance(datetime.now(), date)
    clock = time.strftime("%H:%M:%S %z")
    variables["seen"] = f"{date.today()} {clock} {int(time.time())} {datetime.now():%H:%M}"
    variables["chance"] = f"{random.random()} {random.Random().randint(0, 10**9)} {uuid.uuid4()}"
"#,
    );
    trust(&root);
    let (code, text, errors) = run(&root, &["test", "--update"]);
    assert_eq!(code, 0, "{text}{errors}");
    for _ in 0..2 {
        let (code, text, errors) = run(&root, &["test", "--jobs", "1"]);
        assert_eq!(code, 0, "a snapshot of the same numbers: {text}{errors}");
    }
    // A render sees the machine.
    let renders = [(); 2].map(|()| run(&root, &["render", "greeting"]));
    assert!(
        renders.iter().all(|(code, text, _)| *code == 0 && !text.contains("2026-01-01 00:00")),
        "{renders:?}"
    );
    assert_ne!(renders[0].1, renders[1].1);
}

#[test]
fn snapshots_are_new_once_and_refused_in_ci() {
    let (_place, root) = workspace("one\n", "tests: [{name: greets, assert: [{snapshot: true}]}]");
    let in_ci = hina(&root).arg("test").env("CI", "true").output().expect("hina runs");
    let (code, text, _) = code_and_texts(&in_ci);
    assert_eq!(code, 1);
    assert!(text.contains("is new; write it where CI is not set"), "{text}");
    let (code, text, _) = run(&root, &["test"]);
    assert!(code == 0 && text.contains("1 snapshot written"), "{text}");
    let file = root.join(PROMPT).join("tests/snapshots/greeting/greets.txt");
    assert_eq!(fs::read_to_string(&file).expect("is there"), "one");
    let in_ci = hina(&root).arg("test").env("CI", "true").output().expect("hina runs");
    assert_eq!(code_and_texts(&in_ci).0, 0);
    write(&root, &format!("{PROMPT}/template.md"), "two\n");
    assert_eq!(run(&root, &["test"]).0, 1);
    write(&root, &format!("{PROMPT}/tests/snapshots/greeting/old.txt"), "x");
    let (code, text, _) = run(&root, &["test", "--update"]);
    assert!(code == 0 && text.contains("1 snapshot written\n1 snapshot removed"), "{text}");
    assert_eq!(fs::read_to_string(&file).expect("is there"), "two");
}

#[test]
fn cases_are_selected() {
    let (_place, root) = workspace(
        "Hello {{ n }}",
        "tests: [{name: a, matrix: {n: [1, 2, 3, 4]}, assert: [{contains: Hello}]}, {name: b, assert: []}]",
    );
    write(&root, "user_data/shared/prompts/other/template.md", "x");
    write(&root, "user_data/shared/prompts/other/tests/o.yaml", "tests: [{name: o, assert: [{equals: x}]}]");
    let passed = |arguments: &[&str]| {
        let (code, text, errors) = run(&root, &[&["test", "--json"][..], arguments].concat());
        assert_eq!(code, 0, "{arguments:?} {errors}");
        serde_json::from_str::<Value>(&text).expect("is JSON")["passed"].as_u64().expect("a number")
    };
    assert_eq!(passed(&[]), 6);
    assert_eq!(passed(&["greeting"]), 5);
    assert_eq!(passed(&["user_data/shared/prompts/other/tests/o.yaml"]), 1);
    assert_eq!(passed(&["--filter", "n=3"]), 1);
    assert_eq!(passed(&["--filter", "other"]), 1);
    assert_eq!(passed(&["--jobs", "1"]), 6);
    let parts: u64 = ["1/3", "2/3", "3/3"].iter().map(|shard| passed(&["--shard", shard])).sum();
    assert_eq!(parts, 6);
    assert_eq!(run(&root, &["test", "--filter", "nothing"]).0, 3);
    assert_eq!(run(&root, &["test", "nobody"]).0, 3);
    assert_eq!(run(&root, &["test", "--shard", "4/3"]).0, 2);
}

#[test]
fn the_cases_of_changed_prompts_are_selected() {
    let (_place, root) = workspace("{% include 'partials/p.md' %}", "tests: [{name: a, assert: []}]");
    write(&root, "user_data/shared/prompts/partials/p.md", "one");
    write(&root, "user_data/shared/prompts/other/template.md", "x");
    write(&root, "user_data/shared/prompts/other/tests/o.yaml", "tests: [{name: o, assert: []}]");
    git(&root, &["init", "-q"]);
    commit_all(&root, "first");
    let names = || {
        let (_, text, errors) = run(&root, &["test", "--changed", "--json"]);
        let report: Value =
            serde_json::from_str(&text).unwrap_or_else(|_| json!({"status": errors, "cases": []}));
        let cases = report["cases"].as_array().expect("cases").clone();
        cases.iter().map(|case| case["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(), [] as [&str; 0]);
    write(&root, "user_data/shared/prompts/partials/p.md", "two");
    assert_eq!(names(), ["a"]);
    write(&root, "user_data/shared/prompts/other/tests/new.yaml", "tests: [{name: n, assert: []}]");
    assert_eq!(names(), ["a", "n", "o"]);
    assert_eq!(run(&root, &["test", "--changed", "nobody"]).0, 2);
}

pub(crate) fn git(root: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(root)
        .args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn commit_all(root: &Path, message: &str) -> String {
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", message]);
    git(root, &["rev-parse", "HEAD"])
}

const ASKS: &str = "
model: gpt-4o-mini
tests:
- name: answers
  vars: {who: Ada}
  assert:
  - contains: Hello
  - finish-reason: stop
  - {type: latency, threshold: 60000}
  - {type: cost, threshold: 1}
  - {on: text, equals: Say hello to Ada}
";

/// Runs with a provider on this machine.
fn run_with(root: &Path, provider: &FakeProvider, arguments: &[&str]) -> (i32, String, String) {
    let mut command = hina(root);
    command.env("OPENAI_BASE_URL", provider.base_url()).env("OPENAI_API_KEY", "sk-very-secret-1234");
    code_and_texts(&command.args(arguments).output().expect("hina runs"))
}

fn trust(root: &Path) {
    let (code, _, errors) = run(root, &["trust", "--yes"]);
    assert_eq!(code, 0, "{errors}");
}

#[test]
fn answers_are_recorded_once_and_replayed_without_a_key() {
    let (_place, root) = workspace("Say hello to {{ who }}", ASKS);
    write(&root, "hinagata.toml", "[models.gpt-4o-mini]\nprice = {input = 1.0, output = 2.0}\n");
    trust(&root);
    let provider = FakeProvider::start();
    let (code, text, _) = run_with(&root, &provider, &["test"]);
    assert_eq!(code, 1);
    assert!(text.contains("no answer to this request is recorded; `--record` records one"), "{text}");
    assert_eq!(provider.received().len(), 0, "nothing leaves the machine");
    provider.reply(Reply::Json(completion("Hello Ada")));
    let (code, text, errors) = run_with(&root, &provider, &["test", "--record"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(text.contains("1 call of models, $0.0000"), "{text}");
    assert_eq!(provider.received().len(), 1);
    let recordings = root.join(PROMPT).join("tests/cassettes");
    let files: Vec<_> =
        fs::read_dir(&recordings).expect("is there").map(|file| file.expect("readable").path()).collect();
    assert_eq!(files.len(), 1);
    let text = fs::read_to_string(&files[0]).expect("readable");
    assert!(!text.contains("sk-very-secret") && text.contains("Say hello to Ada"), "{text}");
    for arguments in [&["test"][..], &["test", "--record"]] {
        let (code, text, _) = run(&root, arguments);
        assert_eq!(code, 0, "{text}");
    }
    write(&root, &format!("{PROMPT}/template.md"), "Please greet {{ who }}");
    let (code, text, _) = run(&root, &["test"]);
    assert_eq!(code, 1);
    assert!(text.contains("the request differs from every recorded one"), "{text}");
    assert!(
        text.contains("-        \"content\": \"Say hello to Ada\"")
            && text.contains("+        \"content\": \"Please greet Ada\""),
        "{text}"
    );
}

fn completion(text: &str) -> Value {
    json!({
        "id": "x", "object": "chat.completion", "created": 0, "model": "gpt-4o-mini",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    })
}

#[test]
fn a_provider_that_is_down_is_no_failed_score() {
    let (_place, root) =
        workspace("Hi", "tests: [{name: a, model: gpt-4o-mini, assert: [{contains: Hello}]}]");
    let provider = FakeProvider::start();
    for _ in 0..4 {
        provider.reply(Reply::status(503, "down"));
    }
    let (code, text, _) = run_with(&root, &provider, &["test", "--live"]);
    assert_eq!(code, 5, "{text}");
    assert!(!root.join(PROMPT).join("tests/cassettes").exists());
}

#[test]
fn calls_are_limited() {
    let (_place, root) = workspace(
        "{{ n }}",
        "tests: [{name: a, model: gpt-4o-mini, matrix: {n: [1, 2, 3]}, assert: [{contains: Hello}]}]",
    );
    let provider = FakeProvider::start();
    for _ in 0..3 {
        provider.reply(Reply::Json(completion("Hello")));
    }
    let (code, text, _) = run_with(&root, &provider, &["test", "--live", "--max-calls", "2", "--jobs", "1"]);
    assert_eq!(code, 1);
    assert!(
        text.contains("the limit of 2 calls of models is reached") && text.contains("2 of 3 ok"),
        "{text}"
    );
    assert_eq!(provider.received().len(), 2);
    let (_, text, _) = run_with(&root, &provider, &["test", "--live", "--max-cost", "1"]);
    assert!(text.contains("`--max-cost` needs the price of `gpt-4o-mini`"), "{text}");
}

#[test]
fn models_grade_and_every_repeat_is_recorded() {
    let tests = "
model: gpt-4o-mini
tests:
- {name: polite, repeat: 2, assert: [{llm-rubric: is polite}, {type: not-llm-rubric, value: is rude}]}
- {name: strict, assert: [{type: llm-rubric, value: is polite, threshold: 0.9}]}
";
    let (_place, root) = workspace("Hi", tests);
    let provider = FakeProvider::start();
    let grade = |pass: bool, score: f64| {
        completion(&json!({"pass": pass, "score": score, "reason": "so"}).to_string())
    };
    // Two answers, two grades of each, then the second case, whose answer is recorded already.
    for reply in [
        completion("Hello"),
        grade(true, 0.8),
        grade(false, 0.0),
        completion("Hi"),
        grade(true, 0.8),
        grade(false, 0.0),
    ] {
        provider.reply(Reply::Json(reply));
    }
    let (code, text, errors) = run_with(&root, &provider, &["test", "--record", "--jobs", "1"]);
    assert_eq!(code, 1, "{text}{errors}");
    assert!(text.contains("graded 0.80, at least 0.9 is needed: so"), "{text}");
    assert!(text.contains("1 of 2 ok"), "{text}");
    let before = provider.received().len();
    let (_, again, _) = run(&root, &["test"]);
    assert!(again.contains("1 of 2 ok"), "{again}");
    assert_eq!(provider.received().len(), before);
}

#[test]
fn answers_are_checked_against_the_schema_of_the_prompt() {
    let template = "---\noutput: {schema: {type: object, required: [sky]}}\n---\nHi";
    let tests = "
model: gpt-4o-mini
tests:
- {name: follows, assert: [{path: \"$.sky\", equals: blue}]}
";
    let (_place, root) = workspace(template, tests);
    let provider = FakeProvider::start();
    provider.reply(Reply::Json(completion("{\"sky\": \"blue\"}")));
    assert_eq!(run_with(&root, &provider, &["test", "--live"]).0, 0);
    provider.reply(Reply::Json(completion("{\"sea\": \"blue\"}")));
    let (code, text, _) = run_with(&root, &provider, &["test", "--live"]);
    assert_eq!(code, 1);
    assert!(text.contains("sky"), "{text}");
}

#[test]
fn tool_calls_are_checked_against_the_request() {
    let tests = "
model: gpt-4o-mini
options:
  tools:
  - {type: function, function: {name: weather, parameters: {type: object, required: [city]}}}
tests:
- {name: calls, assert: [{is-valid-openai-tools-call: true}, {finish-reason: tool_calls}]}
";
    let (_place, root) = workspace("Hi", tests);
    let provider = FakeProvider::start();
    let mut calls = completion("");
    calls["choices"][0]["finish_reason"] = "tool_calls".into();
    let call = |arguments: &str| json!([{"id": "a", "type": "function", "function": {"name": "weather", "arguments": arguments}}]);
    calls["choices"][0]["message"]["tool_calls"] = call("{\"city\": \"Oslo\"}");
    provider.reply(Reply::Json(calls.clone()));
    let (code, text, _) = run_with(&root, &provider, &["test", "--live"]);
    assert_eq!(code, 0, "{text}");
    calls["choices"][0]["message"]["tool_calls"] = call("{}");
    provider.reply(Reply::Json(calls.clone()));
    let (code, text, _) = run_with(&root, &provider, &["test", "--live"]);
    assert!(code == 1 && text.contains("`weather`: the value: \"city\" is a required property"), "{text}");
}

const MIXED: &str = "
tests:
- {name: passes, assert: [{contains: Hello}]}
- {name: 'fails: #1 <&> \"x\"', assert: [{contains: '<you>'}, {equals: \"a\\nb\"}]}
- {name: waits, skip: not yet}
";

/// The report as junitparser, the library of Python, reads it.
#[test]
fn junit_is_read_by_junitparser() {
    let (_place, root) = workspace("Hello", MIXED);
    let (code, text, _) = run(&root, &["test", "--format", "junit"]);
    assert_eq!(code, 1);
    let python = env::var_os("HINAGATA_TEST_PYTHON").expect("HINAGATA_TEST_PYTHON is set by ./test");
    let script = "import sys, json, junitparser as j
x = j.JUnitXml.fromstring(sys.stdin.buffer.read())
s = list(x)
print(json.dumps({'tests': x.tests, 'failures': x.failures, 'skipped': x.skipped, 'suites': len(s),
  'cases': [[c.name, [type(r).__name__ for r in c.result], [r.message for r in c.result]] for c in s[0]]}))";
    let read = pipe(Command::new(python).args(["-c", script]), &text);
    let read: Value = serde_json::from_str(&read).expect("is JSON");
    assert_eq!(
        (&read["tests"], &read["failures"], &read["skipped"]),
        (&json!(3), &json!(1), &json!(1)),
        "{read}"
    );
    assert_eq!(read["cases"][0], json!(["passes", [], []]));
    assert_eq!(read["cases"][1][0], "fails: #1 <&> \"x\"");
    assert_eq!(read["cases"][1][1], json!(["Failure", "Failure"]));
    assert_eq!(read["cases"][2], json!(["waits", ["Skipped"], ["not yet"]]));
}

/// The report as tap-parser, the library of node-tap, reads it.
#[test]
fn tap_is_read_by_tap_parser() {
    let (_place, root) = workspace("Hello", MIXED);
    let (_, text, _) = run(&root, &["test", "--format", "tap"]);
    let modules =
        env::var_os("HINAGATA_TEST_NODE_MODULES").expect("HINAGATA_TEST_NODE_MODULES is set by ./test");
    let script = "const {Parser} = require('tap-parser');
let t = ''; process.stdin.on('data', d => t += d).on('end', () => {
  const list = []; const p = new Parser(r => console.log(JSON.stringify({ok: r.ok, count: r.count, pass: r.pass,
    fail: r.fail, skip: r.skip, plan: r.plan.end, extra, list})));
  let extra = 0; p.on('extra', () => extra++);
  p.on('assert', a => list.push([a.ok, a.name, a.diag ? a.diag.failures.length : 0, a.skip || '']));
  p.end(t); });";
    let read = pipe(Command::new("node").args(["-e", script]).env("NODE_PATH", modules), &text);
    let read: Value = serde_json::from_str(&read).expect("is JSON");
    assert_eq!(
        (&read["ok"], &read["count"], &read["fail"], &read["skip"]),
        (&json!(false), &json!(3), &json!(1), &json!(1))
    );
    assert_eq!((&read["plan"], &read["extra"]), (&json!(3), &json!(0)), "{read}");
    assert_eq!(read["list"][1][2], 2, "{read}");
    assert!(read["list"][1][1].as_str().is_some_and(|name| name.ends_with("fails: #1 <&> \"x\"")), "{read}");
    assert_eq!(read["list"][2][3], "not yet", "{read}");
}

fn pipe(command: &mut Command, input: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().expect("is piped").write_all(input.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn tests_of_promptfoo_become_test_files() {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().join("work");
    write(&root, "hinagata.toml", "");
    write(
        &root,
        "promptfooconfig.yaml",
        "\
prompts: ['Say {{what}} to {{who}}']
providers: [echo]
defaultTest:
  assert: [{type: not-contains, value: undefined}]
tests:
- description: greets
  vars: {what: hello, who: [Ada, Bob]}
  assert:
  - {type: contains, value: '{{who}}'}
  - {type: javascript, value: 'output.length > 3 && output.includes(\"hello\")'}
  - {type: similar, value: hi}
  - {type: python, value: 'len(output) < 100'}
",
    );
    let (code, text, errors) = run(&root, &["import", "promptfooconfig.yaml"]);
    assert_eq!(code, 0, "{text}{errors}");
    let report = format!("{text}{errors}");
    assert!(report.contains("the assertion `similar`: it needs another service"), "{report}");
    let (code, text, errors) = run(&root, &["test", "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{errors}"));
    assert_eq!((code, &report["passed"]), (0, &json!(2)), "{report}");
    assert_eq!(report["cases"][0]["assertions"], 4, "{report}");
}
