//! The rules of the runner, tested with engines that answer what a fixture asks for.

use std::path::{Path, PathBuf};

use conformance::kinds::gotemplate::{self, GoCase, GoEngine, GoOutcome};
use conformance::kinds::jinja::{self, JinjaCase, JinjaEngine, JinjaOutcome, Undefined};
use conformance::kinds::module::{self, Compiling, ModuleEngine, ModuleQuestion};
use serde_json::{Value, json};

use conformance::{LoadedCase, Report, Selection, Status, run_cases};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Answers with the source of the entry.
struct Puppet;

impl JinjaEngine for Puppet {
    fn render_case(&self, case: &JinjaCase, undefined: Undefined) -> JinjaOutcome {
        match case.templates[&case.entry].as_str() {
            "fail 3" => JinjaOutcome::Error {
                kind: "runtime".into(),
                line: Some(3),
                template: Some("main".into()),
                message: "it failed".into(),
            },
            "chained" if undefined == Undefined::Chainable => JinjaOutcome::Output("chained".into()),
            "chained" => JinjaOutcome::Output("default".into()),
            "panic" => panic!("the puppet panicked"),
            "unavailable" => JinjaOutcome::Unavailable("no engine".into()),
            text => JinjaOutcome::Output(text.into()),
        }
    }
}

impl GoEngine for Puppet {
    fn render_case(&self, case: &GoCase) -> GoOutcome {
        let names: Vec<&str> = case.sources.iter().map(|(name, _)| name.as_str()).collect();
        match case.sources[0].1.as_str() {
            "bytes" => GoOutcome::Output(b"\xffff".to_vec()),
            "parse" => GoOutcome::ParseError("template: main:1: no".into()),
            "exec" => {
                GoOutcome::ExecError { message: "template: main:1:2: no".into(), partial: b"half".to_vec() }
            }
            _ if names.len() > 1 => {
                GoOutcome::Output(format!("{} -> {}", names.join(","), case.entry).into())
            }
            text => GoOutcome::Output(text.into()),
        }
    }
}

/// Merges as the document specifies, and reports how it was asked to compile.
struct ModulePuppet;

impl ModuleEngine for ModulePuppet {
    fn answer_question(&self, question: &ModuleQuestion) -> Result<Value, String> {
        match question {
            ModuleQuestion::Merge(modules) => match modules.to_string() {
                text if text.contains("footer") => Err("there is no section `footer`".into()),
                text if text.contains("createContext") => {
                    Ok(json!({"cue": ["spec"], "createContext": {"a": 1, "b": 2}}))
                }
                text if text.contains("subsection") => Ok(modules[0].clone()),
                text if text.contains("\"x\"") => Ok(json!({"cue": ["x"]})),
                _ => Ok(json!({"cue": ["b", "a"]})),
            },
            ModuleQuestion::Compile { compiling, .. } => Ok(match compiling {
                Compiling::Standard => json!({"as": "titled"}),
                Compiling::Cache => json!({"as": "cache"}),
                Compiling::Flat => json!({"as": "something else"}),
            }),
            other => Err(format!("not asked for: {other:?}")),
        }
    }
}

fn jinja_cases() -> Vec<LoadedCase> {
    jinja::load_cases(&fixture("jinja"), &Puppet).expect("the fixture is in the format")
}

fn run_jinja(only: Option<&str>) -> Report {
    let selection = Selection { only: only.map(str::to_owned) };
    run_cases(&fixture("jinja"), &jinja_cases(), &selection, &mut |_| {}).expect("the skips are readable")
}

fn run_go(name: &str) -> Result<Report, String> {
    let dir = fixture(name);
    let cases = gotemplate::load_cases(&dir, &Puppet).map_err(|error| error.to_string())?;
    run_cases(&dir, &cases, &Selection::default(), &mut |_| {}).map_err(|error| error.to_string())
}

fn names_of_failed(report: &Report) -> Vec<&str> {
    let failed = |status: &Status| matches!(status, Status::Failed(_));
    report.cases.iter().filter(|case| failed(&case.status)).map(|case| case.id.as_str()).collect()
}

fn text_of(report: &Report, id: &str) -> String {
    report.cases.iter().find(|case| case.id == id).expect("the case ran").to_full().to_string()
}

#[test]
fn jinja_outcomes_are_compared_by_output_kind_line_and_template() {
    let report = run_jinja(Some("basic/"));
    assert_eq!(
        names_of_failed(&report),
        [
            "basic/other-output",
            "basic/only-empty-differs",
            "basic/error-on-another-line",
            "basic/error-of-another-kind",
            "basic/panics"
        ]
    );
    assert_eq!(report.summary(), "3 passed, 5 failed, 1 skipped");
}

#[test]
fn accept_lets_other_outcomes_pass_but_never_a_missing_engine() {
    let report = run_jinja(Some("accept/"));
    assert_eq!(
        names_of_failed(&report),
        [
            "accept/no-other-error",
            "accept/leaking-output",
            "accept/output-when-only-errors-pass",
            "accept/unlisted-output",
            "accept/no-engine"
        ]
    );
}

#[test]
fn a_case_of_the_default_undefined_also_runs_as_empty_and_counts_once() {
    let report = run_jinja(Some("only-empty-differs"));
    assert_eq!(report.summary(), "0 passed, 1 failed, 0 skipped");
    let text = text_of(&report, "basic/only-empty-differs");
    assert!(text.starts_with("FAIL basic/only-empty-differs (basic.json) [undefined: empty]\n"), "{text}");
    assert_eq!(text.matches("FAIL").count(), 1, "{text}");
}

#[test]
fn modules_are_compared_with_the_specification() {
    let dir = fixture("module");
    let cases = module::load_cases(&dir, &ModulePuppet).expect("the fixture is in the format");
    let report = run_cases(&dir, &cases, &Selection::default(), &mut |_| {}).expect("there are no skips");
    assert_eq!(names_of_failed(&report), ["compile/three-ways", "merge/recorded"]);
    assert_eq!(report.summary(), "4 passed, 2 failed, 0 skipped");
    let text = text_of(&report, "compile/three-ways");
    assert!(text.starts_with("FAIL compile/three-ways (compile.json) [flat]\n"), "{text}");
}

#[test]
fn a_failure_shows_both_sides() {
    let report = run_jinja(Some("error-on-another-line"));
    let text = text_of(&report, "basic/error-on-another-line");
    assert!(text.contains("  expected  line: \"4\"\n  actual    line: \"3\"\n"), "{text}");
    assert!(text.contains("  actual    message: \"it failed\"\n"), "{text}");
}

#[test]
fn a_panic_fails_its_case_and_no_other() {
    let report = run_jinja(Some("panics"));
    let text = text_of(&report, "basic/panics");
    assert!(text.contains("panic: \"the puppet panicked (at "), "{text}");
}

#[test]
fn the_report_as_json_has_counts_and_failures() {
    let json = run_jinja(Some("other-output")).to_json();
    assert_eq!(json["passed"], 0);
    assert_eq!(json["failed"], 1);
    assert_eq!(json["failures"][0]["id"], "basic/other-output");
    assert_eq!(json["failures"][0]["expected"]["output"], "same");
    assert_eq!(json["failures"][0]["actual"]["output"], "other");
}

#[test]
fn an_empty_selection_is_an_error() {
    let selection = Selection { only: Some("no such".into()) };
    let error =
        run_cases(&fixture("jinja"), &jinja_cases(), &selection, &mut |_| {}).expect_err("takes nothing");
    assert!(error.to_string().ends_with("no case id contains `no such`"), "{error}");
}

#[test]
fn go_outcomes_are_compared_byte_for_byte() {
    let report = run_go("gotemplate").expect("the fixture is in the format");
    assert_eq!(names_of_failed(&report), ["go/other-output", "go/exec-error-with-other-partial-output"]);
    assert_eq!(report.summary(), "5 passed, 2 failed, 0 skipped");
}

#[test]
fn an_unused_skip_is_a_failure() {
    let report = run_go("unused-skip").expect("the fixture is in the format");
    assert_eq!(report.summary(), "1 passed, 1 failed, 0 skipped");
    assert_eq!(report.describe_unused(), "FAIL skips.toml: no case has the id `one/gone`\n");
}

#[test]
fn invalid_input_is_reported_with_file_and_case() {
    let error = |name: &str| run_go(name).expect_err("the fixture is broken");
    assert!(error("no-reason").ends_with("skips.toml: the skip of `one/a` has no reason"));
    assert!(error("twice").ends_with("case `one/a`: duplicate id in one.json and one.json"));
    assert!(error("bad-case").contains("one.json: case `one/b`: `expect` requires exactly one of"));
    assert!(error("not-json").contains("one.json: not valid JSON: expected value at line 2 column 12"));
    assert!(error("empty").ends_with("contains no `*.json` file with cases"));
    assert!(error("absent").contains("cannot read the directory: "));
}
